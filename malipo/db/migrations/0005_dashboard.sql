-- What the pages for people need: totals that do not slow down with history, and operators who log in.

-- How a merchant's payments ended, by the day of their end in Dar es Salaam. Grown by the numberer of the feed in the
-- commit that gives the event its place: so every end is counted once, and no payment waits for a total's lock.
CREATE TABLE daily_totals (
    merchant_id text COLLATE "C" NOT NULL,
    day         date NOT NULL,
    type        text NOT NULL,
    channel     text NOT NULL,
    completed   bigint NOT NULL DEFAULT 0,
    failed      bigint NOT NULL DEFAULT 0,
    cancelled   bigint NOT NULL DEFAULT 0,
    amount      bigint NOT NULL DEFAULT 0, -- of those that were completed
    fees        bigint NOT NULL DEFAULT 0,
    seconds     double precision NOT NULL DEFAULT 0, -- from creation to completion, all together
    PRIMARY KEY (merchant_id, day, type, channel)
) WITH (fillfactor = 50);

INSERT INTO daily_totals (merchant_id, day, type, channel, completed, failed, cancelled, amount, fees, seconds)
SELECT t.merchant_id, (t.ended_at AT TIME ZONE 'Africa/Dar_es_Salaam')::date, t.type, t.channel,
       count(*) FILTER (WHERE t.status = 'COMPLETED'),
       count(*) FILTER (WHERE t.status = 'FAILED'),
       count(*) FILTER (WHERE t.status = 'CANCELLED'),
       coalesce(sum(t.amount) FILTER (WHERE t.status = 'COMPLETED'), 0),
       coalesce(sum(t.fee) FILTER (WHERE t.status = 'COMPLETED'), 0),
       coalesce(sum(extract(epoch FROM t.ended_at - t.created_at)) FILTER (WHERE t.status = 'COMPLETED'), 0)
FROM transactions t
-- What has no place in the feed yet will be counted when it gets one.
WHERE t.ended_at IS NOT NULL AND NOT EXISTS (
    SELECT FROM events e WHERE e.number IS NULL AND e.merchant_id = t.merchant_id AND e.transaction_id = t.id
                           AND e.event <> 'payment.pending')
GROUP BY 1, 2, 3, 4;

ALTER TABLE operators ADD COLUMN password_hash text; -- argon2id; without one they act on the command line only

CREATE TABLE operator_sessions (
    id          text COLLATE "C" PRIMARY KEY,
    operator_id text COLLATE "C" NOT NULL REFERENCES operators,
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    ended_at    timestamptz,
    address     text NOT NULL
);
