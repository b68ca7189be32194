-- Merchants with a wallet, a key and tariffs. Every name is made of the merchant's number, so that all who load
-- the database can make it up themselves: the key of merchant 7 is mlp_live_, then a 7 with zeros before it.
INSERT INTO merchants (id, name, created_at)
SELECT 'mer_' || lpad(n::text, 26, '0'), 'Merchant ' || n, now() FROM generate_series(1, current_setting('bench.merchants')::integer) AS n;

INSERT INTO wallets (merchant_id, updated_at) SELECT id, created_at FROM merchants;

INSERT INTO api_keys (id, merchant_id, name, hash, prefix, last4, environment, permissions, created_at)
SELECT 'key_' || lpad(n::text, 26, '0'), 'mer_' || lpad(n::text, 26, '0'), 'Benchmark',
       sha256(convert_to('mlp_live_' || lpad(n::text, 40, '0'), 'UTF8')), 'mlp_live_', lpad(n::text, 4, '0'), 'live',
       '{payments.create}', now()
FROM generate_series(1, current_setting('bench.merchants')::integer) AS n;

INSERT INTO rate_limit_windows (key_id, rate_class)
SELECT id, rate_class FROM api_keys, unnest(ARRAY['create', 'list', 'other']) AS rate_class;

-- One per cent, for every kind of payment.
INSERT INTO tariffs (merchant_id, type, channel, from_amount, fixed_fee, basis_points, min_fee)
SELECT id, type, channel, 0, 0, 100, 0
FROM merchants, unnest(ARRAY['COLLECTION', 'DISBURSEMENT']) AS type,
     unnest(ARRAY['MPESA', 'TIGO_PESA', 'AIRTEL_MONEY', 'HALOPESA']) AS channel;
