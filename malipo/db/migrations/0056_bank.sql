-- Serves: 0022
-- Our own bank accounts: payout files that settlements are paid with, and the statements of the bank. Older processes know
-- nothing of banks.

CREATE TABLE payer_accounts (
    id               text COLLATE "C" PRIMARY KEY,
    bic              text NOT NULL,
    number           text COLLATE "C" NOT NULL CONSTRAINT payer_accounts_number UNIQUE, -- statements name nothing else
    name             text NOT NULL,
    format           text NOT NULL CONSTRAINT payer_accounts_format CHECK (format IN ('pain.001', 'csv')),
    payout_layout    text NOT NULL, -- TOML; '' is malipo's own
    statement_layout text NOT NULL, -- the same, of a statement that is a table
    books_one_sum    boolean, -- what the bank is asked for; NULL: as agreed with it
    urgent_above     bigint CHECK (urgent_above >= 0),
    added_by         text NOT NULL,
    approved_by      text NOT NULL,
    added_at         timestamptz NOT NULL
);
COMMENT ON TABLE payer_accounts IS 'Our own bank accounts, from which settlements are paid.';

-- A file is made by one operator and approved by another. Money can leave from the approval on, so what it has never
-- changes after it.
CREATE TABLE payout_files (
    id               text COLLATE "C" PRIMARY KEY,
    payer_account_id text COLLATE "C" NOT NULL REFERENCES payer_accounts,
    status           text NOT NULL CONSTRAINT payout_files_status CHECK (status IN ('GATHERED', 'APPROVED', 'VOIDED')),
    line_count       integer NOT NULL,
    total            bigint NOT NULL,
    gathered_by      text NOT NULL,
    gathered_at      timestamptz NOT NULL,
    message_id       text COLLATE "C" CONSTRAINT payout_files_message UNIQUE,
    content          bytea,
    sha256           bytea,
    pays_on          date,
    approved_by      text,
    approved_at      timestamptz,
    voided_by        text,
    voided_at        timestamptz,
    why_voided       text,
    CONSTRAINT payout_files_by_two CHECK (approved_by <> gathered_by),
    CONSTRAINT payout_files_are_fixed_whole CHECK (
        (message_id IS NULL) = (approved_at IS NULL) AND (content IS NULL) = (approved_at IS NULL)
        AND (sha256 IS NULL) = (approved_at IS NULL) AND (pays_on IS NULL) = (approved_at IS NULL)
        AND (approved_by IS NULL) = (approved_at IS NULL)),
    CONSTRAINT payout_files_are_approved_once CHECK (status <> 'GATHERED' OR approved_at IS NULL),
    CONSTRAINT payout_files_approved_is_fixed CHECK (status <> 'APPROVED' OR approved_at IS NOT NULL),
    CONSTRAINT payout_files_are_voided_whole CHECK (
        (status = 'VOIDED') = (voided_at IS NOT NULL) AND (voided_by IS NULL) = (voided_at IS NULL)
        AND (why_voided IS NULL) = (voided_at IS NULL))
);
COMMENT ON TABLE payout_files IS 'Files with which a bank is told to pay settlements from one of our accounts.';

CREATE TABLE payout_file_lines (
    file_id       text COLLATE "C" NOT NULL REFERENCES payout_files,
    settlement_id text COLLATE "C" NOT NULL,
    merchant_id   text COLLATE "C" NOT NULL,
    reference     text NOT NULL,
    key           text COLLATE "C" NOT NULL,
    amount        bigint NOT NULL CHECK (amount > 0),
    bic           text NOT NULL,
    account       text NOT NULL,
    name          text NOT NULL,
    left_at       timestamptz, -- no longer in the file: dropped at its approval, or the file was voided
    why_left      text,
    refused_at    timestamptz, -- by the bank, as its answer to the file lists
    why_refused   text,
    PRIMARY KEY (file_id, settlement_id),
    CONSTRAINT payout_file_lines_leave_whole CHECK ((left_at IS NULL) = (why_left IS NULL)),
    CONSTRAINT payout_file_lines_are_refused_whole CHECK ((refused_at IS NULL) = (why_refused IS NULL))
);
COMMENT ON TABLE payout_file_lines IS 'The settlements of payout files, with what the file says of each.';
CREATE UNIQUE INDEX payout_file_lines_in_one_file ON payout_file_lines (settlement_id) WHERE left_at IS NULL;
CREATE INDEX payout_file_lines_by_key ON payout_file_lines (key);

CREATE TABLE bank_statements (
    id               text COLLATE "C" PRIMARY KEY,
    payer_account_id text COLLATE "C" NOT NULL REFERENCES payer_accounts,
    sha256           bytea NOT NULL, -- of the file
    name             text NOT NULL,
    format           text NOT NULL,
    begins_on        date,
    ends_on          date,
    opening          bigint, -- in cents
    closing          bigint,
    line_count       integer NOT NULL,
    new_count        integer NOT NULL, -- that no statement before it had
    problems         text[] NOT NULL, -- codes of what does not add up, and was accepted
    state            text NOT NULL CONSTRAINT bank_statements_state
                     CHECK (state IN ('waiting', 'taken', 'rejected', 'withdrawn')),
    amount           bigint NOT NULL, -- of the settlements that it alone would end
    imported_by      text NOT NULL,
    imported_at      timestamptz NOT NULL,
    decided_by       text, -- who approved, rejected or withdrew it
    decided_at       timestamptz
);
COMMENT ON TABLE bank_statements IS 'Statements of our bank accounts that operators imported.';
CREATE UNIQUE INDEX bank_statements_once ON bank_statements (payer_account_id, sha256)
    WHERE state IN ('waiting', 'taken');
CREATE INDEX bank_statements_by_day ON bank_statements (payer_account_id, ends_on);

CREATE TABLE bank_lines (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    payer_account_id text COLLATE "C" NOT NULL REFERENCES payer_accounts,
    booked_on        date NOT NULL,
    entry_reference  text COLLATE "C" NOT NULL, -- these three tell an entry apart from others of its day
    entry_cents      bigint NOT NULL,
    nth              integer NOT NULL,
    part             integer NOT NULL, -- of a sum whose parts are listed, from 1; 0: the entry itself
    cents            bigint NOT NULL, -- above 0 came in
    reference        text COLLATE "C" NOT NULL, -- the bank's
    key              text COLLATE "C" NOT NULL, -- the EndToEndId
    message_id       text COLLATE "C" NOT NULL, -- of the payout file
    reason           text NOT NULL,
    is_reversal      boolean NOT NULL,
    details          text NOT NULL,
    -- Statements overlap; an entry that is in two of them is one.
    CONSTRAINT bank_lines_once UNIQUE (payer_account_id, booked_on, entry_reference, entry_cents, nth, part)
);
COMMENT ON TABLE bank_lines IS 'Lines of bank statements, each once however many statements have it.';
CREATE INDEX bank_lines_by_key ON bank_lines (key) WHERE key <> '';
CREATE INDEX bank_lines_by_message ON bank_lines (message_id) WHERE message_id <> '';

CREATE TABLE bank_statement_lines (
    statement_id text COLLATE "C" NOT NULL REFERENCES bank_statements,
    line_id      bigint NOT NULL REFERENCES bank_lines,
    PRIMARY KEY (statement_id, line_id)
);
COMMENT ON TABLE bank_statement_lines IS 'Which statements have a line of the bank.';
CREATE INDEX bank_statement_lines_of_line ON bank_statement_lines (line_id);

-- What a line is. A sum is several settlements; every other line is one thing.
CREATE TABLE bank_line_matches (
    line_id     bigint NOT NULL REFERENCES bank_lines,
    meaning     text NOT NULL CONSTRAINT bank_line_matches_meaning
                CHECK (meaning IN ('debit', 'sum', 'return', 'booking', 'house')),
    subject_id  text COLLATE "C" NOT NULL, -- the settlement, or the booking
    merchant_id text COLLATE "C", -- of the settlement
    amount      bigint NOT NULL, -- in cents, of this subject; of one line they add up to the line
    matched_by  text NOT NULL,
    matched_at  timestamptz NOT NULL,
    PRIMARY KEY (line_id, subject_id)
);
COMMENT ON TABLE bank_line_matches IS 'Which settlement or booking a line of the bank is.';
CREATE UNIQUE INDEX bank_line_matches_one ON bank_line_matches (line_id) WHERE meaning <> 'sum';
CREATE UNIQUE INDEX bank_line_matches_paid_once ON bank_line_matches (subject_id) WHERE meaning IN ('debit', 'sum');
CREATE UNIQUE INDEX bank_line_matches_returned_once ON bank_line_matches (subject_id) WHERE meaning = 'return';
CREATE UNIQUE INDEX bank_line_matches_booking_once ON bank_line_matches (subject_id) WHERE meaning IN ('booking', 'house');

CREATE TABLE bank_exceptions (
    id          text COLLATE "C" PRIMARY KEY,
    line_id     bigint NOT NULL CONSTRAINT bank_exceptions_of_line UNIQUE REFERENCES bank_lines,
    kind        text NOT NULL,
    found_at    timestamptz NOT NULL,
    resolved_at timestamptz, -- the line has a place, or no statement that counts has it any more
    resolved_by text,
    how         text,
    CONSTRAINT bank_exceptions_resolved_whole CHECK (
        (resolved_at IS NULL) = (resolved_by IS NULL) AND (resolved_at IS NULL) = (how IS NULL))
);
COMMENT ON TABLE bank_exceptions IS 'Lines of the bank that nothing of ours fits, until they are resolved.';
CREATE INDEX bank_exceptions_open ON bank_exceptions (id) WHERE resolved_at IS NULL;

-- Bookings of what operators decided about a line of the bank, and of cents that have become a shilling.
ALTER TABLE house_bookings DROP CONSTRAINT house_bookings_kind, ADD CONSTRAINT house_bookings_kind
    CHECK (kind IN ('bank_transfer', 'network_fee', 'sweep', 'line', 'rounding', 'opening_balance', 'capital', 'interest',
                    'other_income', 'bank_charge', 'tax', 'undo', 'bank_line')) NOT VALID;
CREATE UNIQUE INDEX house_bookings_of_bank_line ON house_bookings (reference, ordinal) WHERE kind = 'bank_line';
