"""Finds moves that were committed after the close of their day. The books count them on the first open day.

A close stores the transaction snapshot with which it read the day's moves; a move that this snapshot does not show is
late. The next close compares the late moves with the sums that it signs, and records each. If they do not agree (the
database was dumped and loaded again in between, or a version without snapshots closed the day), late moves cannot be
identified, and only their sums by route are known.

A commit may be open while its day and the next ones are closed, and a host's clock may be days behind. So a close also
looks for moves of the week before: those that no close has counted, and that the snapshot of the last close does not
show. They are counted only if they can be identified, each day by itself.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from itertools import pairwise

import msgspec

from malipo.db import Conn, Tx
from malipo.reconciliation.close.business_day import begin_of, end_of
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.store import balances, closes
from malipo.reconciliation.close.store import late_moves as store
from malipo.reconciliation.close.two_columns import late_flows, sums_of

LOOK_BACK = 7  # days before the last closed day


class LateMoves(msgspec.Struct, frozen=True, kw_only=True):
    """The moves of a day, or of days before it, that the books count after that day. Conditions in SQL are for a row
    `m` of moves that are no younger than the day."""

    day: date
    since: date  # they are of this day or of later ones
    is_late: str = "false"  # the books count them on the day after
    is_later: str = "false"  # on the day after, or on a later one
    routes: Mapping[str, int] = {}  # sums of late moves that cannot be separated


class Pending(msgspec.Struct, frozen=True):
    """Late moves of days before the last closed one that no close has counted: the next one does."""

    last: date
    sums: Mapping[date, Mapping[str, int]]  # by day and route

    @property
    def routes(self) -> dict[str, int]:
        return added(*self.sums.values())

    @property
    def condition(self) -> str:
        """In SQL, for a row `m`."""
        return " OR ".join(store.is_pending_sql(day, by=self.last) for day in self.sums) or "false"


def added(*sums: Mapping[str, int]) -> dict[str, int]:
    together: Counter[str] = Counter()
    for each in sums:
        together.update(each)
    return dict(together)


async def record(tx: Tx, before: ClosedDay, late: Mapping[str, int]) -> None:
    """Record the late moves that the new close has counted, with the sums in it."""
    if not late:
        return
    pending = await find_pending(tx, before)
    if added(await store.sum_unseen(tx, before.day), pending.routes) == late:
        await store.record(tx, before.day, pending.condition)


async def find_pending(connection: Conn, last: ClosedDay) -> Pending:
    """`last` is the last closed day."""
    first = last.day - timedelta(days=LOOK_BACK)
    days = await closes.find_after(connection, first - timedelta(days=1), limit=LOOK_BACK + 1)
    flows = await store.sum_unrecorded(connection, first, last.day)
    more = {each.day: _more(flows.get(each.day, {}), each.close.routes) for each in days}
    if not any(more[each.day] for each in days[:-1]):
        return Pending(last.day, {})
    if more[last.day] and await store.sum_unseen(connection, last.day) != more[last.day]:
        return Pending(last.day, {})  # Not even those of the last day can be separated.
    found = {}
    for closed, following in pairwise(days):
        if not more[closed.day] or await store.sum_recorded(connection, closed.day) != following.close.late:
            continue
        unrecorded, unseen = await store.sum_of_older_day(connection, closed.day, by=last.day)
        if unseen and unseen == _more(unrecorded, closed.close.routes):
            found[closed.day] = unseen
    return Pending(last.day, found)


def _more(now: Mapping[str, int], then: Mapping[str, int]) -> dict[str, int]:
    names = sorted(now.keys() | then.keys())
    return {name: more for name in names if (more := now.get(name, 0) - then.get(name, 0))}


async def find_late(connection: Conn, day: date) -> LateMoves:
    """What the books count after a day; nothing, if it is not closed."""
    if (closed := await closes.find(connection, day)) is None:
        return LateMoves(day=day, since=day)
    following = await closes.find_after(connection, day, limit=1)
    if following:
        return await _before_another_close(connection, day, following[0])
    now = await balances.find_flows(connection, begin_of(day), end_of(day))
    own = sums_of(late_flows(now, closed.close.routes))
    if own and await store.sum_unseen(connection, day) != own:
        return LateMoves(day=day, since=day, routes=own)
    pending = await find_pending(connection, closed)
    conditions = [store.is_unseen_of_day_sql(day)] if own else []
    conditions += [pending.condition] if pending.sums else []
    is_late = f"({' OR '.join(conditions)})" if conditions else "false"
    return LateMoves(day=day, since=min([day, *pending.sums]), is_late=is_late, is_later=is_late)


async def _before_another_close(connection: Conn, day: date, following: ClosedDay) -> LateMoves:
    late, conditions = following.close.late, []
    is_told_apart = bool(late) and await store.sum_recorded(connection, day) == late
    counted_since = day if is_told_apart else day + timedelta(days=1)
    since = [day]
    if (recorded := await store.find_first_recorded(connection, day, counted_since)) is not None:
        conditions.append(store.is_recorded_sql(">=", counted_since))
        since.append(recorded)
    [last] = await closes.find_latest(connection, limit=1)
    if last.day - timedelta(days=LOOK_BACK) <= day:
        pending = await find_pending(connection, last)
        if older := [each for each in pending.sums if each <= day]:
            conditions.append(pending.condition)
            since += older
    return LateMoves(
        day=day,
        since=min(since),
        is_late=store.is_recorded_sql("=", day) if is_told_apart else "false",
        is_later=f"({' OR '.join(conditions)})" if conditions else "false",
        routes={} if is_told_apart else late,
    )
