"""A merchant's statement: the lines of the wallet, each with the balance after it. Pure."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from malipo import clock
from malipo.counts import store as rollups
from malipo.counts.bucket_tree import Tree, add_up
from malipo.counts.store import Rollup
from malipo.db import Conn, Tx
from malipo.ledger.accounts import Account
from malipo.table_files.csv_export import csv_lines


class WalletLineKind(StrEnum):
    COLLECTION = "COLLECTION"  # a customer paid
    PAYOUT = "PAYOUT"  # taken for a payout, with its fee
    PAYOUT_RETURNED = "PAYOUT_RETURNED"  # given back, because the payout failed or was cancelled
    TOP_UP = "TOP_UP"  # the merchant's money arrived at the bank
    SETTLEMENT = "SETTLEMENT"  # sent to the merchant's bank account
    CORRECTION_CREDIT = "CORRECTION_CREDIT"  # after a contradiction, in the merchant's favour
    CORRECTION_DEBIT = "CORRECTION_DEBIT"  # after a contradiction, at the merchant's cost


# Between which accounts a move of each kind goes.
ROUTES: Mapping[WalletLineKind, tuple[Account, Account]] = {
    WalletLineKind.COLLECTION: (Account.FLOAT, Account.WALLET),
    WalletLineKind.PAYOUT: (Account.WALLET, Account.IN_FLIGHT),
    WalletLineKind.PAYOUT_RETURNED: (Account.IN_FLIGHT, Account.WALLET),
    WalletLineKind.TOP_UP: (Account.BANK, Account.WALLET),
    WalletLineKind.SETTLEMENT: (Account.WALLET, Account.BANK),
    WalletLineKind.CORRECTION_CREDIT: (Account.SUSPENSE, Account.WALLET),
    WalletLineKind.CORRECTION_DEBIT: (Account.WALLET, Account.SUSPENSE),
}
KINDS = {route: kind for kind, route in ROUTES.items()}


@dataclass(frozen=True, slots=True)
class WalletLine:
    number: int
    kind: WalletLineKind
    change: int  # of the wallet; negative: taken out
    balance: int  # of the wallet, after this line
    cause_id: str
    reference: str  # the transaction's, or the bank's
    at: datetime
    is_refund: bool = False  # of a payout: it gives a collection back


@dataclass(frozen=True, slots=True, kw_only=True)
class WalletLineFilter:
    first: datetime | None = None
    last: datetime | None = None
    kind: WalletLineKind | None = None


# Counts statement lines by their kind, after they were written. Readers read uncounted lines themselves.


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
}
_MERCHANTS = 50
_LINES = 2000


async def count(tx: Tx, *, least: int) -> bool:
    """Count for the merchants with the most uncounted lines. Returns whether more may be left."""
    behind = await _find_behind(tx, least=least)
    if not behind:
        return False
    positions = await rollups.lock_positions(tx, Rollup.STATEMENT, behind)
    each = max(_LINES // len(behind), least)
    # Another worker may have counted since we looked, but a position never goes back.
    new_positions = {
        merchant_id: max(position, min(behind[merchant_id], position + each))
        for merchant_id, position in positions.items()
    }
    rows = await tx.fetch(
        """
        SELECT m.merchant_id, m.statement_line, m.source, m.target
        FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS span (merchant_id, after, last)
        JOIN moves m ON m.merchant_id = span.merchant_id
                    AND m.statement_line > span.after AND m.statement_line <= span.last
        """,
        list(positions),
        list(positions.values()),
        list(new_positions.values()),
    )
    things = (
        (row["merchant_id"], row["statement_line"], CATEGORIES[KINDS[Account(row["source"]), Account(row["target"])]])
        for row in rows
    )
    await rollups.add(tx, Rollup.STATEMENT, add_up(TREE, things))
    await rollups.set_positions(tx, Rollup.STATEMENT, new_positions)
    return new_positions != positions


async def _find_behind(connection: Conn, *, least: int) -> dict[str, int]:
    """The merchants with at least so many lines that are not counted, and their last line."""
    rows = await connection.fetch(
        """
        SELECT w.merchant_id, w.statement_lines FROM wallets w
        LEFT JOIN rollup_positions m ON m.merchant_id = w.merchant_id AND m.rollup = $1
        WHERE w.statement_lines - coalesce(m.position, 0) >= $2
        ORDER BY w.statement_lines - coalesce(m.position, 0) DESC LIMIT $3
        """,
        Rollup.STATEMENT,
        least,
        _MERCHANTS,
    )
    return {row["merchant_id"]: row["statement_lines"] for row in rows}


# The columns of a statement, and the statement as a CSV file. Pure.


COLUMNS = ("line", "kind", "amount", "balanceAfter", "causeId", "reference", "createdAt")


def row_of(line: WalletLine) -> tuple[int | str, ...]:
    """A line under COLUMNS."""
    return (line.number, line.kind, line.change, line.balance, line.cause_id, line.reference, clock.iso(line.at))


async def csv_of(pieces: AsyncIterator[list[WalletLine]]) -> AsyncIterator[str]:
    """The statement as a file, piece by piece, however long it is."""
    yield csv_lines([COLUMNS])
    async for lines in pieces:
        yield csv_lines(row_of(line) for line in lines)
