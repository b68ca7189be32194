-- Serves: 0022
-- Networks charge shares of a shilling: -59.40. Lines, balances and bookings keep the cents that their whole shillings do not have;
-- what bookings have too much or too little is booked to an account of its own as soon as it is more than half a shilling. Older
-- processes write no cents, and do not notice any of it until a newer one writes it; a matching of theirs would then book whole
-- shillings alone.
ALTER TABLE statement_lines
    ADD COLUMN cents         smallint NOT NULL DEFAULT 0, -- the network wrote amount * 100 + cents, in cents
    ADD COLUMN balance_cents smallint NOT NULL DEFAULT 0, -- the same of the balance
    ADD CONSTRAINT statement_lines_cents CHECK (cents BETWEEN -99 AND 99 AND balance_cents BETWEEN -99 AND 99) NOT VALID;
ALTER TABLE statement_files
    ADD COLUMN opening_cents smallint NOT NULL DEFAULT 0,
    ADD COLUMN closing_cents smallint NOT NULL DEFAULT 0,
    ADD CONSTRAINT statement_files_cents CHECK (opening_cents BETWEEN -99 AND 99 AND closing_cents BETWEEN -99 AND 99) NOT VALID;
ALTER TABLE house_bookings
    ADD COLUMN cents integer NOT NULL DEFAULT 0, -- what the statement says beyond what was booked, signed as in the statement
    DROP CONSTRAINT house_bookings_kind, ADD CONSTRAINT house_bookings_kind
        CHECK (kind IN ('bank_transfer', 'network_fee', 'sweep', 'line', 'rounding', 'undo')) NOT VALID,
    DROP CONSTRAINT house_bookings_between_accounts_of_the_house, ADD CONSTRAINT house_bookings_between_accounts_of_the_house CHECK (
        source IN ('float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding')
        AND target IN ('float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding') AND source <> target) NOT VALID;
CREATE INDEX house_bookings_with_cents ON house_bookings (channel, account) WHERE cents <> 0;
ALTER TABLE moves DROP CONSTRAINT moves_go_between_known_accounts, ADD CONSTRAINT moves_go_between_known_accounts CHECK (
    source IN ('wallet', 'in_flight', 'float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding')
    AND target IN ('wallet', 'in_flight', 'float', 'bank', 'fees', 'suspense', 'losses', 'network_fees', 'rounding')) NOT VALID;
ALTER TABLE day_close_entries DROP CONSTRAINT day_close_entries_kind, ADD CONSTRAINT day_close_entries_kind
    CHECK (entry_kind IN ('line', 'fee', 'sweep', 'payment', 'booking', 'balance', 'late', 'rounding')) NOT VALID;
