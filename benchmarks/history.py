"""Merchants with a history: payments over the last 90 days, in every table as malipo would have left them.

Written by PostgreSQL itself, in a few statements, so that a million take a minute.
"""

import asyncpg

# Ids begin with their time, as those of `malipo/ids.py` do.
_NAMED = """
    CREATE OR REPLACE FUNCTION pg_temp.named(prefix text, at timestamptz, n bigint) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE ms bigint := (extract(epoch FROM at) * 1000)::bigint; said text := '';
    BEGIN
        FOR place IN 0..9 LOOP
            said := substr('0123456789abcdefghjkmnpqrstvwxyz', (ms & 31)::int + 1, 1) || said;
            ms := ms >> 5;
        END LOOP;
        RETURN prefix || said || lpad(n::text, 16, '0');
    END $$
"""

# Nine of ten are completed collections, and pay for the payouts.
_MADE = """
    CREATE TEMP TABLE made ON COMMIT DROP AS
    SELECT n, 1000 + n % 90000 AS amount, n % 10 = 0 AS is_payout,
           (ARRAY['MPESA', 'TIGO_PESA', 'AIRTEL_MONEY', 'HALOPESA'])[1 + n % 4] AS channel,
           pg_temp.named('txn_', at, n + $2) AS id, at, at + interval '9 seconds' AS ended_at
    FROM (SELECT n, date_trunc('milliseconds', now() - interval '89 days' * (1 - n::float8 / $1)) AS at
          FROM generate_series(1, $1::bigint) AS n) t
"""

_TRANSACTIONS = """
    INSERT INTO transactions (merchant_id, id, reference, network_key, type, channel, status, amount, fee, phone, name,
                              description, metadata, searchable, created_at, processing_at, ended_at)
    SELECT $1, id, 'MLP-' || lpad((n + $2)::text, 16, '0'), lpad((n + $2)::text, 16, '0'),
           CASE WHEN is_payout THEN 'DISBURSEMENT' ELSE 'COLLECTION' END, channel, 'COMPLETED', amount, 0,
           '+2557' || lpad((n % 100000000)::text, 8, '0'), 'Asha Juma', 'Sukari kilo mbili', '{}',
           'mlp-' || lpad((n + $2)::text, 16, '0')
           || E'\\n+2557' || lpad((n % 100000000)::text, 8, '0') || E'\\nasha juma',
           at, at, ended_at
    FROM made
"""

# The wallet's lines are in the order of the payments. A payout takes two moves: out of the wallet, and to the phone.
_MOVES = """
    INSERT INTO moves (merchant_id, cause_id, step, line, source, target, channel, amount, wallet_line, wallet_after,
                       at)
    SELECT $1, id, CASE WHEN is_payout THEN 'open' ELSE 'end' END, 1,
           CASE WHEN is_payout THEN 'wallet' ELSE 'float' END, CASE WHEN is_payout THEN 'in_flight' ELSE 'wallet' END,
           CASE WHEN is_payout THEN NULL ELSE channel END, amount, n,
           sum(CASE WHEN is_payout THEN -amount ELSE amount END) OVER (ORDER BY n), ended_at
    FROM made
"""
_PAID_OUT = """
    INSERT INTO moves (merchant_id, cause_id, step, line, source, target, channel, amount, at)
    SELECT $1, id, 'end', 1, 'in_flight', 'float', channel, amount, ended_at FROM made WHERE is_payout
"""
_WALLET = """
    UPDATE wallets SET available = (SELECT sum(CASE WHEN is_payout THEN -amount ELSE amount END) FROM made),
                       lines = (SELECT count(*) FROM made), updated_at = now()
    WHERE merchant_id = $1
"""
_EVENTS = """
    INSERT INTO events (merchant_id, id, transaction_id, event, body, created_at, number)
    SELECT $1, pg_temp.named('evt_', told_at, n * 2 + is_end::int + $2 * 2), id, event, '{}', told_at,
           row_number() OVER (ORDER BY told_at, n)
    FROM (SELECT n, id, false AS is_end, 'payment.pending' AS event, at AS told_at FROM made WHERE NOT is_payout
          UNION ALL
          SELECT n, id, true, CASE WHEN is_payout THEN 'payout.completed' ELSE 'payment.completed' END, ended_at
          FROM made) told
"""
_FEED = "INSERT INTO feeds (merchant_id, last) SELECT $1, count(*) FROM events WHERE merchant_id = $1"
_TOTALS = """
    INSERT INTO daily_totals (merchant_id, day, type, channel, completed, amount, seconds)
    SELECT $1, (ended_at AT TIME ZONE 'Africa/Dar_es_Salaam')::date,
           CASE WHEN is_payout THEN 'DISBURSEMENT' ELSE 'COLLECTION' END, channel, count(*), sum(amount), count(*) * 9
    FROM made GROUP BY 2, 3, 4
"""


async def write(url: str, merchant_id: str, payments: int, *, first: int) -> None:
    """`first` is where the numbers in ids begin, so no two histories of one database may share it."""
    connection = await asyncpg.connect(url)
    try:
        async with connection.transaction():
            await connection.execute(_NAMED)
            await connection.execute(_MADE, payments, first)
            await connection.execute(_TRANSACTIONS, merchant_id, first)
            for statement in (_MOVES, _PAID_OUT, _WALLET):
                await connection.execute(statement, merchant_id)
            await connection.execute(_EVENTS, merchant_id, first)
            for statement in (_FEED, _TOTALS):
                await connection.execute(statement, merchant_id)
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()
