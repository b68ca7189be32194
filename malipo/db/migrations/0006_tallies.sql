-- What lets a merchant with ten million payments read them as quickly as one with a thousand. None of it is written by
-- the commits that carry a payment: a worker adds to it afterwards, and says up to where.

-- How many things stand under the numbers of a bucket, of each sort (see malipo/tally/tree.py). Payments are counted
-- when they have ended, under the millisecond they were made in; lines of a statement under their own number.
CREATE TABLE tallies (
    merchant_id text COLLATE "C" NOT NULL,
    book        text NOT NULL CHECK (book IN ('payments', 'statement')),
    level       smallint NOT NULL,
    bucket      bigint NOT NULL,
    counts      integer[] NOT NULL,
    PRIMARY KEY (merchant_id, book, level, bucket)
) WITH (fillfactor = 70);

-- Up to where: of payments, the place in the feed that their end has; of a statement, the line.
CREATE TABLE tally_marks (
    merchant_id text COLLATE "C" NOT NULL,
    book        text NOT NULL,
    upto        bigint NOT NULL,
    PRIMARY KEY (merchant_id, book)
) WITH (fillfactor = 50);

-- Payments that are counted, as a search finds them: by every few characters in a row (see malipo/payments/windows.py).
CREATE TABLE searches (
    merchant_id text COLLATE "C" NOT NULL,
    id          text COLLATE "C" NOT NULL,
    searchable  text NOT NULL,
    windows     integer[] NOT NULL,
    PRIMARY KEY (merchant_id, id)
);
-- What was added last is looked through line by line, so there may not be much of it.
CREATE INDEX searches_by_window ON searches USING gin (windows) WITH (gin_pending_list_limit = 256);

-- Ends that the feed no longer keeps cannot be counted from it, so they are counted here.
CREATE FUNCTION pg_temp.number_of(moment timestamptz) RETURNS bigint LANGUAGE sql IMMUTABLE AS
    $$ SELECT floor(extract(epoch FROM moment) * 1000)::bigint $$;

CREATE FUNCTION pg_temp.cell_of(type text, channel text, status text) RETURNS integer LANGUAGE sql IMMUTABLE AS $$
    SELECT 6 * (array_position(ARRAY['MPESA', 'TIGO_PESA', 'AIRTEL_MONEY', 'HALOPESA'], channel) - 1)
         + 3 * (array_position(ARRAY['COLLECTION', 'DISBURSEMENT'], type) - 1)
         + array_position(ARRAY['COMPLETED', 'FAILED', 'CANCELLED'], status)
$$;

CREATE FUNCTION pg_temp.threes(line text, kind integer) RETURNS integer[] LANGUAGE sql IMMUTABLE AS $$
    SELECT ARRAY(SELECT (kind << 21) + (((ascii(substr(line, n, 1)) << 14) # (ascii(substr(line, n + 1, 1)) << 7)
                                         # ascii(substr(line, n + 2, 1))) & 2097151)
                 FROM generate_series(1, length(line) - 2) n)
$$;

CREATE TEMP TABLE forgotten AS
SELECT t.merchant_id, t.id, t.searchable, pg_temp.number_of(t.created_at) AS number,
       pg_temp.cell_of(t.type, t.channel, t.status) AS cell
FROM transactions t JOIN feeds f USING (merchant_id)
WHERE f.pruned > 0 AND t.ended_at IS NOT NULL AND NOT EXISTS (
    SELECT FROM events e
    WHERE e.merchant_id = t.merchant_id AND e.transaction_id = t.id AND e.event <> 'payment.pending');

INSERT INTO tallies (merchant_id, book, level, bucket, counts)
SELECT merchant_id, 'payments', level, bucket, array_agg(count ORDER BY n)
FROM (SELECT merchant_id, level, number >> (18 + 5 * level) AS bucket, n, count(*) FILTER (WHERE cell = n) AS count
      FROM forgotten, generate_series(0, 3) AS level, generate_series(1, 24) AS n
      GROUP BY 1, 2, 3, 4) cells
GROUP BY merchant_id, level, bucket;

INSERT INTO searches (merchant_id, id, searchable, windows)
SELECT merchant_id, id, searchable, ARRAY(
    SELECT ((((ascii(right(merchant_id, 1)) << 3) # ascii(left(right(merchant_id, 2), 1))) & 63) << 23) + window_
    FROM unnest(
        pg_temp.threes(split_part(searchable, E'\n', 1), 0) || pg_temp.threes(split_part(searchable, E'\n', 3), 1)
        || ARRAY(SELECT (1 << 22) + substr(split_part(searchable, E'\n', 2), n, 5)::integer FROM generate_series(2, 9) n)
    ) AS window_)
FROM forgotten;

INSERT INTO tally_marks (merchant_id, book, upto) SELECT merchant_id, 'payments', pruned FROM feeds;

DROP TABLE forgotten;
