"""The bank's balance at the end of a month beside that of the ledger, and each item that is on one side only. In cents.

A line of the bank and what the books have of it cancel each other if both are of the month or before it. It does not
matter when somebody found that they belong together. What is on one side only for longer than money takes is not called
on its way.
"""

from collections.abc import Sequence
from datetime import date
from enum import StrEnum

import msgspec

from malipo.db import Conn
from malipo.month_end import bank_reconciliation_store as store
from malipo.month_end.month import Month

# A transfer of Friday is at the bank on Monday, or on Tuesday after a holiday. What is older is not on its way.
ON_ITS_WAY_DAYS = 4


class BankItemKind(StrEnum):
    NOT_IN_BOOKS = "not_in_books"  # a line that the books have later, or not at all
    ON_ITS_WAY = "on_its_way"  # in the books of the last days, and not at the bank
    OURS_ONLY = "ours_only"  # the same for longer: somebody must ask


class BankItem(msgspec.Struct, frozen=True, kw_only=True):
    kind: BankItemKind
    account: str  # of a line: our account
    day: date
    cents: int  # what it is in the difference of bank and ledger
    reference: str
    subject: str  # the settlement or the booking
    merchant_id: str


class BankReconciliation(msgspec.Struct, frozen=True, kw_only=True):
    accounts: Sequence[tuple[str, int]]  # our accounts, with what the bank's statements say
    ledger: int
    before: int  # what the accounts held before their first statement, beyond the opening balances that are booked
    items: Sequence[BankItem]
    cents: int  # of bookings, that have not become a shilling

    @property
    def bank(self) -> int:
        return sum(cents for _, cents in self.accounts)

    @property
    def unexplained(self) -> int:
        """Nothing, if every line and every movement of the ledger has its place."""
        return self.bank - self.ledger - self.before - sum(each.cents for each in self.items) - self.cents


async def find_bank_reconciliation(connection: Conn, month: Month, *, ledger: int) -> BankReconciliation:
    """`ledger` is what the books say that the bank holds at the end of the month, in shillings."""
    accounts = await store.find_accounts(connection, month.last)
    lines = await store.find_lines_without_movement(connection, month)
    movements = await store.find_movements_without_line(connection, month)
    return BankReconciliation(
        accounts=[(row["number"], row["opening"] + row["moved"]) for row in accounts],
        ledger=100 * ledger,
        before=sum(row["opening"] for row in accounts) - await store.sum_opening_balances(connection, month.last),
        items=[
            *(_item(BankItemKind.NOT_IN_BOOKS, row["cents"], row) for row in lines),
            *(_item(_kind(row["day"], month.last), -row["cents"], row) for row in movements),
        ],
        cents=await store.sum_cents(connection, month.last),
    )


def _kind(day: date, last: date) -> BankItemKind:
    return BankItemKind.ON_ITS_WAY if (last - day).days < ON_ITS_WAY_DAYS else BankItemKind.OURS_ONLY


def _item(kind: BankItemKind, cents: int, row: store.OpenRow) -> BankItem:
    names = ("account", "day", "reference", "subject", "merchant_id")
    return BankItem(kind=kind, cents=cents, **{name: row[name] for name in names})
