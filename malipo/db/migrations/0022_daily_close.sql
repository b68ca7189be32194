-- Serves: 0014
-- The daily close: what networks and the ledger say of a day, signed. Older processes know no closed day; they book nothing of
-- the house either.
-- Keys that sign closes. Encrypted under MALIPO_SECRET_KEY, so that whoever only has the database cannot sign.
CREATE TABLE close_signing_keys (
    id         text COLLATE "C" PRIMARY KEY,
    secret     bytea NOT NULL, -- an Ed25519 key, encrypted
    public_key bytea NOT NULL, -- for whoever verifies elsewhere; malipo derives it from the secret
    created_at timestamptz NOT NULL
);
COMMENT ON TABLE close_signing_keys IS 'Keys that sign daily closes.';

-- A closed day. Never updated, never deleted: what is learned later belongs to a later day.
CREATE TABLE day_closes (
    day         date PRIMARY KEY, -- in Dar es Salaam
    content     text NOT NULL, -- canonical JSON: what was found, and nothing of who closed it and when
    previous    bytea, -- the hash of the close before it; none: the first
    hash        bytea NOT NULL, -- of `previous` and `content`: the same data make the same hash
    counted     text NOT NULL, -- JSON: for each channel, up to when and up to which line its statements were counted
    digest      bytea NOT NULL, -- of its rows in day_close_entries
    reason      text NOT NULL, -- why it was closed without a statement, or with a difference; '' if neither
    requested_by text, -- who asked to accept what does not add up; none: it adds up
    closed_by   text NOT NULL,
    closed_at   timestamptz NOT NULL,
    key_id      text COLLATE "C" NOT NULL REFERENCES close_signing_keys,
    signature   bytea NOT NULL, -- of all columns above
    CONSTRAINT day_closes_take_two CHECK (requested_by <> closed_by)
);
COMMENT ON TABLE day_closes IS 'Closed days: chained by hashes and signed. Never updated, never deleted.';

-- What one side has at the end of a closed day, and the other side has not, or not yet. The next close begins with it.
CREATE TABLE day_close_entries (
    day         date NOT NULL REFERENCES day_closes DEFERRABLE INITIALLY DEFERRED, -- it is signed with their digest
    entry_number bigint NOT NULL,
    channel     text NOT NULL,
    account     text NOT NULL, -- of several at that network; '' for an entry of the ledger
    entry_kind  text NOT NULL CONSTRAINT day_close_entries_kind
                CHECK (entry_kind IN ('line', 'fee', 'sweep', 'payment', 'booking', 'balance', 'late')),
    line_id     bigint REFERENCES statement_lines,
    file_id     text COLLATE "C" REFERENCES statement_files, -- of fees and sweeps, which are summed
    merchant_id text COLLATE "C",
    cause_id    text COLLATE "C", -- the payment or the house booking
    amount      bigint NOT NULL, -- what the statement has more than the ledger
    happened_at timestamptz NOT NULL,
    since       date NOT NULL, -- the first day at whose end it was open
    accepted_on date, -- the day with which two operators accepted it
    PRIMARY KEY (day, entry_number)
);
COMMENT ON TABLE day_close_entries IS 'What only one side had at the end of a closed day.';

-- A day that does not add up is closed by two operators: one proposes it with a reason, another accepts.
CREATE TABLE day_close_proposals (
    id          text COLLATE "C" PRIMARY KEY,
    day         date NOT NULL,
    hash        bytea NOT NULL, -- of what was seen: if it is another one by then, it is proposed again
    without     text[] NOT NULL, -- channels without a statement
    reason      text NOT NULL,
    requested_by text NOT NULL,
    requested_at timestamptz NOT NULL,
    decided_by  text, -- none: it is open
    decided_at  timestamptz,
    is_approved boolean,
    CONSTRAINT day_close_proposals_are_decided_whole CHECK ((decided_at IS NULL) = (decided_by IS NULL)
                                                        AND (decided_at IS NULL) = (is_approved IS NULL)),
    CONSTRAINT day_close_proposals_take_two CHECK (NOT (is_approved AND decided_by = requested_by))
);
COMMENT ON TABLE day_close_proposals IS 'A day that does not add up, which one operator proposes to close and another accepts.';
CREATE UNIQUE INDEX day_close_proposals_open ON day_close_proposals (day) WHERE decided_at IS NULL;

-- The moves and the lines of a day lie together, so an index of a few pages finds them. Moves are only ever appended.
CREATE INDEX IF NOT EXISTS moves_by_time ON moves USING brin (created_at) WITH (pages_per_range = 32, autosummarize = on);
CREATE INDEX statement_lines_by_time ON statement_lines USING brin (moved_at)
    WITH (pages_per_range = 32, autosummarize = on);
