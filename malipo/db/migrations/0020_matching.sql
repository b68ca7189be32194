-- Serves: 0014
-- How lines of statements and payments fit, and what is done where they do not. Older processes do not notice any of it.

-- Files that were matched: their lines are in the queue, or were.
CREATE TABLE matched_files (
    file_id            text COLLATE "C" PRIMARY KEY REFERENCES statement_files,
    queued_at          timestamptz NOT NULL,
    is_absence_checked boolean NOT NULL DEFAULT false -- payments of its time that are in no statement were looked for
);
COMMENT ON TABLE matched_files IS 'Statements whose lines are being matched, or were.';

-- The queue of matching: lines that are neither matched nor booked. Those with an open exception stay in it. Here and in
-- statement_matches, line_id is that of a row in statement_lines, which are never deleted: a foreign key would look up, and
-- lock, each of a million lines.
CREATE TABLE open_statement_lines (
    line_id bigint PRIMARY KEY,
    channel text NOT NULL
);
COMMENT ON TABLE open_statement_lines IS 'Lines of statements that are neither matched nor booked.';

-- What a line belongs to. A payment has at most one line, and one that takes it back.
CREATE TABLE statement_matches (
    line_id        bigint PRIMARY KEY,
    merchant_id    text COLLATE "C" NOT NULL, -- 'house' for a booking
    transaction_id text COLLATE "C" NOT NULL, -- the payment; for a booking, the id of a house booking
    role           text NOT NULL CONSTRAINT statement_matches_role CHECK (role IN ('payment', 'fee', 'reversal', 'booking')),
    how            text NOT NULL CONSTRAINT statement_matches_how CHECK (how IN ('receipt', 'key', 'operator', 'transfer')),
    is_reported    boolean NOT NULL, -- to the payment: it has had its effects
    ledger_at      timestamptz, -- when the ledger moved the float for it; none: it did not. Fees are moved by house bookings
    matched_by     text NOT NULL,
    matched_at     timestamptz NOT NULL
);
COMMENT ON TABLE statement_matches IS 'Which payment or booking a line of a statement belongs to.';
CREATE UNIQUE INDEX statement_matches_payment_once ON statement_matches (merchant_id, transaction_id) WHERE role = 'payment';
CREATE UNIQUE INDEX statement_matches_reversal_once ON statement_matches (merchant_id, transaction_id) WHERE role = 'reversal';
CREATE UNIQUE INDEX statement_matches_booking_once ON statement_matches (merchant_id, transaction_id) WHERE role = 'booking';
CREATE INDEX statement_matches_unreported ON statement_matches (line_id) WHERE NOT is_reported;

-- What does not fit. Nothing is closed by age.
CREATE TABLE reconciliation_exceptions (
    id             text COLLATE "C" PRIMARY KEY,
    kind           text NOT NULL CONSTRAINT reconciliation_exceptions_kind
                   CHECK (kind IN ('ours_only', 'theirs_only', 'amount_differs', 'state_differs', 'twice', 'fee_differs',
                                   'unknown_line')),
    channel        text NOT NULL,
    account        text NOT NULL,
    line_id        bigint REFERENCES statement_lines, -- none: it is about a payment that no statement has
    merchant_id    text COLLATE "C", -- of the payment, if there is one
    transaction_id text COLLATE "C",
    amount         bigint NOT NULL, -- what is at stake, signed as in the statement: above 0 came in
    found_at       timestamptz NOT NULL,
    state          text NOT NULL DEFAULT 'open' CONSTRAINT reconciliation_exceptions_state
                   CHECK (state IN ('open', 'proposed', 'resolved')),
    resolved_by    text, -- 'malipo' if its cause has gone
    resolved_at    timestamptz,
    why_resolved   text,
    CONSTRAINT reconciliation_exceptions_about_something CHECK (line_id IS NOT NULL OR transaction_id IS NOT NULL),
    CONSTRAINT reconciliation_exceptions_of_a_payment CHECK ((merchant_id IS NULL) = (transaction_id IS NULL)),
    CONSTRAINT reconciliation_exceptions_resolved_whole CHECK (
        (state = 'resolved' OR resolved_by IS NULL) AND (resolved_by IS NULL) = (resolved_at IS NULL)
        AND (resolved_by IS NULL) = (why_resolved IS NULL))
);
COMMENT ON TABLE reconciliation_exceptions IS 'Where statements and payments do not fit, and whether that is resolved.';
-- A line has one place, so one exception says where it has none.
CREATE UNIQUE INDEX reconciliation_exceptions_of_line ON reconciliation_exceptions (line_id)
    WHERE kind IN ('theirs_only', 'amount_differs', 'twice', 'unknown_line');
CREATE UNIQUE INDEX reconciliation_exceptions_of_matched_line ON reconciliation_exceptions (line_id, kind)
    WHERE kind IN ('state_differs', 'fee_differs');
CREATE UNIQUE INDEX reconciliation_exceptions_of_payment ON reconciliation_exceptions (merchant_id, transaction_id)
    WHERE kind = 'ours_only';
CREATE INDEX reconciliation_exceptions_live ON reconciliation_exceptions (id) WHERE state <> 'resolved';

-- What operators decide about an exception: proposed by one, mostly decided by another. Kept, also if rejected or undone.
CREATE TABLE exception_resolutions (
    id           text COLLATE "C" PRIMARY KEY,
    exception_id text COLLATE "C" NOT NULL REFERENCES reconciliation_exceptions,
    action       text NOT NULL CONSTRAINT exception_resolutions_action
                 CHECK (action IN ('match', 'book', 'adopt', 'resolve', 'note', 'undo')),
    terms        json NOT NULL, -- what the action needs: a payment, an account, a merchant, an outcome
    reason       text NOT NULL,
    amount       bigint NOT NULL, -- what was at stake; many small ones of one operator are a large one
    requested_by  text NOT NULL,
    requested_at  timestamptz NOT NULL,
    decided_by   text, -- none: it is open
    decided_at   timestamptz,
    is_approved  boolean,
    booking_id   text COLLATE "C" REFERENCES house_bookings, -- that it made
    undone_by    text COLLATE "C" REFERENCES exception_resolutions,
    CONSTRAINT exception_resolutions_are_decided_whole CHECK ((decided_at IS NULL) = (decided_by IS NULL)
                                                          AND (decided_at IS NULL) = (is_approved IS NULL))
);
COMMENT ON TABLE exception_resolutions IS 'What operators decided about exceptions: proposed by one, mostly decided by another.';
CREATE INDEX exception_resolutions_of_exception ON exception_resolutions (exception_id);
CREATE UNIQUE INDEX exception_resolutions_open ON exception_resolutions (exception_id) WHERE decided_at IS NULL;
CREATE INDEX exception_resolutions_by_operator ON exception_resolutions (requested_by, requested_at);

-- What operators say that a network charges for a payment. Without a row nothing is compared.
CREATE TABLE network_charges (
    channel      text NOT NULL,
    type         text NOT NULL CONSTRAINT network_charges_type CHECK (type IN ('COLLECTION', 'DISBURSEMENT')),
    basis_points integer NOT NULL CONSTRAINT network_charges_share CHECK (basis_points BETWEEN 0 AND 10000),
    fixed_fee    bigint NOT NULL CONSTRAINT network_charges_fixed CHECK (fixed_fee >= 0),
    min_fee      bigint NOT NULL CONSTRAINT network_charges_minimum CHECK (min_fee >= 0),
    set_by       text NOT NULL,
    set_at       timestamptz NOT NULL,
    PRIMARY KEY (channel, type)
);
COMMENT ON TABLE network_charges IS 'What a network is expected to charge for a payment, by channel and type.';
