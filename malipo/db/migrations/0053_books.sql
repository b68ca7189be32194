-- Serves: 0022
-- Which moves of a closed day were committed after its close. Older processes close days without a snapshot; the late
-- moves of such days are known as sums only.

-- What the close of a day saw of the moves.
CREATE TABLE day_close_snapshots (
    day      date PRIMARY KEY, -- as of day_closes
    snapshot pg_snapshot NOT NULL -- of the statement that read the day's moves
);
COMMENT ON TABLE day_close_snapshots IS 'The transactions whose moves the close of a day saw.';

-- Moves of a closed day that its close did not see. The close of the next day counts them.
CREATE TABLE late_moves (
    day         date NOT NULL, -- the closed day, by the time of the moves
    merchant_id text COLLATE "C" NOT NULL,
    cause_id    text COLLATE "C" NOT NULL,
    step        text NOT NULL,
    ordinal     smallint NOT NULL,
    move_number smallint NOT NULL,
    PRIMARY KEY (merchant_id, cause_id, step, ordinal, move_number) -- as of moves
);
COMMENT ON TABLE late_moves IS 'Moves of a closed day that were committed after its close.';
CREATE INDEX late_moves_by_day ON late_moves (day);
