"""Summary vouchers: one for each closed day, with what each account was debited and credited on it.

Programs for bookkeeping take hundreds of lines, not millions, so merchants' accounts are summed. A day that is not
closed has no voucher: more may be dated into it, and nobody would notice what was imported too early.
"""

from collections.abc import AsyncIterator
from datetime import date, timedelta

import msgspec

from malipo.books.chart import Division, SubAccount, chart_account
from malipo.books.entry import Entry, EntryKind
from malipo.books.read_journal import ClosingBalances, Period, read_journal
from malipo.db import Conn
from malipo.errors import Code, Refusal
from malipo.ledger.store.closed_days import last_closed_day
from malipo.reconciliation.close.store.closes import find_first_day


class VoucherRefusal(Code):
    NOT_CLOSED = "voucher_day_not_closed"


class VoucherLine(msgspec.Struct, frozen=True):
    account: SubAccount
    amount: int  # a debit above zero, a credit below: an account has at most one line of each


class Voucher(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    lines: tuple[VoucherLine, ...]
    is_opening: bool = False  # the balances with which the period begins

    @property
    def number(self) -> str:
        """The same each time, so that a program notices a voucher that is imported twice."""
        return f"MALIPO-{self.day:%Y%m%d}{'-OPENING' if self.is_opening else ''}"


async def read_vouchers(connection: Conn, period: Period, *, with_opening: bool) -> AsyncIterator[Voucher]:
    """The vouchers of a period of closed days (`require_closed`)."""
    sums = _Sums()
    async for part in read_journal(connection, period):
        if isinstance(part, ClosingBalances):
            if lines := sums.take():
                yield Voucher(day=part.day, lines=lines)
        elif part.kind is not EntryKind.OPENING:
            sums.add(part)
        elif with_opening:
            sums.add(part)
            yield Voucher(day=part.day, lines=sums.take(), is_opening=True)


async def require_closed(connection: Conn, period: Period) -> None:
    first, last = await find_first_day(connection), await last_closed_day(connection)
    if first is None or last is None or period.last > last:
        open_day = period.first if last is None else max(period.first, last + timedelta(days=1))
        raise Refusal(code=VoucherRefusal.NOT_CLOSED, day=open_day)
    if period.first < first:
        raise Refusal(code=VoucherRefusal.NOT_CLOSED, day=period.first)


class _Sums:
    """What a day's entries debit and credit, by account."""

    def __init__(self) -> None:
        self._amounts: dict[tuple[SubAccount, bool], int] = {}

    def add(self, entry: Entry) -> None:
        for line in entry.lines:
            account = line.account
            if chart_account(account.account).division is Division.MERCHANT:
                account = account.whole
            side = (account, line.amount < 0)
            self._amounts[side] = self._amounts.get(side, 0) + line.amount

    def take(self) -> tuple[VoucherLine, ...]:
        """The lines: debits first, each side by code."""
        sides = sorted(self._amounts, key=lambda each: (each[1], each[0]))
        lines = tuple(VoucherLine(account, self._amounts[account, is_credit]) for account, is_credit in sides)
        self._amounts.clear()
        return lines
