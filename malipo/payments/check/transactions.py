"""Compares every transaction with the moves and events that its status requires. It only reads.

Fingerprints are compared first (`fingerprints.py`); only where they differ, joins find the rows. The expected rows are
in `expected.py`.
"""

from collections.abc import Collection

from malipo.db import Conn
from malipo.db.key_range import EVERYTHING, KeyRange
from malipo.ledger.check import LedgerFinding
from malipo.ledger.check_settlements import wrong_settlements
from malipo.payments.check import corrections as corrections_check
from malipo.payments.check import fingerprints
from malipo.payments.check import refunds as refunds_check
from malipo.payments.check import rollups as counts_check
from malipo.payments.check.expected import DUE_EVENTS, DUE_MOVES, found_events, found_moves


async def check(connection: Conn) -> list[LedgerFinding]:
    """Compare everything at once."""
    differs = await fingerprints.differences(connection)
    return [
        *await _wrong_payments(connection, differs, EVERYTHING),
        *await lost_keys(connection),
        *await wrong_settlements(connection),
        *await check_merchants(connection, differs=differs),
    ]


async def check_payments(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """The payments in a range of (merchant, id), with their moves, events and corrections."""
    differs = await fingerprints.differences(connection, fingerprints.OF_PAYMENTS, within)
    return await _wrong_payments(connection, differs, within)


async def check_merchants(
    connection: Conn, within: KeyRange = EVERYTHING, *, differs: Collection[str] | None = None
) -> list[LedgerFinding]:
    """Compare the sums of merchants in a range: feeds, debts, daily totals and rollups."""
    if differs is None:
        differs = await fingerprints.differences(connection, fingerprints.OF_MERCHANTS, within)
    return [
        *await _wrong_feeds(connection, within),
        *await _wrong_batch_events(connection, within),
        *await _wrong_link_events(connection, within),
        *await corrections_check.wrong_debts(connection, within),
        *await counts_check.check(connection, differs, within),
    ]


async def _wrong_payments(connection: Conn, differs: Collection[str], within: KeyRange) -> list[LedgerFinding]:
    is_moved = "true" if "moves" in differs else "m.step IN ('contradiction', 'resolution')"
    return [
        *(await _wrong_moves(connection, within) if "moves" in differs else []),
        *await _wrong_channels(connection, is_moved, within),
        *(await _wrong_events(connection, within) if "events" in differs else []),
        *await _idle(connection, within),
        *await corrections_check.check(connection, within),
        *await refunds_check.check(connection, differs, within),
        *(await counts_check.wrong_search_index(connection, within) if "search_index" in differs else []),
    ]


def _expected_moves(within: KeyRange) -> str:
    return " UNION ALL ".join(
        f"SELECT {row} FROM transactions t WHERE {due} AND {within.holds('t.merchant_id', 't.id')}"
        for row, due in DUE_MOVES
    )


def _expected_events(within: KeyRange) -> str:
    return " UNION ALL ".join(
        f"SELECT {row}, {at} FROM transactions t WHERE {due} AND {within.holds('t.merchant_id', 't.id')}"
        for row, at, due in DUE_EVENTS
    )


async def _wrong_moves(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    rows = await connection.fetch(
        f"""
        WITH expected (merchant_id, id, step, move_number, source, target, amount) AS ({_expected_moves(within)}),
             found AS ({found_moves(within)})
        SELECT coalesce(e.id, f.id) AS id, coalesce(e.step, f.step) AS step,
               coalesce(e.move_number, f.move_number) AS move_number, e.amount AS computed, f.amount AS stored
        FROM expected e FULL JOIN found f USING (merchant_id, id, step, move_number)
        WHERE (e.source, e.target, e.amount) IS DISTINCT FROM (f.source, f.target, f.amount)
        ORDER BY 1, 2, 3 LIMIT 100
        """,
        *within.values,
    )
    return [
        LedgerFinding("move", f"{row['id']} {row['step']} line {row['move_number']}", row["stored"], row["computed"])
        for row in rows
    ]


async def _wrong_channels(connection: Conn, which: str, within: KeyRange) -> list[LedgerFinding]:
    rows = await connection.fetch(
        f"""
        SELECT m.cause_id, m.amount
        FROM moves m JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.cause_id
        WHERE {which} AND m.channel <> t.channel AND {within.holds("m.merchant_id", "m.cause_id")} ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("move on another channel's float", row["cause_id"], row["amount"], None) for row in rows]


async def _wrong_events(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Events that differ from their transactions, as far back as events are kept."""
    rows = await connection.fetch(
        f"""
        WITH expected (merchant_id, id, event, at) AS ({_expected_events(within)}),
             found AS ({found_events(within)})
        SELECT id, event, f.at IS NULL AS is_lost
        FROM expected e FULL JOIN found f USING (merchant_id, id, event)
        LEFT JOIN feeds USING (merchant_id)
        WHERE (e.at IS NULL OR f.at IS NULL)
          AND (pruned_before IS NULL OR coalesce(e.at, f.at) >= pruned_before)
        ORDER BY 1, 2 LIMIT 100
        """,
        *within.values,
    )
    return [
        LedgerFinding(
            f"{row['event']} {'was never told' if row['is_lost'] else 'was told and is not true'}",
            row["id"],
            None,
            None,
        )
        for row in rows
    ]


async def _wrong_feeds(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Feeds with a gap in the kept numbers, or with an event beyond the end."""
    rows = await connection.fetch(
        f"""
        SELECT merchant_id, coalesce(f.last_number - f.pruned_to, 0) AS computed, coalesce(e.size, 0) AS stored
        FROM (SELECT * FROM feeds WHERE {within.holds("merchant_id")}) f FULL JOIN (
            SELECT merchant_id, count(*) AS size, min(feed_number) AS first, max(feed_number) AS last
            FROM (SELECT merchant_id, feed_number FROM events UNION ALL
                  SELECT merchant_id, feed_number FROM batch_events UNION ALL
                  SELECT merchant_id, feed_number FROM link_events UNION ALL
                  SELECT merchant_id, feed_number FROM settlement_events) AS numbered
            WHERE feed_number IS NOT NULL AND {within.holds("merchant_id")} GROUP BY merchant_id
        ) e USING (merchant_id)
        WHERE coalesce(e.size, 0) <> coalesce(f.last_number - f.pruned_to, 0)
           OR e.first <> f.pruned_to + 1 OR e.last <> f.last_number
        ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("events in the feed", row["merchant_id"], row["stored"], row["computed"]) for row in rows]


async def _wrong_batch_events(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Events of batches that do not fit their batch. (A batch that an older version completed has no event.)"""
    rows = await connection.fetch(
        f"""
        SELECT e.batch_id FROM batch_events e
        LEFT JOIN batches b ON b.merchant_id = e.merchant_id AND b.id = e.batch_id AND b.status = 'COMPLETED'
        WHERE b.id IS NULL AND {within.holds("e.merchant_id")} ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("batch.completed was told and is not true", row["batch_id"], None, None) for row in rows]


async def _wrong_link_events(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Each event of a link must be about a payment that has ended and is an attempt of that link."""
    rows = await connection.fetch(
        f"""
        SELECT e.event, e.link_id FROM link_events e
        LEFT JOIN link_attempts a ON a.merchant_id = e.merchant_id AND a.link_id = e.link_id
                                 AND a.transaction_id = e.transaction_id
        LEFT JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id AND t.ended_at IS NOT NULL
        WHERE t.id IS NULL AND {within.holds("e.merchant_id")} ORDER BY 2 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding(f"{row['event']} was told and is not true", row["link_id"], None, None) for row in rows]


async def lost_keys(connection: Conn, within: KeyRange = EVERYTHING) -> list[LedgerFinding]:
    rows = await connection.fetch(
        f"""
        SELECT k.transaction_id
        FROM idempotency_keys k
        LEFT JOIN transactions t ON t.merchant_id = k.merchant_id AND t.id = k.transaction_id
        WHERE t.id IS NULL AND {within.holds("k.merchant_id", "k.route", "k.key")} ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("idempotency key without its transaction", row["transaction_id"], None, None) for row in rows]


async def _idle(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Open payments without a dispatch: no worker would ever process them."""
    rows = await connection.fetch(
        f"""
        SELECT t.id, t.amount FROM transactions t
        LEFT JOIN dispatches d ON d.merchant_id = t.merchant_id AND d.transaction_id = t.id
        WHERE t.status IN ('PENDING', 'PROCESSING') AND d.transaction_id IS NULL
          AND {within.holds("t.merchant_id", "t.id")} ORDER BY 1 LIMIT 100
        """,
        *within.values,
    )
    return [LedgerFinding("open payment that nobody works on", row["id"], row["amount"], row["amount"]) for row in rows]
