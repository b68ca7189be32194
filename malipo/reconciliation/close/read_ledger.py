"""Reads what the ledger says of a day: its moves, those that were written late, and the balances before."""

from collections.abc import Mapping, Sequence
from datetime import date

import msgspec

from malipo.db import Tx
from malipo.reconciliation.close.columns import Route, added, changes_of, late_routes
from malipo.reconciliation.close.day import begin_of, end_of
from malipo.reconciliation.close.signature import ClosedDay
from malipo.reconciliation.close.store import balances, entries


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    before: Mapping[str, int]  # balances
    own: Sequence[Route]  # the day's moves of merchants
    late: Sequence[Route]  # those of the day before, that were written after its close
    house: Sequence[Route]

    @property
    def routes(self) -> list[Route]:
        return [*self.own, *self.late, *self.house]

    @property
    def after(self) -> dict[str, int]:
        return added(self.before, changes_of(self.routes))

    def float_before(self, channel: str) -> int:
        """As the network would see it."""
        return -self.before.get(f"float {channel}", 0)


async def read_ledger(tx: Tx, day: date, before: ClosedDay | None) -> Ledger:
    begins, ends = begin_of(day), end_of(day)
    own = await entries.add_moves(tx, day, begins, ends)
    house = await entries.add_house_bookings(tx, day)
    if before is None:
        opening = changes_of(await balances.find_routes_before(tx, day, begins))
        return Ledger(before=opening, own=own, late=[], house=house)
    close = before.close
    now = await balances.find_routes(tx, begin_of(before.day), end_of(before.day))
    late = late_routes(now, close.routes)
    await entries.add(
        tx, "late", [(each.channel, "", -each.change) for each in late if each.channel], day=day, moment=begins
    )
    return Ledger(before=close.balances, own=own, late=late, house=house)
