-- Serves: 0014
-- An import can be withdrawn, and the bookings of a statement can be undone: each proposed by one operator and decided by
-- another. Lines that are withdrawn leave statement_lines, so whatever sums those counts only what counts. Older processes do
-- not notice: they look files up by their hash before they insert one, and delete no line.
ALTER TABLE statement_files
    ADD COLUMN withdrawn_at timestamptz, -- none: it counts
    DROP CONSTRAINT statement_files_once;
-- A file that was withdrawn can be imported again.
CREATE UNIQUE INDEX statement_files_once ON statement_files (channel, account, sha256) WHERE withdrawn_at IS NULL;
CREATE INDEX statement_files_by_sha256 ON statement_files (sha256);

-- What each file says of a line that several files have: its own version too. The line itself is what they say together.
CREATE TABLE statement_line_copies (
    line_id  bigint NOT NULL, -- of statement_lines; without a foreign key, as in statement_matches
    file_id  text COLLATE "C" NOT NULL REFERENCES statement_files,
    row      integer NOT NULL, -- in that file
    moved_at timestamptz NOT NULL,
    kind     text NOT NULL,
    key      text COLLATE "C" NOT NULL,
    phone    text NOT NULL,
    linked   text COLLATE "C" NOT NULL,
    balance  bigint,
    details  text NOT NULL,
    PRIMARY KEY (line_id, file_id)
);
COMMENT ON TABLE statement_line_copies IS 'What each of several files says of a line that all of them have.';
CREATE INDEX statement_line_copies_of_file ON statement_line_copies (file_id);

-- What one operator proposes about a statement, and another decides. A booking that is small is undone by one.
CREATE TABLE statement_proposals (
    id           text COLLATE "C" PRIMARY KEY,
    action       text NOT NULL CONSTRAINT statement_proposals_action CHECK (action IN ('withdraw', 'undo')),
    file_id      text COLLATE "C" NOT NULL REFERENCES statement_files,
    booking_id   text COLLATE "C" REFERENCES house_bookings, -- that is to be undone
    amount       bigint NOT NULL, -- what it moves back; many small ones of one operator are a large one
    reason       text NOT NULL,
    requested_by text NOT NULL,
    requested_at timestamptz NOT NULL,
    decided_by   text, -- none: it is open
    decided_at   timestamptz,
    is_approved  boolean,
    CONSTRAINT statement_proposals_of_a_booking CHECK ((action = 'undo') = (booking_id IS NOT NULL)),
    CONSTRAINT statement_proposals_are_decided_whole CHECK ((decided_at IS NULL) = (decided_by IS NULL)
                                                        AND (decided_at IS NULL) = (is_approved IS NULL)),
    CONSTRAINT statement_proposals_take_two CHECK (action = 'undo' OR NOT (is_approved AND decided_by = requested_by))
);
COMMENT ON TABLE statement_proposals IS 'Withdrawals of statements and of their bookings, proposed by one operator.';
CREATE UNIQUE INDEX statement_proposals_open ON statement_proposals (coalesce(booking_id, file_id))
    WHERE decided_at IS NULL;
CREATE INDEX statement_proposals_of_file ON statement_proposals (file_id);

-- Lines that were withdrawn with their file: the evidence, and what the next close takes back of a day that was closed.
CREATE TABLE withdrawn_lines (
    withdrawal_number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    line_id        bigint NOT NULL, -- that it had in statement_lines
    proposal_id    text COLLATE "C" NOT NULL REFERENCES statement_proposals,
    file_id        text COLLATE "C" NOT NULL REFERENCES statement_files,
    channel        text NOT NULL,
    account        text NOT NULL,
    moved_at       timestamptz NOT NULL,
    amount         bigint NOT NULL,
    kind           text NOT NULL,
    merchant_id    text COLLATE "C", -- of the payment or booking that it was matched with
    transaction_id text COLLATE "C",
    is_told        boolean NOT NULL, -- it has ended or corrected that payment, which stays as it is
    content        json NOT NULL -- all of it, as it was
);
COMMENT ON TABLE withdrawn_lines IS 'Lines of statements that were withdrawn. Never changed.';
CREATE UNIQUE INDEX withdrawn_lines_of_line ON withdrawn_lines (line_id);
CREATE INDEX withdrawn_lines_of_file ON withdrawn_lines (file_id);

-- A line that is withdrawn is in withdrawn_lines, and what refers to it stays.
ALTER TABLE reconciliation_exceptions DROP CONSTRAINT reconciliation_exceptions_line_id_fkey;
ALTER TABLE house_bookings DROP CONSTRAINT house_bookings_line_id_fkey;
ALTER TABLE day_close_entries DROP CONSTRAINT day_close_entries_line_id_fkey;

-- A network's own account has no name, whatever else carries its channel: readings of it were named otherwise.
UPDATE float_readings SET account = ''
WHERE source = 'network' AND account = lower(channel) AND noted_by = 'network ' || account;
