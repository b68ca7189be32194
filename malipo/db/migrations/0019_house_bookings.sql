-- Serves: 0014
-- Money that concerns no merchant: transfers between a network and the bank, what networks charge, what they sweep, and what
-- operators decide about a line of a statement. Older processes do not notice any of it until a newer one writes it; a ledger
-- check of theirs would then call a house booking a booking that it does not know.
CREATE TABLE house_bookings (
    id          text COLLATE "C" PRIMARY KEY, -- the cause of its one move, whose merchant is 'house'
    kind        text NOT NULL CONSTRAINT house_bookings_kind
                CHECK (kind IN ('bank_transfer', 'network_fee', 'sweep', 'line', 'undo')),
    channel     text NOT NULL,
    account     text NOT NULL DEFAULT '', -- of several at that network
    source      text NOT NULL, -- as in moves
    target      text NOT NULL,
    amount      bigint NOT NULL CHECK (amount > 0),
    reference   text COLLATE "C" NOT NULL DEFAULT '', -- the bank's; of fees and sweeps, the day of their lines
    file_id     text COLLATE "C" REFERENCES statement_files,
    line_id     bigint REFERENCES statement_lines,
    ordinal     smallint NOT NULL DEFAULT 1 CHECK (ordinal > 0), -- of bookings of one thing: all before it were undone
    reverses    text COLLATE "C" REFERENCES house_bookings,
    value_date  date NOT NULL, -- the day in whose close it counts
    evidence    text NOT NULL DEFAULT '',
    booked_by   text NOT NULL,
    approved_by text, -- the second operator, where it took two
    booked_at   timestamptz NOT NULL,
    CONSTRAINT house_bookings_between_accounts_of_the_house CHECK (
        source IN ('float', 'bank', 'fees', 'suspense', 'losses', 'network_fees')
        AND target IN ('float', 'bank', 'fees', 'suspense', 'losses', 'network_fees') AND source <> target),
    CONSTRAINT house_bookings_by_two CHECK (approved_by <> booked_by),
    CONSTRAINT house_bookings_of_a_line CHECK (kind <> 'line' OR line_id IS NOT NULL),
    CONSTRAINT house_bookings_of_a_transfer CHECK (kind <> 'bank_transfer' OR reference <> ''),
    CONSTRAINT house_bookings_undone_by_another CHECK ((kind = 'undo') = (reverses IS NOT NULL))
);
COMMENT ON TABLE house_bookings IS 'Money of the house that moved between its accounts. Undone only by another booking.';
CREATE UNIQUE INDEX house_bookings_undone_once ON house_bookings (reverses) WHERE reverses IS NOT NULL;
-- One that is not undone, of each.
CREATE UNIQUE INDEX house_bookings_of_reference ON house_bookings (channel, reference, ordinal)
    WHERE kind = 'bank_transfer';
CREATE UNIQUE INDEX house_bookings_of_line ON house_bookings (line_id, ordinal)
    WHERE line_id IS NOT NULL AND kind <> 'undo';
CREATE UNIQUE INDEX house_bookings_of_file ON house_bookings (file_id, kind, reference, account, ordinal)
    WHERE kind IN ('network_fee', 'sweep') AND line_id IS NULL;
CREATE INDEX house_bookings_by_day ON house_bookings (value_date, channel);

-- Each allows what the one before it allowed, and one word more: no row need be read again.
ALTER TABLE moves DROP CONSTRAINT moves_go_between_known_accounts, ADD CONSTRAINT moves_go_between_known_accounts CHECK (
    source IN ('wallet', 'in_flight', 'float', 'bank', 'fees', 'suspense', 'losses', 'network_fees')
    AND target IN ('wallet', 'in_flight', 'float', 'bank', 'fees', 'suspense', 'losses', 'network_fees')) NOT VALID;
ALTER TABLE network_answers DROP CONSTRAINT network_answers_source_check, ADD CONSTRAINT network_answers_source_check
    CHECK (source IN ('send', 'ask', 'callback', 'statement')) NOT VALID;
ALTER TABLE corrections DROP CONSTRAINT corrections_source_check, ADD CONSTRAINT corrections_source_check
    CHECK (source IN ('send', 'ask', 'callback', 'statement')) NOT VALID;
