-- Serves: 0022
-- Payments that operators adopted from a statement, so that the merchant's repeat of the lost request meets them. Older processes
-- neither read nor write it: to them an adopted payment is a payment like any other.
CREATE TABLE adopted_payments (
    merchant_id    text COLLATE "C" NOT NULL,
    transaction_id text COLLATE "C" NOT NULL,
    line_id        bigint NOT NULL, -- of the statement, see statement_matches
    channel        text NOT NULL,
    phone          text NOT NULL,
    amount         bigint NOT NULL,
    -- Until then new payouts of this merchant, channel, number and amount wait for operators, because one of them may be the repeat of
    -- the lost request; none: a repeat has the same network key, and finds this payment.
    holds_until    timestamptz,
    adopted_at     timestamptz NOT NULL,
    undone_at      timestamptz, -- operators took it back; its key belongs to whoever the line belongs to
    PRIMARY KEY (merchant_id, transaction_id)
);
COMMENT ON TABLE adopted_payments IS 'Payments that were lost, and that operators adopted from a statement.';
CREATE INDEX adopted_payments_that_hold ON adopted_payments (merchant_id, phone, amount) WHERE holds_until IS NOT NULL;

-- A line of a batch that was paid by an approval which a restore has lost: its payout is not of the batch's series.
ALTER TABLE batches ADD COLUMN adopted_count integer NOT NULL DEFAULT 0; -- of its items
ALTER TABLE batch_items ADD COLUMN payout_id text COLLATE "C"; -- of an item that was adopted; others follow batches.first_payout_id
CREATE INDEX IF NOT EXISTS batch_items_by_key ON batch_items (network_key);

-- Operators may decide that a payout which waits is another one than the adopted one, and is sent.
ALTER TABLE resolutions DROP CONSTRAINT resolutions_outcome_check;
ALTER TABLE resolutions ADD CONSTRAINT resolutions_outcome_check CHECK (outcome IN ('completed', 'failed', 'send')) NOT VALID;
