"""Holds everything that is counted against what it counts: totals of days, tallies, and what a search finds.

It reads, and never mends. What is not counted yet is not missing.
"""

from malipo.db import Conn
from malipo.ledger.audit import Finding
from malipo.payments.cells import CELLS, TREE
from malipo.tally import audit as tally_audit
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
_COUNTED = f"""
    SELECT t.* FROM transactions t
    LEFT JOIN ({_UNCOUNTED}) u ON u.merchant_id = t.merchant_id AND u.transaction_id = t.id
    WHERE t.ended_at IS NOT NULL AND u.transaction_id IS NULL
"""
_CELL = (
    "CASE "
    + " ".join(
        f"WHEN channel = '{channel}' AND type = '{type_}' AND status = '{status}' THEN {cell}"
        for (channel, type_, status), cell in CELLS.items()
    )
    + " END"
)
_LEAF = f"floor(extract(epoch FROM created_at) * 1000)::bigint >> {TREE.bits(0)}"


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
                   coalesce(sum(extract(epoch FROM t.ended_at - t.created_at)) FILTER (WHERE t.status = 'COMPLETED'), 0)
                       ::float8 AS seconds
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
    things = f"SELECT merchant_id, {_LEAF} AS bucket, {_CELL} AS cell FROM ({_COUNTED}) AS counted"
    wrong = await tally_audit.check(connection, Book.PAYMENTS, things)
    return [Finding("payments counted", each.where, each.stored, each.computed) for each in wrong]


async def _wrong_searches(connection: Conn) -> list[Finding]:
    """A search finds what is counted, and nothing else."""
    sums = [
        await connection.fetchrow(
            f"SELECT count(*), sum(hash_record_extended(ROW(merchant_id, id, searchable), 0)) FROM ({rows}) t"
        )
        for rows in (_COUNTED, "SELECT merchant_id, id, searchable FROM searches WHERE cardinality(windows) > 0")
    ]
    if sums[0] == sums[1]:
        return []
    rows = await connection.fetch(
        f"""
        SELECT id, e.searchable IS NULL AS is_wrong FROM ({_COUNTED}) e FULL JOIN searches s USING (merchant_id, id)
        WHERE e.searchable IS DISTINCT FROM s.searchable OR cardinality(s.windows) = 0 ORDER BY 1 LIMIT 100
        """
    )
    return [Finding("is not found as it is by a search", row["id"], None, None) for row in rows]
