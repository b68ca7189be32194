"""A merchant's statement: the lines of the wallet, each with the balance after it. Pure."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from malipo import clock
from malipo.ledger.accounts import Account
from malipo.rollups.bucket_tree import Tree
from malipo.table_files.csv_export import csv_lines


class WalletLineKind(StrEnum):
    COLLECTION = "COLLECTION"  # a customer paid
    PAYOUT = "PAYOUT"  # taken for a payout, with its fee
    PAYOUT_RETURNED = "PAYOUT_RETURNED"  # given back, because the payout failed or was cancelled
    TOP_UP = "TOP_UP"  # the merchant's money arrived at the bank
    SETTLEMENT = "SETTLEMENT"  # for a settlement to the merchant's bank account, with its fee
    CORRECTION_CREDIT = "CORRECTION_CREDIT"  # after a contradiction, in the merchant's favour
    CORRECTION_DEBIT = "CORRECTION_DEBIT"  # after a contradiction, at the merchant's cost
    SETTLEMENT_RETURNED = "SETTLEMENT_RETURNED"  # given back, because it was cancelled or the bank returned it


Route = tuple[Account, Account]

# The accounts between which a move of each kind goes.
ROUTES: Mapping[WalletLineKind, tuple[Route, ...]] = {
    WalletLineKind.COLLECTION: ((Account.FLOAT, Account.WALLET),),
    WalletLineKind.PAYOUT: ((Account.WALLET, Account.IN_FLIGHT),),
    WalletLineKind.PAYOUT_RETURNED: ((Account.IN_FLIGHT, Account.WALLET),),
    WalletLineKind.TOP_UP: ((Account.BANK, Account.WALLET),),
    # An operator's booking goes to the bank at once.
    WalletLineKind.SETTLEMENT: ((Account.WALLET, Account.IN_SETTLEMENT), (Account.WALLET, Account.BANK)),
    WalletLineKind.CORRECTION_CREDIT: ((Account.SUSPENSE, Account.WALLET),),
    WalletLineKind.CORRECTION_DEBIT: ((Account.WALLET, Account.SUSPENSE),),
    WalletLineKind.SETTLEMENT_RETURNED: ((Account.IN_SETTLEMENT, Account.WALLET),),
}
KINDS = {route: kind for kind, routes in ROUTES.items() for route in routes}


@dataclass(frozen=True, slots=True)
class WalletLine:
    number: int
    kind: WalletLineKind
    change: int  # of the wallet; negative: taken out
    balance: int  # of the wallet, after this line
    cause_id: str
    reference: str  # the transaction's, the settlement's, or the bank's
    at: datetime
    is_refund: bool = False  # of a payout: it gives a collection back


@dataclass(frozen=True, slots=True, kw_only=True)
class WalletLineFilter:
    first: datetime | None = None
    last: datetime | None = None
    kind: WalletLineKind | None = None


# Lines are counted by their kind, in buckets.
TREE = Tree(leaf_bits=8)
# The numbers are stored, so their meaning never changes. New ones are added at the end.
CATEGORIES = {
    WalletLineKind.COLLECTION: 1,
    WalletLineKind.PAYOUT: 2,
    WalletLineKind.PAYOUT_RETURNED: 3,
    WalletLineKind.TOP_UP: 4,
    WalletLineKind.SETTLEMENT: 5,
    WalletLineKind.CORRECTION_CREDIT: 6,
    WalletLineKind.CORRECTION_DEBIT: 7,
    WalletLineKind.SETTLEMENT_RETURNED: 8,
}

COLUMNS = ("line", "kind", "amount", "balanceAfter", "causeId", "reference", "createdAt")


def row_of(line: WalletLine) -> tuple[int | str, ...]:
    """A line as a row of the file, under COLUMNS."""
    return (line.number, line.kind, line.change, line.balance, line.cause_id, line.reference, clock.iso(line.at))


async def csv_of(pieces: AsyncIterator[list[WalletLine]]) -> AsyncIterator[str]:
    """The statement as a file, piece by piece, however long it is."""
    yield csv_lines([COLUMNS])
    async for lines in pieces:
        yield csv_lines(row_of(line) for line in lines)
