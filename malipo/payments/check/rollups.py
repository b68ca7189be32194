"""Compares daily totals, rollups and the search index with the payments.

It only reads. A payment that is not counted yet is not reported as missing.
"""

from collections.abc import Collection

from malipo import clock
from malipo.db import Conn
from malipo.db.key_range import EVERYTHING, KeyRange
from malipo.ledger.check import LedgerFinding
from malipo.outbox.event import IS_END
from malipo.payments.check.expected import CELL, LEAF, counted, found_in_search
from malipo.rollups import check as rollup_check
from malipo.rollups.store import Rollup


async def check(connection: Conn, differs: Collection[str], within: KeyRange = EVERYTHING) -> list[LedgerFinding]:
    """Compare a range of merchants. `differs` names the tables whose fingerprints differ."""
    return [
        *(await _wrong_totals(connection, within) if "totals" in differs else []),
        *await _wrong_counts(connection, within, are_leaves_right="counts" not in differs),
    ]


async def _wrong_totals(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Daily totals that differ from the transactions. The end of a payment counts once its event has a feed number."""
    rows = await connection.fetch(
        f"""
        WITH expected AS (
            SELECT t.merchant_id, {clock.day_sql("t.ended_at")} AS day, t.type, t.channel,
                   count(*) FILTER (WHERE t.status = 'COMPLETED') AS completed,
                   count(*) FILTER (WHERE t.status = 'FAILED') AS failed,
                   count(*) FILTER (WHERE t.status = 'CANCELLED') AS cancelled,
                   coalesce(sum(t.amount) FILTER (WHERE t.status = 'COMPLETED'), 0)::bigint AS amount,
                   coalesce(sum(t.fee) FILTER (WHERE t.status = 'COMPLETED'), 0)::bigint AS fees,
                   coalesce(sum(date_part('epoch', t.ended_at - t.created_at)) FILTER (WHERE t.status = 'COMPLETED'), 0)
                       AS total_seconds
            FROM transactions t
            WHERE t.ended_at IS NOT NULL AND {within.holds("t.merchant_id")} AND NOT EXISTS (
                SELECT FROM events e
                WHERE e.feed_number IS NULL AND e.merchant_id = t.merchant_id AND e.transaction_id = t.id
                  AND e.{IS_END})
            GROUP BY 1, 2, 3, 4
        )
        SELECT merchant_id, day, type, channel, e.amount AS computed, d.amount AS stored
        FROM expected e FULL JOIN (SELECT * FROM daily_totals WHERE {within.holds("merchant_id")}) d
             USING (merchant_id, day, type, channel)
        WHERE (coalesce(e.completed, 0), coalesce(e.failed, 0), coalesce(e.cancelled, 0), coalesce(e.amount, 0),
               coalesce(e.fees, 0))
              IS DISTINCT FROM
              (coalesce(d.completed, 0), coalesce(d.failed, 0), coalesce(d.cancelled, 0), coalesce(d.amount, 0),
               coalesce(d.fees, 0))
           OR abs(coalesce(e.total_seconds, 0) - coalesce(d.total_seconds, 0)) > 0.01
        ORDER BY 1, 2, 3, 4 LIMIT 100
        """,
        *within.values,
    )
    return [
        LedgerFinding(
            "daily total",
            f"{row['merchant_id']} {row['day']} {row['type']} {row['channel']}",
            row["stored"],
            row["computed"],
        )
        for row in rows
    ]


async def _wrong_counts(connection: Conn, within: KeyRange, *, are_leaves_right: bool) -> list[LedgerFinding]:
    entries = f"SELECT merchant_id, {LEAF} AS bucket, {CELL} AS cell, count FROM ({counted(within)}) AS counted"
    wrong = await rollup_check.check(connection, Rollup.PAYMENTS, None if are_leaves_right else entries, within)
    return [LedgerFinding("payments counted", each.where, each.stored, each.computed) for each in wrong]


async def wrong_search_index(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Differences between the search index and the counted payments, which must be the same."""
    rows = await connection.fetch(
        f"""
        WITH expected AS (
            SELECT merchant_id, id, search_text FROM ({counted(within)}) c GROUP BY 1, 2, 3 HAVING sum(count) > 0
        )
        SELECT id FROM expected e FULL JOIN ({found_in_search(within)}) s USING (merchant_id, id)
        WHERE e.search_text IS DISTINCT FROM s.search_text ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("is not found as it is by a search", row["id"], None, None) for row in rows]
