"""Fingerprints of all transactions: one read of each table shows whether anything differs.

Two sets of rows are equal if the sums of their rows' fingerprints (64 bits each) are equal. So no join is needed, and
each table is read once. Only if something differs, the checks join the tables to find the rows.
"""

from collections.abc import Collection

from malipo.db import Conn
from malipo.db.key_range import EVERYTHING, KeyRange
from malipo.payments.check.expected import (
    CELL,
    DAY,
    DUE_EVENTS,
    DUE_MOVES,
    LEAF,
    found_events,
    found_in_search,
    found_moves,
    uncounted,
    unnumbered,
)
from malipo.payments.check.refunds import found_refunds
from malipo.rollups.check import stored_leaves
from malipo.rollups.store import Rollup

_COUNTED = f"merchant_id, {LEAF}, {CELL}"
_SEARCHED = "merchant_id, id, search_text"
_REFUND = "merchant_id, refund_of, id"
# Three sums are added to one, with these weights for fees and milliseconds beside shillings. The weights are primes, so
# that an error in one sum is not cancelled by an error in another.
_FEE, _MS = 15_485_863, 32_452_843
# Only events that are as recent as the merchant's kept events.
_KEPT_EVENTS = [(row, f"{due} AND (f.pruned_before IS NULL OR {at} >= f.pruned_before)") for row, at, due in DUE_EVENTS]


# The tables that are compared payment by payment, and those that are compared by merchant.
OF_PAYMENTS = frozenset({"moves", "events", "refunds", "search_index"})
OF_MERCHANTS = frozenset({"counts", "totals"})


async def differences(
    connection: Conn, what: Collection[str] = OF_PAYMENTS | OF_MERCHANTS, within: KeyRange = EVERYTHING
) -> set[str]:
    """The names of those tables (moves, events, refunds, totals, counts, search index) that differ from the
    transactions."""
    sums = {
        "moves": _sum(DUE_MOVES),
        "events": _sum(_KEPT_EVENTS),
        "refunds": _sum([(f"t.{_REFUND}", "t.refund_of IS NOT NULL")]),
        "counts": _sum([(_COUNTED, "t.ended_at IS NOT NULL")]),
        "search_index": _sum([(f"t.{_SEARCHED}", "t.ended_at IS NOT NULL")]),
        "totals": _totals("t.ended_at IS NOT NULL"),
    }
    # `fetch` although it is one row, because PostgreSQL uses no parallel workers for `fetchrow`.
    (expected,) = await connection.fetch(
        f"""
        SELECT {", ".join(f"{sums[each]} AS {each}" for each in sorted(what))}
        FROM transactions t LEFT JOIN feeds f USING (merchant_id) WHERE {within.holds("t.merchant_id", "t.id")}
        """,
        *within.values,
    )
    found = {each: await _found_of(connection, each, within) for each in sorted(what)}
    return {each for each, sum_ in found.items() if sum_ != expected[each]}


async def _found_of(connection: Conn, what: str, within: KeyRange) -> int:
    """The fingerprint of the stored rows, together with payments that are not counted yet."""
    match what:
        case "moves":
            columns = "merchant_id, id, step, move_number, source, target, amount, channel"
            return await _found(connection, found_moves(within), columns, within)
        case "events":
            return await _found(connection, _kept(found_events(within)), "merchant_id, id, event", within)
        case "refunds":
            return await _found(connection, found_refunds(within), _REFUND, within)
        case "search_index":
            found = await _found(connection, found_in_search(within), _SEARCHED, within)
            return found + await _found(connection, uncounted(within), _SEARCHED, within)
        case "counts":
            stored = await stored_leaves(connection, Rollup.PAYMENTS, within)
            return stored + await _found(connection, uncounted(within), _COUNTED, within)
    ((waiting,),) = await connection.fetch(f"SELECT {_totals('true')} FROM ({unnumbered(within)}) AS t", *within.values)
    return await _found_totals(connection, within) + int(waiting)


def _sum(rows: list[tuple[str, str]]) -> str:
    """The sum of the fingerprints of those rows that are due."""
    return " + ".join(
        f"coalesce(sum(hash_record_extended(ROW({row}), 0)) FILTER (WHERE {condition}), 0)" for row, condition in rows
    )


async def _found(connection: Conn, rows: str, columns: str, within: KeyRange) -> int:
    statement = f"SELECT {_sum([(columns, 'true')])} FROM ({rows}) AS found"
    ((sum_,),) = await connection.fetch(statement, *within.values)
    return int(sum_)


def _totals(condition: str) -> str:
    """Ends, amounts, fees and milliseconds, each multiplied by the fingerprint of its day, type and channel."""
    ms = "CASE WHEN isfinite(ended_at) THEN round(date_part('epoch', ended_at - created_at) * 1000)::bigint END"
    sort = f"hash_record_extended(ROW(t.merchant_id, {DAY}, t.type, t.channel), 0)::numeric"
    return f"""
        {_sum([(f"t.merchant_id, {DAY}, t.type, t.channel, t.status", condition)])}
        + coalesce(sum((t.amount + t.fee * {_FEE} + {ms} * {_MS}) * {sort})
                   FILTER (WHERE {condition} AND t.status = 'COMPLETED'), 0)
    """


async def _found_totals(connection: Conn, within: KeyRange) -> int:
    counts = " + ".join(
        f"{status.lower()} * hash_record_extended(ROW(merchant_id, day, type, channel, '{status}'::text), 0)::numeric"
        for status in ("COMPLETED", "FAILED", "CANCELLED")
    )
    ((sum_,),) = await connection.fetch(
        f"""
        SELECT coalesce(sum({counts} + (amount + fees::numeric * {_FEE} + round(total_seconds * 1000)::numeric * {_MS})
                                       * hash_record_extended(ROW(merchant_id, day, type, channel), 0)::numeric), 0)
        FROM daily_totals WHERE {within.holds("merchant_id")}
        """,
        *within.values,
    )
    return int(sum_)


def _kept(events: str) -> str:
    return f"""
        SELECT e.* FROM ({events}) e LEFT JOIN feeds f USING (merchant_id)
        WHERE f.pruned_before IS NULL OR e.at >= f.pruned_before
    """
