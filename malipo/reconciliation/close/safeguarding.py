"""Safeguarding: compares the merchants' money with the money that is there for it, at the end of a closed day. Pure.

Everything is computed from the signed content of the close, also for closes of earlier versions. The balance at a
network is that of its statement or, if the day was closed without one, that of the ledger. The balance at the bank is
that of the ledger, because a close has no statement of the bank; for the last close, `with_bank` adds what the bank's
statements show now.

The merchants' part of suspense is what may belong to merchants, less what is missing there: debts of merchants, and
amounts that were paid out although they were not there. A debt does not reduce what the other merchants own, so it is
shown as missing.
"""

from collections.abc import Sequence
from datetime import date
from enum import StrEnum

import msgspec

from malipo.reconciliation.close.signed_content import DayClose, OpenReason

# The accounts of the ledger that hold merchants' money. Suspense may hold some: that is not decided yet.
OWNED = ("wallet", "in_flight", "in_settlement", "suspense")
_FLOAT, _BANK = "float ", "bank"
# Differences between statement and ledger with an unknown reason; two operators may have accepted them.
_UNEXPLAINED = (OpenReason.UNEXPLAINED, OpenReason.ACCEPTED)


class Cover(StrEnum):
    COVERED = "covered"
    UNEXPLAINED = "unexplained"  # there is enough, but some of the surplus is not known to be the house's own
    SHORT = "short"  # there is less than merchants own


class Place(msgspec.Struct, frozen=True):
    """The money at one place, above zero: by the ledger and by the place's statement."""

    name: str  # as in the balances of a close
    booked: int
    stated: int | None

    @property
    def there(self) -> int:
        return self.booked if self.stated is None else self.stated


class BankSeen(msgspec.Struct, frozen=True, kw_only=True):
    """The bank's balance by its statements, beside the ledger's, both as of now, in shillings. The gap excludes
    bookings that the bank may not have made yet."""

    gap: int  # the statements minus the ledger
    unexplained: int  # the part of that difference which no line and no booking explains


class Safeguarding(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    owned: Sequence[tuple[str, int]]
    places: Sequence[Place]
    own: int  # the house's own money, by the ledger: earnings and equity less expenses
    explained: int  # statements minus ledger, with a known reason: on its way, an exception, rounding
    missing: int  # in suspense: what merchants owe, and what else it is below zero

    @property
    def merchants(self) -> int:
        return sum(amount for _, amount in self.owned)

    @property
    def there(self) -> int:
        return sum(each.there for each in self.places)

    @property
    def difference(self) -> int:
        return self.there - self.merchants

    @property
    def unexplained(self) -> int:
        """The part of the difference that is neither the house's own nor explained nor known to be missing."""
        return self.difference - self.own - self.explained + self.missing

    @property
    def cover(self) -> Cover:
        if self.difference < 0:
            return Cover.SHORT
        return Cover.UNEXPLAINED if self.unexplained else Cover.COVERED


def safeguarding_of(close: DayClose) -> Safeguarding:
    stated = {f"{_FLOAT}{each.channel}": each.statement.closing for each in close.channels if each.statement}
    names = [name for name in close.balances if name.startswith(_FLOAT) or name == _BANK]
    # A network may hold money of an account that no move has touched.
    names += [name for name in stated if name not in close.balances]
    others = close.balances.keys() - {*OWNED, *names}
    sums = [
        (reason, each.amount)
        for channel in close.channels
        if channel.statement
        for reason, each in channel.open.items()
    ]
    missing = max(close.owed, -close.balances.get("suspense", 0), 0)
    owned = {name: close.balances.get(name, 0) for name in OWNED}
    return Safeguarding(
        day=close.day,
        owned=[*(owned | {"suspense": owned["suspense"] + missing}).items()],
        places=[Place(name, -close.balances.get(name, 0), stated.get(name)) for name in sorted(names)],
        own=sum(close.balances[name] for name in others),
        explained=sum(amount for reason, amount in sums if reason not in _UNEXPLAINED),
        missing=missing,
    )


def with_bank(found: Safeguarding, seen: BankSeen | None) -> Safeguarding:
    """The same, with the bank's balance by its statements; None: there are none, so the ledger's balance stands."""
    if seen is None:
        return found
    booked = next((each.booked for each in found.places if each.name == _BANK), 0)
    others = [each for each in found.places if each.name != _BANK]
    return msgspec.structs.replace(
        found,
        places=[Place(_BANK, booked, booked + seen.gap), *others],
        explained=found.explained + seen.gap - seen.unexplained,
    )
