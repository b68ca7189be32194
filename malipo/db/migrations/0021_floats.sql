-- Serves: 0014
-- What networks were seen to hold for us, and transfers between a network and the bank that wait for a second operator. An
-- older process cannot show or decide a transfer that a newer one proposed; nothing else of it changes.
CREATE TABLE float_readings (
    id        bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    channel   text NOT NULL,
    account   text NOT NULL, -- of several at that network; '' if there is only one
    amount    bigint NOT NULL,
    source    text NOT NULL CONSTRAINT float_readings_source CHECK (source IN ('network', 'statement', 'operator')),
    is_shared boolean NOT NULL DEFAULT false, -- other channels are paid out of the same account
    read_at   timestamptz NOT NULL,
    noted_by  text NOT NULL
);
COMMENT ON TABLE float_readings IS 'What a network was seen to hold for us. Nothing is ever spent on a reading.';
CREATE INDEX float_readings_latest ON float_readings (channel, account, source, read_at);

ALTER TABLE booking_proposals
    ALTER COLUMN merchant_id DROP NOT NULL,
    ADD COLUMN channel text, -- of a transfer, which concerns no merchant
    ADD COLUMN account text,
    DROP CONSTRAINT booking_proposals_kind_check,
    ADD CONSTRAINT booking_proposals_kind_check CHECK (kind IN ('top_up', 'settlement', 'to_bank', 'from_bank')),
    ADD CONSTRAINT booking_proposals_of_a_merchant_or_a_channel CHECK (
        (kind IN ('top_up', 'settlement')) = (merchant_id IS NOT NULL)
        AND (merchant_id IS NULL) = (channel IS NOT NULL) AND (channel IS NULL) = (account IS NULL));
