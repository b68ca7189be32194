-- Completed payments, as their facts only: what has to be told, without the payments themselves. $1 is the number of the
-- first one, $2 of the last one, and $3 how many merchants there are; they take turns.
INSERT INTO events (id, merchant_id, transaction_id, event, body, created_at)
SELECT 'evt_' || lpad(n::text, 26, '0'), 'mer_' || lpad((n % $3 + 1)::text, 26, '0'), 'txn_' || lpad(n::text, 26, '0'),
       'payment.completed',
       format('{"event":"payment.completed","transaction":{"id":"txn_%s","reference":"MLP-%s","type":"COLLECTION",'
              '"amount":%s,"fee":250,"netAmount":%s,"channel":"MPESA","status":"COMPLETED","buyerPhone":"+2557%s",'
              '"buyerName":"Asha Juma","description":"Sukari kilo %s","metadata":{"orderId":"A-%s"},'
              '"providerReference":"%s","createdAt":"2026-01-01T00:00:00.000Z",'
              '"completedAt":"2026-01-01T00:00:07.000Z"}}',
              lpad(n::text, 26, '0'), lpad(n::text, 16, '0'), 25000 + n % 1000, 24750 + n % 1000,
              lpad((n * 104729 % 100000000)::text, 8, '0'), n % 50 + 1, n, lpad(n::text, 10, 'Q')),
       clock_timestamp()
FROM generate_series($1::bigint, $2::bigint) AS n
