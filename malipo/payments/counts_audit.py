"""Holds everything that is counted against what it counts: totals of days, tallies, and what a search finds.

It reads, and never mends. What is not counted yet is not missing.
"""

from malipo.db import Conn
from malipo.ledger.audit import Finding
from malipo.payments.cells import TREE
from malipo.tally import audit as tally_audit
from malipo.tally.audit import fingerprints
from malipo.tally.store import Book

# Ends that the counter has not come to.
_UNCOUNTED = f"""
    SELECT merchant_id, transaction_id FROM events WHERE number IS NULL AND event <> 'payment.pending'
    UNION ALL
    SELECT e.merchant_id, e.transaction_id
    FROM feeds f LEFT JOIN tally_marks m ON m.merchant_id = f.merchant_id AND m.book = '{Book.PAYMENTS}'
    JOIN events e ON e.merchant_id = f.merchant_id AND e.number > coalesce(m.upto, 0)
    WHERE e.event <> 'payment.pending'
"""
# Those that must be counted, each with a 1; and with a -1 those that are not yet. So nobody has to look for the few
# uncounted ones among all.
_COUNTED = f"""
    SELECT merchant_id, id, type, channel, status, created_at, searchable, 1 AS count
    FROM transactions WHERE ended_at IS NOT NULL
    UNION ALL
    SELECT t.merchant_id, t.id, t.type, t.channel, t.status, t.created_at, t.searchable, -1
    FROM ({_UNCOUNTED}) u JOIN transactions t ON t.merchant_id = u.merchant_id AND t.id = u.transaction_id
"""
_CELL = """
    6 * CASE channel WHEN 'MPESA' THEN 0 WHEN 'TIGO_PESA' THEN 1 WHEN 'AIRTEL_MONEY' THEN 2 WHEN 'HALOPESA' THEN 3 END
    + CASE type WHEN 'COLLECTION' THEN 0 WHEN 'DISBURSEMENT' THEN 3 END
    + CASE status WHEN 'COMPLETED' THEN 1 WHEN 'FAILED' THEN 2 WHEN 'CANCELLED' THEN 3 END
"""
# Times are kept in whole milliseconds.
_LEAF = f"round(date_part('epoch', created_at) * 1000)::bigint >> {TREE.bits(0)}"


async def check(connection: Conn) -> list[Finding]:
    return [
        *await _wrong_totals(connection),
        *await _wrong_tallies(connection),
        *await _wrong_searches(connection),
    ]


async def _wrong_totals(connection: Conn) -> list[Finding]:
    """Totals held against transactions. An end whose event has no place in the feed yet is not counted yet."""
    rows = await connection.fetch(
        """
        WITH expected AS (
            SELECT t.merchant_id, (t.ended_at AT TIME ZONE 'Africa/Dar_es_Salaam')::date AS day, t.type, t.channel,
                   count(*) FILTER (WHERE t.status = 'COMPLETED') AS completed,
                   count(*) FILTER (WHERE t.status = 'FAILED') AS failed,
                   count(*) FILTER (WHERE t.status = 'CANCELLED') AS cancelled,
                   coalesce(sum(t.amount) FILTER (WHERE t.status = 'COMPLETED'), 0)::bigint AS amount,
                   coalesce(sum(t.fee) FILTER (WHERE t.status = 'COMPLETED'), 0)::bigint AS fees,
                   coalesce(sum(date_part('epoch', t.ended_at - t.created_at)) FILTER (WHERE t.status = 'COMPLETED'), 0)
                       AS seconds
            FROM transactions t
            WHERE t.ended_at IS NOT NULL AND NOT EXISTS (
                SELECT FROM events e
                WHERE e.number IS NULL AND e.merchant_id = t.merchant_id AND e.transaction_id = t.id
                  AND e.event <> 'payment.pending')
            GROUP BY 1, 2, 3, 4
        )
        SELECT merchant_id, day, type, channel, e.amount AS computed, d.amount AS stored
        FROM expected e FULL JOIN daily_totals d USING (merchant_id, day, type, channel)
        WHERE (coalesce(e.completed, 0), coalesce(e.failed, 0), coalesce(e.cancelled, 0), coalesce(e.amount, 0),
               coalesce(e.fees, 0))
              IS DISTINCT FROM
              (coalesce(d.completed, 0), coalesce(d.failed, 0), coalesce(d.cancelled, 0), coalesce(d.amount, 0),
               coalesce(d.fees, 0))
           OR abs(coalesce(e.seconds, 0) - coalesce(d.seconds, 0)) > 0.01
        ORDER BY 1, 2, 3, 4 LIMIT 100
        """
    )
    return [
        Finding(
            "daily total",
            f"{row['merchant_id']} {row['day']} {row['type']} {row['channel']}",
            row["stored"],
            row["computed"],
        )
        for row in rows
    ]


async def _wrong_tallies(connection: Conn) -> list[Finding]:
    things = f"SELECT merchant_id, {_LEAF} AS bucket, {_CELL} AS cell, count FROM ({_COUNTED}) AS counted"
    wrong = await tally_audit.check(connection, Book.PAYMENTS, things)
    return [Finding("payments counted", each.where, each.stored, each.computed) for each in wrong]


async def _wrong_searches(connection: Conn) -> list[Finding]:
    """A search finds what is counted, and nothing else."""
    found = "SELECT merchant_id, id, searchable, 1 AS count FROM searches WHERE cardinality(windows) > 0"
    sums = [
        await connection.fetchval(f"SELECT {fingerprints('merchant_id, id, searchable')} FROM ({rows}) AS set_")
        for rows in (_COUNTED, found)
    ]
    if sums[0] == sums[1]:
        return []
    rows = await connection.fetch(
        f"""
        WITH expected AS (SELECT merchant_id, id, searchable FROM ({_COUNTED}) c GROUP BY 1, 2, 3 HAVING sum(count) > 0)
        SELECT id FROM expected e FULL JOIN ({found}) s USING (merchant_id, id)
        WHERE e.searchable IS DISTINCT FROM s.searchable ORDER BY 1 LIMIT 100
        """
    )
    return [Finding("is not found as it is by a search", row["id"], None, None) for row in rows]
