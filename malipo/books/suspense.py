"""Suspense as an aged list: every shilling with its cause, and since when it has been there."""

from collections.abc import Sequence
from datetime import date, datetime

import msgspec

from malipo import clock
from malipo.books import store
from malipo.db import Conn
from malipo.ledger.store import suspense as stored

# The ages into which accountants sort what is open: up to this many days.
_AGES = (30, 60, 90)


class SuspenseItem(msgspec.Struct, frozen=True, kw_only=True):
    cause: str  # the payment, the settlement, or the house booking
    kind: str
    amount: int  # below zero: it lacks, as of a payout that was paid although it was reported failed
    since: date
    days: int
    merchant_id: str
    channel: str
    account: str
    reference: str
    receipt: str
    evidence: str


class ReleasedItem(msgspec.Struct, frozen=True, kw_only=True):
    """What a merchant has of a booking that was in suspense."""

    cause: str
    merchant_id: str
    amount: int
    day: date  # on which it was last credited, or taken back


class SuspenseList(msgspec.Struct, frozen=True, kw_only=True):
    items: Sequence[SuspenseItem]  # the oldest first
    balance: int  # of the account, by the moves

    @property
    def without_cause(self) -> int:
        """Zero, unless the ledger is wrong."""
        return self.balance - sum(each.amount for each in self.items)

    @property
    def by_age(self) -> dict[str, int]:
        """The sums by age: `0 to 30`, … `over 90`."""
        sums: dict[str, int] = {}
        edges = [-1, *_AGES]
        for before, last in zip(edges, _AGES, strict=False):
            sums[f"{before + 1} to {last}"] = sum(each.amount for each in self.items if before < each.days <= last)
        sums[f"over {_AGES[-1]}"] = sum(each.amount for each in self.items if each.days > _AGES[-1])
        return sums


async def find_released(connection: Conn, *, limit: int) -> list[ReleasedItem]:
    """What can be taken back of merchants, the latest first."""
    return [
        ReleasedItem(
            cause=row["cause"],
            merchant_id=row["merchant_id"],
            amount=row["amount"],
            day=clock.day_of(row["credited_at"]),
        )
        for row in await stored.find_released_to(connection, limit=limit)
    ]


async def find(connection: Conn, *, now: datetime) -> SuspenseList:
    """The connection is a snapshot of the database."""
    today = clock.day_of(now)
    items = []
    for row in await stored.find_open(connection):
        since = clock.day_of(row["since"])
        items.append(SuspenseItem(**dict(row) | {"since": since, "days": (today - since).days}))
    return SuspenseList(items=items, balance=await store.find_suspense(connection))
