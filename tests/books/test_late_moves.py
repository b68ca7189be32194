"""Moves that are committed after the close of their day: the books count them on the first open day, one by one."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from malipo.books.entry import Entry, EntryKind
from malipo.books.read_journal import ClosingBalances, Period, read_journal
from malipo.books.trial_balance import find_trial_balance
from malipo.db import Database, Tx
from malipo.invoices.store import fees
from malipo.ledger.accounts import Account, Move, Posting, Step
from malipo.ledger.store import wallets
from malipo.reconciliation.close.close_day import DayDoesNotAddUp
from malipo.reconciliation.close.late_moves import find_late
from malipo.reconciliation.close.verify import CloseFinding, verify
from tests.conftest import make_merchant
from tests.reconciliation.close.books import ENCRYPTION, MONDAY, THURSDAY, TUESDAY, WEDNESDAY, Books, at

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


def days_of(parts: list[Entry | ClosingBalances], cause: str) -> list[tuple[date, date | None]]:
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
    assert days_of(before, "txn_late") == []
    # Committed, and the next day is open: by the snapshot of the close.
    now = await journal(books, MONDAY, TUESDAY)
    assert days_of(now, "txn_late") == [(TUESDAY, MONDAY)]
    require_agreement(now, MONDAY)
    # The next day is closed: as its close has recorded it.
    await books.paid("R2", 300, at(TUESDAY))
    tuesday = await books.close(TUESDAY, **NO_STATEMENT)
    assert tuesday.late == {"float>wallet MPESA": 700}
    closed = await journal(books, MONDAY, TUESDAY)
    assert days_of(closed, "txn_late") == [(TUESDAY, MONDAY)]
    assert days_of(closed, books.payments["R1"]) == [(MONDAY, None)]
    require_agreement(closed, MONDAY, TUESDAY)
    # A period that begins after the closed day begins with what that close has.
    later = await journal(books, TUESDAY, TUESDAY)
    assert days_of(later, "txn_late") == [(TUESDAY, MONDAY)]
    require_agreement(later, TUESDAY)
    assert isinstance(opening := later[0], Entry)
    assert {(line.account.path.split(":")[1], line.amount) for line in opening.lines} == {
        ("Floats", 5000),
        ("Wallets", -4990),
        ("Fees", -10),
    }


async def test_a_move_that_is_committed_after_two_closes_is_counted_once_by_the_third(books: Books) -> None:
    """One connection holds it open while another closes its day and the next one."""
    await books.paid("R1", 5000, at(MONDAY))
    async with open_commit(books, "txn_late", 700, at(MONDAY, "23:59")):
        await books.close(MONDAY, **NO_STATEMENT)
        await books.paid("R2", 300, at(TUESDAY))
        async with open_commit(books, "txn_of_tuesday", 40, at(TUESDAY, "23:59")):
            await books.close(TUESDAY, **NO_STATEMENT)
    # Committed: the books count both on the first open day, whichever period is asked for.
    for first, closed in ((MONDAY, [MONDAY, TUESDAY]), (TUESDAY, [TUESDAY]), (WEDNESDAY, [])):
        parts = await journal(books, first, WEDNESDAY)
        assert days_of(parts, "txn_late") == [(WEDNESDAY, MONDAY)], first
        assert days_of(parts, "txn_of_tuesday") == [(WEDNESDAY, TUESDAY)], first
        require_agreement(parts, *closed)
    await require_closes_agree(books, MONDAY, TUESDAY)
    # The third close counts and records both.
    wednesday = await books.close(WEDNESDAY, **NO_STATEMENT)
    assert wednesday.late == {"float>wallet MPESA": 740}
    assert wednesday.trial_balance == 0
    await books.paid("R3", 50, at(THURSDAY))
    thursday = await books.close(THURSDAY, **NO_STATEMENT)
    assert (thursday.late, thursday.balances["float MPESA"]) == ({}, -6090), "and the fourth has nothing of it"
    for first in (MONDAY, TUESDAY, WEDNESDAY, THURSDAY):
        parts = await journal(books, first, THURSDAY)
        assert days_of(parts, "txn_late") == ([(WEDNESDAY, MONDAY)] if first <= WEDNESDAY else []), first
        assert days_of(parts, "txn_of_tuesday") == ([(WEDNESDAY, TUESDAY)] if first <= WEDNESDAY else []), first
        require_agreement(parts, *[each for each in (MONDAY, TUESDAY, WEDNESDAY, THURSDAY) if each >= first])
    await require_closes_agree(books, MONDAY, TUESDAY, WEDNESDAY, THURSDAY)


async def test_a_fee_that_is_committed_after_the_next_close_is_on_one_invoice(books: Books) -> None:
    """Of the last day of a month, counted on the third day of the next one."""
    last, first, second, third = (date(2026, 8, 31) + timedelta(days=number) for number in range(4))
    await books.paid("R1", 5000, at(last))
    async with books.database.begin() as tx:
        locked = await wallets.lock(tx, [books.merchant_id])
        moves = [Move(Account.FLOAT, Account.FEES, 7, "MPESA")]
        await wallets.post(tx, locked, [Posting(books.merchant_id, "txn_fee", Step.END, moves)], now=at(last, "23:00"))
        await books.close(last, **NO_STATEMENT)
        await books.close(first)
        await books.close(second)
    expected = {8: 10, 9: 7}
    assert {month: await _fees_of(books, month) for month in expected} == expected, "it waits for the fourth close"
    await books.close(third, **NO_STATEMENT)
    for number in range(4, 31):
        await books.close(date(2026, 9, number))
    assert {month: await _fees_of(books, month) for month in expected} == expected
    # What is given back of it in October corrects September's invoice.
    await books.post("txn_fee", Step.CONTRADICTION, [Move(Account.FEES, Account.SUSPENSE, 7)], at(date(2026, 10, 1)))
    async with books.database.snapshot() as connection:
        [given_back] = (await fees.find(connection, date(2026, 10, 1)))[books.merchant_id]
    assert (given_back.given_back_of, given_back.counted_on, given_back.amount) == (last, third, 7)


async def _fees_of(books: Books, month: int) -> int:
    async with books.database.snapshot() as connection:
        found = await fees.find(connection, date(2026, month, 1))
    return sum(each.amount for sums in found.values() for each in sums)


async def require_closes_agree(books: Books, *days: date) -> None:
    """The trial balance of each closed day, and `close verify --ledger`."""
    async with books.database.snapshot() as connection:
        for day in days:
            assert (await find_trial_balance(connection, day)).differing == {}, day
        assert (await verify(connection, ENCRYPTION, with_ledger=True)).findings == []


async def test_after_a_loaded_dump_nothing_that_was_counted_is_taken_for_late(books: Books) -> None:
    """Every row is of the transaction that has loaded it: no snapshot of before shows it."""
    await books.paid("R1", 5000, at(MONDAY))
    await books.close(MONDAY, **NO_STATEMENT)
    await books.paid("R2", 300, at(TUESDAY))
    await books.close(TUESDAY, **NO_STATEMENT)
    async with books.database.begin() as tx:
        await tx.execute("UPDATE day_close_snapshots SET snapshot = '3:3:'")
    assert (await books.close(WEDNESDAY)).late == {}
    await books.paid("R9", 90, at(MONDAY, "23:58"))
    async with books.database.begin() as tx:
        await tx.execute("UPDATE day_close_snapshots SET snapshot = '3:3:'")
    parts = await journal(books, MONDAY, WEDNESDAY)
    assert days_of(parts, books.payments["R9"]) == [(MONDAY, None)], "which one is late is not known any more"
    with pytest.raises(DayDoesNotAddUp):
        await books.close(THURSDAY)
    async with books.database.snapshot() as connection:
        found = (await verify(connection, ENCRYPTION, with_ledger=True)).findings
    assert [each.code for each in found] == [CloseFinding.MOVES], "it says so"


@pytest.mark.parametrize("is_closed", [False, True])
async def test_late_moves_that_cannot_be_separated_are_one_entry_out_of_the_day_and_one_into_the_next(
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
    assert days_of(parts, "txn_late") == [(MONDAY, None)]
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
    assert days_of(await journal(books, MONDAY, TUESDAY), books.payments["R2"]) == [(TUESDAY, MONDAY)]
    assert days_of(await journal(books, MONDAY, TUESDAY), books.payments["R1"]) == [(MONDAY, None)]


async def test_a_day_without_late_moves_has_none(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.close(MONDAY, **NO_STATEMENT)
    await books.close(TUESDAY)
    async with books.database.snapshot() as connection:
        for day in (MONDAY, TUESDAY, WEDNESDAY):
            late = await find_late(connection, day)
            assert (late.is_late, late.routes) == ("false", {})
        assert await connection.fetchval("SELECT count(*) FROM day_close_snapshots") == 2
