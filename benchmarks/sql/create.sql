-- One collection, as malipo writes it, for pgbench: the same rows in the same tables, one statement each, one commit.
-- pgbench has no strings, so they are put together here; the hash in a subquery, or it would be made for every row.
\set n :n + 1
\set id :n * 1000 + :client_id
\set merchant random(1, :merchants)
\set amount random(500, 100000)
\set fee (:amount * 100 + 5000) / 10000
\set phone random(10000000, 99999999)
BEGIN;
SELECT k.hash, k.id, k.merchant_id, m.is_active, k.permissions, k.ip_allowlist, k.expires_at, k.revoked_at, k.last_used_at
FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
WHERE k.hash = (SELECT sha256(convert_to('mlp_live_' || lpad(:merchant::text, 40, '0'), 'UTF8')));
INSERT INTO idempotency_keys (merchant_id, route, key, request_hash, transaction_id)
VALUES ('mer_' || lpad(:merchant::text, 26, '0'), 'COLLECTION', 'order-' || :id::text,
        '\x2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae', 'txn_' || lpad(:id::text, 26, '0'))
ON CONFLICT DO NOTHING
RETURNING transaction_id;
SELECT from_amount, fixed_fee, basis_points, min_fee, max_fee FROM tariffs
WHERE merchant_id = 'mer_' || lpad(:merchant::text, 26, '0') AND type = 'COLLECTION' AND channel = 'MPESA'
  AND from_amount <= :amount
ORDER BY from_amount DESC LIMIT 1;
INSERT INTO transactions (merchant_id, id, reference, network_key, type, channel, status, amount, fee, phone, name,
                          description, metadata, search_text, created_at, created_by)
VALUES ('mer_' || lpad(:merchant::text, 26, '0'), 'txn_' || lpad(:id::text, 26, '0'),
        'MLP-' || lpad(:id::text, 16, '0'), lpad(:id::text, 16, '0'), 'COLLECTION', 'MPESA', 'PENDING', :amount, :fee,
        '+2557' || :phone::text, 'Asha Juma', 'Sukari kilo mbili', '{"orderId":"A-1001"}',
        'mlp-' || lpad(:id::text, 16, '0') || E'\n+2557' || :phone::text || E'\nasha juma', now(),
        'key_' || lpad(:merchant::text, 26, '0'));
INSERT INTO dispatches (merchant_id, transaction_id, channel, type, due_at)
VALUES ('mer_' || lpad(:merchant::text, 26, '0'), 'txn_' || lpad(:id::text, 26, '0'), 'MPESA', 'COLLECTION', now());
INSERT INTO events (id, merchant_id, transaction_id, event, body, created_at)
VALUES ('evt_' || lpad(:id::text, 26, '0'), 'mer_' || lpad(:merchant::text, 26, '0'),
        'txn_' || lpad(:id::text, 26, '0'), 'payment.pending',
        '{"event":"payment.pending","transaction":{"id":"txn_' || lpad(:id::text, 26, '0') || '","reference":"MLP-'
        || lpad(:id::text, 16, '0') || '","type":"COLLECTION","amount":' || :amount::text || ',"fee":' || :fee::text
        || ',"netAmount":50000,"channel":"MPESA","status":"PENDING","buyerPhone":"+2557' || :phone::text
        || '","buyerName":"Asha Juma","description":"Sukari kilo mbili","metadata":{"orderId":"A-1001"},'
        || '"createdAt":"2026-11-15T08:30:00.123Z"}}', now());
COMMIT;
