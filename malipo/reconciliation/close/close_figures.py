"""The figures of a close, as sections and rows: the page, the paper, the spreadsheet and the terminal show these. Pure.

Each figure is computed once, here or in the close itself. The four doors choose only words and places.
"""

from collections.abc import Sequence
from datetime import date
from enum import StrEnum

import msgspec

from malipo.reconciliation.close.safeguarding import Safeguarding, safeguarding_of
from malipo.reconciliation.close.signed_content import (
    ChannelClose,
    CloseReading,
    ColumnRow,
    DayClose,
    OpenItem,
    OpenReason,
)

_EDGES = ("opening", "closing")


class CloseOutcome(StrEnum):
    AGREES = "agrees"
    EXPLAINED = "explained"  # every shilling of the difference
    UNEXPLAINED = "unexplained"
    WITHOUT_STATEMENT = "without_statement"  # a channel has none


class AccountReading(msgspec.Struct, frozen=True):
    """The last reading of an account, beside its statement's balance at that moment."""

    account: str
    reading: CloseReading


class OpenSum(msgspec.Struct, frozen=True):
    reason: OpenReason
    count: int
    amount: int


class ChannelSection(msgspec.Struct, frozen=True, kw_only=True):
    channel: str
    outcome: CloseOutcome
    rows: Sequence[ColumnRow]  # all of them, from the opening to the closing
    accounts: Sequence[tuple[str, int]]  # the balance of each account by its statement
    readings: Sequence[AccountReading]
    open: Sequence[OpenSum]
    items: Sequence[OpenItem]  # the largest
    difference: int | None  # statement minus ledger, at the end of the day
    unexplained: int

    @property
    def rows_with_amounts(self) -> list[ColumnRow]:
        """The rows without kinds of changes that did not occur."""
        return [each for each in self.rows if each.statement or each.ledger or self.is_edge(each)]

    @staticmethod
    def is_edge(row: ColumnRow) -> bool:
        return row.name in _EDGES


class BalanceRow(msgspec.Struct, frozen=True):
    account: str
    change: int  # in the day
    balance: int  # at its end


class CloseSheet(msgspec.Struct, frozen=True, kw_only=True):
    day: date
    outcome: CloseOutcome
    without: Sequence[str]  # channels that moved and have no statement
    channels: Sequence[ChannelSection]
    balances: Sequence[BalanceRow]
    wallets: int
    in_flight: int
    trial_balance: int
    owed: int
    safeguarding: Safeguarding

    @property
    def open_count(self) -> int:
        return sum(total.count for each in self.channels for total in each.open)

    @property
    def exception_count(self) -> int:
        return sum(total.count for each in self.channels for total in each.open if total.reason is OpenReason.EXCEPTION)

    @property
    def unexplained(self) -> int:
        return sum(each.unexplained for each in self.channels)

    @property
    def stated(self) -> int:
        """The balances at the end of the day by the statements."""
        return sum(row.statement or 0 for row in self._closings)

    @property
    def booked(self) -> int:
        """The balances of the same accounts by the ledger."""
        return sum(row.ledger for row in self._closings)

    @property
    def difference(self) -> int:
        return self.stated - self.booked

    @property
    def _closings(self) -> list[ColumnRow]:
        """The closing rows of channels with a statement."""
        return [each.rows[-1] for each in self.channels if each.rows[-1].statement is not None]

    @property
    def items(self) -> list[tuple[str, OpenItem]]:
        """The open items with their channels, the largest first."""
        found = [(each.channel, item) for each in self.channels for item in each.items]
        return sorted(found, key=lambda each: -abs(each[1].amount))


def sheet_of(close: DayClose) -> CloseSheet:
    return CloseSheet(
        day=close.day,
        outcome=CloseOutcome.AGREES
        if close.agrees
        else CloseOutcome.EXPLAINED
        if close.adds_up
        else CloseOutcome.UNEXPLAINED,
        without=close.without,
        channels=[section_of(each) for each in close.channels],
        balances=[BalanceRow(name, close.changes.get(name, 0), each) for name, each in close.balances.items()],
        wallets=close.wallets,
        in_flight=close.in_flight,
        trial_balance=close.trial_balance,
        owed=close.owed,
        safeguarding=safeguarding_of(close),
    )


def section_of(channel: ChannelClose) -> ChannelSection:
    return ChannelSection(
        channel=channel.channel,
        outcome=_outcome_of(channel),
        rows=channel.rows,
        accounts=list(channel.accounts.items()),
        readings=[AccountReading(account, reading) for account, reading in channel.last_readings],
        open=[OpenSum(reason, total.count, total.amount) for reason, total in channel.open.items()],
        items=channel.items,
        difference=channel.difference,
        unexplained=channel.unexplained,
    )


def _outcome_of(channel: ChannelClose) -> CloseOutcome:
    if not channel.adds_up:
        return CloseOutcome.UNEXPLAINED
    if channel.statement is None:
        return CloseOutcome.WITHOUT_STATEMENT
    return CloseOutcome.AGREES if channel.agrees else CloseOutcome.EXPLAINED
