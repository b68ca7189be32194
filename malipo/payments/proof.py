"""One look at every transaction, that says whether anything about them differs at all.

Two sets of rows are the same if the sums of their rows' fingerprints are, which have 64 bits each. So no row has to
look for its twin, and each table is read once. Where something differs, the audits join and say what.
"""

from malipo.db import Conn
from malipo.payments.expected import (
    CELL,
    DUE_EVENTS,
    DUE_MOVES,
    FOUND_EVENTS,
    FOUND_MOVES,
    FOUND_SEARCHES,
    LEAF,
    UNCOUNTED,
)
from malipo.tally.audit import stored_leaves
from malipo.tally.store import Book

_COUNTED = f"merchant_id, {LEAF}, {CELL}"
_SEARCHED = "merchant_id, id, searchable"
# As far back as the merchant's events are kept.
_KEPT_EVENTS = [(row, f"{due} AND (f.pruned_before IS NULL OR {at} >= f.pruned_before)") for row, at, due in DUE_EVENTS]


async def differences(connection: Conn) -> set[str]:
    """In which of moves, events, tallies and searches something is not as it must be."""
    expected = await connection.fetchrow(
        f"""
        SELECT {_sum(DUE_MOVES)} AS moves,
               {_sum(_KEPT_EVENTS)} AS events,
               {_sum([(_COUNTED, "t.ended_at IS NOT NULL")])} AS tallies,
               {_sum([(f"t.{_SEARCHED}", "t.ended_at IS NOT NULL")])} AS searches
        FROM transactions t LEFT JOIN feeds f USING (merchant_id)
        """
    )
    uncounted = await connection.fetchrow(
        f"""
        SELECT {_sum([(_COUNTED, "true")])} AS tallies, {_sum([(_SEARCHED, "true")])} AS searches
        FROM ({UNCOUNTED}) AS uncounted
        """
    )
    assert expected is not None
    assert uncounted is not None
    found = {
        "moves": await _found(connection, FOUND_MOVES, "merchant_id, id, step, line, source, target, amount, channel"),
        "events": await _found(connection, _kept(FOUND_EVENTS), "merchant_id, id, event"),
        "searches": await _found(connection, FOUND_SEARCHES, _SEARCHED) + uncounted["searches"],
        "tallies": await stored_leaves(connection, Book.PAYMENTS) + uncounted["tallies"],
    }
    return {what for what, sum_ in found.items() if sum_ != expected[what]}


def _sum(rows: list[tuple[str, str]]) -> str:
    """The sum of the fingerprints of these rows, each of them if it is due."""
    return " + ".join(
        f"coalesce(sum(hash_record_extended(ROW({row}), 0)) FILTER (WHERE {condition}), 0)" for row, condition in rows
    )


async def _found(connection: Conn, rows: str, columns: str) -> int:
    return int(await connection.fetchval(f"SELECT {_sum([(columns, 'true')])} FROM ({rows}) AS found"))


def _kept(events: str) -> str:
    return f"""
        SELECT e.* FROM ({events}) e LEFT JOIN feeds f USING (merchant_id)
        WHERE f.pruned_before IS NULL OR e.at >= f.pruned_before
    """
