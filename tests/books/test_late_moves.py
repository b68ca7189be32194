"""Moves that are committed after the close of their day: the books count them on the first open day, one by one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime
from pathlib import Path

import pytest

from malipo.books.entry import Entry, EntryKind
from malipo.books.read_journal import ClosingBalances, Period, read_journal
from malipo.books.trial_balance import find_trial_balance
from malipo.db import Database, Tx
from malipo.ledger.accounts import Account, Move, Posting, Step
from malipo.ledger.store import wallets
from malipo.reconciliation.close.late_moves import find_late
from tests.conftest import make_merchant
from tests.reconciliation.close.books import MONDAY, TUESDAY, WEDNESDAY, Books, at

NO_STATEMENT = {"without": ["MPESA"], "reason": "portal away"}


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    return await Books.begin(database, tmp_path)


@asynccontextmanager
async def open_commit(books: Books, cause: str, amount: int, when: datetime) -> AsyncIterator[None]:
    """A customer's payment of another merchant, in a transaction that is open as long as the block lasts."""
    merchant = await make_merchant(books.database)
    async with books.database.begin() as tx:
        await _take(tx, merchant.id, cause, amount, when)
        yield


async def _take(tx: Tx, merchant_id: str, cause: str, amount: int, when: datetime) -> None:
    locked = await wallets.lock(tx, [merchant_id])
    moves = [Move(Account.FLOAT, Account.WALLET, amount, "MPESA")]
    await wallets.post(tx, locked, [Posting(merchant_id, cause, Step.END, moves)], now=when)


async def journal(books: Books, first: date, last: date) -> list[Entry | ClosingBalances]:
    async with books.database.snapshot() as connection:
        return [each async for each in read_journal(connection, Period(first, last))]


def told(parts: list[Entry | ClosingBalances], cause: str) -> list[tuple[date, date | None]]:
    """On which day the entries of a cause are, and of which closed day they are late."""
    entries = [each for each in parts if isinstance(each, Entry)]
    return [(each.day, each.late_of) for each in entries if each.id.startswith(cause)]


def require_agreement(parts: list[Entry | ClosingBalances], *days: date) -> None:
    closings = [each for each in parts if isinstance(each, ClosingBalances)]
    assert [each.day for each in closings] == list(days)
    assert [each.differing for each in closings] == [{}] * len(days)


async def test_a_move_that_is_committed_after_the_close_is_dated_the_next_day(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    async with open_commit(books, "txn_late", 700, at(MONDAY, "23:59")):
        await books.close(MONDAY, **NO_STATEMENT)
        before = await journal(books, MONDAY, TUESDAY)
    assert told(before, "txn_late") == []
    # Committed, and the next day is open: by the snapshot of the close.
    now = await journal(books, MONDAY, TUESDAY)
    assert told(now, "txn_late") == [(TUESDAY, MONDAY)]
    require_agreement(now, MONDAY)
    # The next day is closed: as its close has recorded it.
    await books.paid("R2", 300, at(TUESDAY))
    tuesday = await books.close(TUESDAY, **NO_STATEMENT)
    assert tuesday.late == {"float>wallet MPESA": 700}
    closed = await journal(books, MONDAY, TUESDAY)
    assert told(closed, "txn_late") == [(TUESDAY, MONDAY)]
    assert told(closed, books.payments["R1"]) == [(MONDAY, None)]
    require_agreement(closed, MONDAY, TUESDAY)
    # A period that begins after the closed day begins with what that close has.
    later = await journal(books, TUESDAY, TUESDAY)
    assert told(later, "txn_late") == [(TUESDAY, MONDAY)]
    require_agreement(later, TUESDAY)
    assert isinstance(opening := later[0], Entry)
    assert {(line.account.path.split(":")[1], line.amount) for line in opening.lines} == {
        ("Floats", 5000),
        ("Wallets", -4990),
        ("Fees", -10),
    }


@pytest.mark.parametrize("is_closed", [False, True])
async def test_late_moves_that_cannot_be_told_apart_are_one_entry_out_of_the_day_and_one_into_the_next(
    books: Books, is_closed: bool
) -> None:
    """As after a dump that was loaded again, and of days that a version without snapshots has closed."""
    await books.paid("R0", 1000, at(MONDAY))
    async with open_commit(books, "txn_late", 700, at(MONDAY, "23:59")):
        await books.close(MONDAY, **NO_STATEMENT)
    async with books.database.begin() as tx:
        # In a loaded dump every row is of the transaction that has loaded it.
        await tx.execute("UPDATE day_close_snapshots SET snapshot = '3:3:'")
    await books.paid("R1", 5000, at(MONDAY, "23:58"))
    if is_closed:
        await books.close(TUESDAY, **NO_STATEMENT)
    async with books.database.begin() as tx:
        assert await tx.fetchval("SELECT count(*) FROM late_moves") == 0, "its close does not know which they are"
        await tx.execute("DELETE FROM day_close_snapshots")
        await tx.execute("DELETE FROM late_moves")
    parts = await journal(books, MONDAY, TUESDAY)
    assert told(parts, "txn_late") == [(MONDAY, None)]
    require_agreement(parts, *([MONDAY, TUESDAY] if is_closed else [MONDAY]))
    late = [each for each in parts if isinstance(each, Entry) and each.kind is EntryKind.LATE]
    assert [(each.day, each.late_of) for each in late] == [(MONDAY, MONDAY), (TUESDAY, MONDAY)]
    lines = [{(line.account.path, line.amount) for line in each.lines} for each in late]
    assert lines[1] == {
        ("Assets:Floats:MPESA", 5700),
        ("Liabilities:Wallets:Late", -5690),
        ("Income:Fees", -10),
    }
    assert lines[0] == {(path, -amount) for path, amount in lines[1]}
    # A period that begins with the next day, and a trial balance, agree with the close too.
    async with books.database.snapshot() as connection:
        monday = await find_trial_balance(connection, MONDAY)
        tuesday = await find_trial_balance(connection, TUESDAY)
    assert (monday.differing, tuesday.differing) == ({}, {})
    assert {each.path: amount for each, amount in monday.whole.items() if amount} == {
        "Assets:Floats:MPESA": 1000,
        "Liabilities:Wallets": -990,
        "Income:Fees": -10,
    }
    assert {each.path: amount for each, amount in tuesday.whole.items()} == {
        "Assets:Floats:MPESA": 6700,
        "Liabilities:Wallets": -6680,
        "Income:Fees": -20,
    }


async def test_a_snapshot_of_an_earlier_half_of_transaction_ids_is_compared_with_its_own(books: Books) -> None:
    """Transaction ids have 64 bits, and rows have the lower 32 of them."""
    await books.paid("R1", 5000, at(MONDAY))
    await books.close(MONDAY, **NO_STATEMENT)
    await books.paid("R2", 700, at(MONDAY, "23:59"))
    around = 2**32
    async with books.database.begin() as tx:
        await tx.execute(
            """
            UPDATE day_close_snapshots SET snapshot = (
                ((split_part(snapshot::text, ':', 1)::bigint + $1) || ':' ||
                 (split_part(snapshot::text, ':', 2)::bigint + $1) || ':')::pg_snapshot)
            """,
            around,
        )
    async with books.database.snapshot() as connection:
        late = await find_late(connection, MONDAY)
    assert late.routes == {}
    assert told(await journal(books, MONDAY, TUESDAY), books.payments["R2"]) == [(TUESDAY, MONDAY)]
    assert told(await journal(books, MONDAY, TUESDAY), books.payments["R1"]) == [(MONDAY, None)]


async def test_a_day_without_late_moves_has_none(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.close(MONDAY, **NO_STATEMENT)
    await books.close(TUESDAY)
    async with books.database.snapshot() as connection:
        for day in (MONDAY, TUESDAY, WEDNESDAY):
            late = await find_late(connection, day)
            assert (late.is_late, late.routes) == ("false", {})
        assert await connection.fetchval("SELECT count(*) FROM day_close_snapshots") == 2
