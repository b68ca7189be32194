"""Reads the journal of a period, day by day: its opening balances, each entry, and what each closed day ended with.

All of it is read in one snapshot of the database, and a day's moves one after the other: memory holds the balances of
accounts, and no more moves than are fetched at once.
"""

from collections.abc import AsyncIterator, Mapping
from datetime import date, datetime, timedelta

import msgspec

from malipo.books import store
from malipo.books.chart import SubAccount
from malipo.books.entry import Entry, EntryKind, Line, MovedAmount, kind_of, kind_of_house_booking, lines_of
from malipo.books.trial_balance import Balances, balances_before, differences, late_lines
from malipo.db import Conn, Row
from malipo.errors import Code, Invalid
from malipo.reconciliation.close.business_day import end_of
from malipo.reconciliation.close.late_moves import LateMoves, find_late
from malipo.reconciliation.close.store import closes


class JournalRefusal(Code):
    ENDS_BEFORE = "journal_ends_before_it_begins"


class Period(msgspec.Struct, frozen=True):
    """Whole days in Dar es Salaam, both included."""

    first: date
    last: date

    @classmethod
    def of(cls, first: date, last: date) -> "Period":
        if last < first:
            raise Invalid(code=JournalRefusal.ENDS_BEFORE, first=first, last=last)
        return cls(first, last)

    @property
    def days(self) -> list[date]:
        return [self.first + timedelta(days=number) for number in range((self.last - self.first).days + 1)]


class ClosingBalances(msgspec.Struct, frozen=True):
    """What a closed day ended with: the accounts that moved, and the sums that its close has signed."""

    day: date
    balances: Mapping[SubAccount, int]
    signed: Mapping[str, int]  # of every account of the ledger, as the ledger signs it
    differing: Mapping[str, tuple[int, int]]


JournalPart = Entry | ClosingBalances


async def read_journal(connection: Conn, period: Period) -> AsyncIterator[JournalPart]:
    await store.allow_slow_readers(connection)
    late_before = await find_late(connection, period.first - timedelta(days=1))
    balances = await balances_before(connection, period.first, late_before)
    if balances:
        lines = tuple(Line(each, amount) for each, amount in balances.items())
        yield Entry(day=period.first, kind=EntryKind.OPENING, lines=lines)
    for day in period.days:
        late, moved = await find_late(connection, day), set[SubAccount]()
        async for entry in _entries_of(connection, day, late, late_before, until=end_of(period.last)):
            _count(entry, balances, moved)
            yield entry
        if (closed := await closes.find(connection, day)) is not None:
            ended = {each: balances.get(each, 0) for each in sorted(moved)}
            signed = closed.close.balances
            yield ClosingBalances(day, ended, signed, differences(balances, signed))
        late_before = late


def _count(entry: Entry, balances: Balances, moved: set[SubAccount]) -> None:
    for line in entry.lines:
        balances[line.account] = balances.get(line.account, 0) + line.amount
        moved.add(line.account)


async def _entries_of(
    connection: Conn, day: date, late: LateMoves, late_before: LateMoves, *, until: datetime
) -> AsyncIterator[Entry]:
    """The entries of a day. The moves of one step come one after the other."""
    step: list[Row] = []
    async for row in store.moves_of(connection, day, late, late_before, until=until):
        if step and _step_of(row) != _step_of(step[0]):
            yield _entry_of(step, day)
            step = []
        step.append(row)
    if step:
        yield _entry_of(step, day)
    async for row in store.house_bookings_of(connection, day):
        yield _entry_of_house(row, day)
    # Late moves that cannot be separated are among the moves of their own day: out of it, and into the next one.
    if into := late_lines(late_before):
        yield Entry(day=day, kind=EntryKind.LATE, lines=into, late_of=late_before.day)
    if out := late_lines(late):
        lines = tuple(Line(each.account, -each.amount) for each in reversed(out))
        yield Entry(day=day, kind=EntryKind.LATE, lines=lines, late_of=day)


def _step_of(row: Row) -> tuple[str, str, str, int]:
    return row["merchant_id"], row["cause_id"], row["step"], row["ordinal"]


def _moved(row: Row) -> MovedAmount:
    return MovedAmount(row["source"], row["target"], row["channel"], row["amount"])


def _entry_of(step: list[Row], day: date) -> Entry:
    first = step[0]
    moves = [_moved(each) for each in step]
    ordinal = f" {first['ordinal']}" if first["step"] in ("contradiction", "resolution") else ""
    return Entry(
        day=day,
        kind=kind_of(first["step"], moves[0]),
        lines=lines_of(moves, first["merchant_id"]),
        id=f"{first['cause_id']} {first['step']}{ordinal}",
        merchant_id=first["merchant_id"],
        at=first["created_at"],
        reference=first["reference"],
        receipt=first["receipt"],
        late_of=first["own_day"] if first["is_late"] else None,
        refund_of=first["refund_of"],
        is_adopted=first["is_adopted"],
        evidence=first["evidence"],
    )


def _entry_of_house(row: Row, day: date) -> Entry:
    lines = lines_of([_moved(row)], "")
    return Entry(
        day=day,
        kind=kind_of_house_booking(row["kind"]),
        lines=lines,
        id=row["id"],
        reference=row["reference"],
        receipt=row["receipt"],
        evidence=row["evidence"],
    )
