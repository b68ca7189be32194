-- What lets a merchant with ten million payments read them as quickly as one with a thousand. None of it is written by
-- the commits that carry a payment: a worker adds to it afterwards, and says up to where.

-- How a merchant's payments ended, by the day of their end in Dar es Salaam. Grown by the numberer of the feed in the
-- commit that gives the event its place: so every end is counted once, and no payment waits for a total's lock.
CREATE TABLE daily_totals (
    merchant_id   text COLLATE "C" NOT NULL,
    day           date NOT NULL,
    type          text NOT NULL,
    channel       text NOT NULL,
    completed     bigint NOT NULL DEFAULT 0,
    failed        bigint NOT NULL DEFAULT 0,
    cancelled     bigint NOT NULL DEFAULT 0,
    amount        bigint NOT NULL DEFAULT 0, -- of those that were completed
    fees          bigint NOT NULL DEFAULT 0,
    total_seconds double precision NOT NULL DEFAULT 0, -- from creation to completion, all together
    PRIMARY KEY (merchant_id, day, type, channel)
) WITH (fillfactor = 50);
COMMENT ON TABLE daily_totals IS 'How a merchant''s payments ended, by day, type and channel.';

-- How many things stand under the numbers of a bucket, of each category (see malipo/counts/bucket_tree.py). Payments are
-- counted when they have ended, under the millisecond they were made in; lines of a statement under their own number.
CREATE TABLE rollup_counts (
    merchant_id text COLLATE "C" NOT NULL,
    rollup      text NOT NULL CHECK (rollup IN ('payments', 'statement')), -- what is counted
    level       smallint NOT NULL, -- 0: the leaves; each level above sums up 32 buckets of the one below
    bucket      bigint NOT NULL,
    counts      integer[] NOT NULL, -- one for each category
    PRIMARY KEY (merchant_id, rollup, level, bucket)
) WITH (fillfactor = 70);
COMMENT ON TABLE rollup_counts IS 'How many payments or statement lines are in a bucket of numbers, by category.';

-- Up to where the counts go.
CREATE TABLE rollup_positions (
    merchant_id text COLLATE "C" NOT NULL,
    rollup      text NOT NULL,
    position    bigint NOT NULL, -- of payments, the place in the feed that their end has; of a statement, the line
    PRIMARY KEY (merchant_id, rollup)
) WITH (fillfactor = 50);
COMMENT ON TABLE rollup_positions IS 'Up to where a merchant''s rollup counts go.';

-- Payments that are counted, as a search finds them: by every few characters in a row (see malipo/payments/search/ngrams.py).
CREATE TABLE search_index (
    merchant_id text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL, -- the transaction's
    search_text text NOT NULL, -- as the transaction has it
    ngrams      integer[] NOT NULL,
    PRIMARY KEY (merchant_id, id)
);
COMMENT ON TABLE search_index IS 'The n-grams of payments that are counted, for the search.';
-- What was added last is looked through line by line, so there may not be much of it.
CREATE INDEX search_index_by_ngram ON search_index USING gin (ngrams) WITH (gin_pending_list_limit = 256);
