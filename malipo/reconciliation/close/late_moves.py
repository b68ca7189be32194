"""Finds moves that were committed after the close of their day. The books count them on the day after.

A close stores the transaction snapshot with which it read the day's moves; a move that this snapshot does not show is
late. The next close compares the late moves with the sums that it signs, and records each. If they do not agree (the
database was dumped and loaded again in between, or a version without snapshots closed the day), late moves cannot be
identified, and only their sums by route are known.
"""

from collections.abc import Mapping
from datetime import date

import msgspec

from malipo.db import Conn, Tx
from malipo.reconciliation.close.business_day import begin_of, end_of
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.store import balances, closes
from malipo.reconciliation.close.store import late_moves as store
from malipo.reconciliation.close.two_columns import late_flows, sums_of


class LateMoves(msgspec.Struct, frozen=True, kw_only=True):
    """The late moves of a day."""

    day: date
    is_late: str = "false"  # a condition in SQL for a row `m` of the day's moves
    routes: Mapping[str, int] = {}  # sums of late moves that cannot be told apart


async def record(tx: Tx, before: ClosedDay, late: Mapping[str, int]) -> None:
    """Record the late moves of the day before, with the sums in the new close."""
    if late and await store.sum_unseen(tx, before.day) == late:
        await store.record_unseen(tx, before.day)


async def find_late(connection: Conn, day: date) -> LateMoves:
    """The late moves of a day; none, if it is not closed."""
    if (closed := await closes.find(connection, day)) is None:
        return LateMoves(day=day)
    following = await closes.find_after(connection, day, limit=1)
    if following:
        late, found, is_late = following[0].close.late, await store.sum_recorded(connection, day), store.IS_RECORDED
    else:
        now = await balances.find_flows(connection, begin_of(day), end_of(day))
        late = sums_of(late_flows(now, closed.close.routes))
        found = await store.sum_unseen(connection, day) if late else {}
        is_late = store.is_unseen_sql(day)
    if not late:
        return LateMoves(day=day)
    return LateMoves(day=day, is_late=is_late) if found == late else LateMoves(day=day, routes=late)
