-- One payout from the one wallet, as malipo writes it, for pgbench: the same rows in the same tables, one commit. The
-- wallet is taken last, and with it the move is written, so that its row is held as briefly as one commit can.
-- pgbench has no strings, so they are put together here; the hash in a subquery, or it would be made for every row.
\set n :n + 1
\set id :n * 1000 + :client_id
\set amount random(500, 100000)
\set fee (:amount * 100 + 5000) / 10000
\set total :amount + :fee
\set phone random(10000000, 99999999)
BEGIN;
SELECT k.hash, k.id, k.merchant_id, m.is_active, k.permissions, k.ip_allowlist, k.expires_at, k.revoked_at, k.last_used_at
FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
WHERE k.hash = (SELECT sha256(convert_to('mlp_live_' || lpad('1', 40, '0'), 'UTF8')));
INSERT INTO idempotency_keys (merchant_id, route, key, request_hash, transaction_id)
VALUES ('mer_' || lpad('1', 26, '0'), 'DISBURSEMENT', 'order-' || :id::text,
        '\x2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae', 'txn_' || lpad(:id::text, 26, '0'))
ON CONFLICT DO NOTHING
RETURNING transaction_id;
SELECT from_amount, fixed_fee, basis_points, min_fee, max_fee FROM tariffs
WHERE merchant_id = 'mer_' || lpad('1', 26, '0') AND type = 'DISBURSEMENT' AND channel = 'MPESA'
  AND from_amount <= :amount
ORDER BY from_amount DESC LIMIT 1;
INSERT INTO transactions (merchant_id, id, reference, network_key, type, channel, status, amount, fee, phone, name,
                          description, metadata, search_text, created_at, created_by)
VALUES ('mer_' || lpad('1', 26, '0'), 'txn_' || lpad(:id::text, 26, '0'),
        'MLP-' || lpad(:id::text, 16, '0'), lpad(:id::text, 16, '0'), 'DISBURSEMENT', 'MPESA', 'PENDING', :amount, :fee,
        '+2557' || :phone::text, 'Asha Juma', 'Mshahara wa wiki', '{"orderId":"A-1001"}',
        'mlp-' || lpad(:id::text, 16, '0') || E'\n+2557' || :phone::text || E'\nasha juma', now(),
        'key_' || lpad('1', 26, '0'));
INSERT INTO dispatches (merchant_id, transaction_id, channel, type, due_at)
VALUES ('mer_' || lpad('1', 26, '0'), 'txn_' || lpad(:id::text, 26, '0'), 'MPESA', 'DISBURSEMENT', now());
WITH taken AS (
    UPDATE wallets SET available = available - :total, in_flight = in_flight + :total,
                       statement_lines = statement_lines + 1, updated_at = greatest(updated_at, now())
    WHERE merchant_id = 'mer_' || lpad('1', 26, '0') AND available >= :total
    RETURNING available, statement_lines)
INSERT INTO moves (merchant_id, cause_id, step, move_number, source, target, amount, statement_line, balance_after, created_at)
SELECT 'mer_' || lpad('1', 26, '0'), 'txn_' || lpad(:id::text, 26, '0'), 'open', 1, 'wallet', 'in_flight',
       :total, statement_lines, available, now()
FROM taken;
COMMIT;
