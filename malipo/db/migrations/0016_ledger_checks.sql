-- Serves: 0014
-- The ledger checks that workers run on a schedule.

-- A check of the whole ledger, in pieces. One runs at a time; a worker that dies leaves it to others at the next piece.
CREATE TABLE ledger_checks (
    id              text COLLATE "C" PRIMARY KEY,
    started_at      timestamptz NOT NULL DEFAULT now(),
    finished_at     timestamptz, -- none: it runs
    next_piece      json, -- where it continues; none: at the beginning, or it has ended
    claim_id        text, -- under which a worker has it
    leased_until    timestamptz, -- when that worker may be thought dead
    piece_count     integer NOT NULL DEFAULT 0,
    busy_seconds    double precision NOT NULL DEFAULT 0, -- of all pieces together, without the pauses between them
    longest_seconds double precision NOT NULL DEFAULT 0, -- of one piece
    finding_count   integer NOT NULL DEFAULT 0,
    findings        json NOT NULL DEFAULT '[]' -- the first hundred or two
);
COMMENT ON TABLE ledger_checks IS 'A check of the whole ledger that workers ran on a schedule, and what it found.';
CREATE UNIQUE INDEX ledger_checks_running ON ledger_checks ((finished_at IS NULL)) WHERE finished_at IS NULL;
CREATE INDEX ledger_checks_by_end ON ledger_checks (finished_at);
