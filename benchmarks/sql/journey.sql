-- What a worker left behind of completed payments, of one merchant or of all: what networks said of them, and their webhooks.
-- PostgreSQL plans for the tables that it has seen: in empty ones it would read all that is there, again and again.
INSERT INTO network_answers (merchant_id, transaction_id, id, received_at, connector, source, verdict, code, detail)
SELECT merchant_id, id, 'hrg_' || lpad(row_number() OVER (ORDER BY id)::text, 26, '0'), ended_at, 'airtel_money', 'callback', 'confirmed', 'TS', ''
FROM transactions WHERE current_setting('bench.merchant') IN (merchant_id, 'all') AND ended_at IS NOT NULL;

INSERT INTO webhook_deliveries (endpoint_id, event_id, merchant_id, event, state, attempt_count, due_at)
SELECT 'wh_past', id, merchant_id, event, 'DELIVERED', 1, created_at
FROM events WHERE current_setting('bench.merchant') IN (merchant_id, 'all');

INSERT INTO webhook_attempts (endpoint_id, event_id, id, attempted_at, duration_ms, http_status, response_headers, response_body)
SELECT endpoint_id, event_id, 'att_' || lpad(row_number() OVER (ORDER BY event_id)::text, 26, '0'), due_at, 1, 200, '{}', ''
FROM webhook_deliveries WHERE current_setting('bench.merchant') IN (merchant_id, 'all');

INSERT INTO idempotency_keys (merchant_id, route, key, request_hash, transaction_id)
SELECT merchant_id, type, md5(id)::uuid, sha256(id::bytea), id FROM transactions WHERE current_setting('bench.merchant') IN (merchant_id, 'all');
