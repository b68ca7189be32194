"""The check compares the log with closed days: what a day's close says that floats moved is in the log."""

from datetime import date, datetime, timedelta
from pathlib import Path

import pytest

from malipo.db import Database
from malipo.receipts import check
from malipo.receipts.append import append_new
from malipo.receipts.check import CheckResult, LogFinding
from tests.reconciliation.close.books import MONDAY, TUESDAY, Books, at


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    """Two closed days, with a contradiction on the second, and all payments in the log."""
    books = await Books.begin(database, tmp_path)
    await books.paid("R1", 5000, at(MONDAY))
    await books.paid("R2", 3000, at(MONDAY, "23:59"))
    await books.paid_out("R3", 2000, at(MONDAY, "13:00"))
    await books.statement(
        MONDAY, [("R1", 5000, "12:00", "money"), ("R2", 3000, "23:59", "money"), ("R3", -2000, "13:00", "money")]
    )
    await books.match("R1", "R2", "R3")
    await books.close(MONDAY)
    await books.paid("R4", 700, at(TUESDAY, "00:00:01"))
    await books.statement(TUESDAY, [("R4", 700, "00:00:01", "money")])
    await books.match("R4")
    await books.close(TUESDAY)
    async with database.begin() as tx:
        await tx.execute("INSERT INTO feeds (merchant_id, last_number, pruned_to) VALUES ($1, 1, 1)", books.merchant_id)
    while await append_new(database, log_name="pay.example.com/log"):
        pass
    return books


async def checked(database: Database) -> CheckResult:
    async with database.snapshot() as connection:
        return await check.check(connection)


async def test_closed_days_are_in_the_log(books: Books) -> None:
    found = await checked(books.database)
    assert found.findings == []
    assert (found.days, found.facts, found.behind) == (2, 4, 0)


@pytest.mark.parametrize(
    ("written", "number", "days"),
    [
        (at(TUESDAY, "23:59"), 2, 1),
        (at(TUESDAY, "23:59"), None, 1),
        (at(MONDAY, "00:00:01"), 2, 0),
        (at(TUESDAY + timedelta(days=1), "00:00:01"), 2, 2),
    ],
)
async def test_days_before_the_oldest_event_that_the_log_has_not_read_are_compared(
    books: Books, written: datetime, number: int | None, days: int
) -> None:
    async with books.database.begin() as tx:
        await tx.execute(
            "INSERT INTO events (id, merchant_id, transaction_id, event, body, created_at, feed_number)"
            " VALUES ('evt_1', $1, $2, 'payment.completed', '{}', $3, $4)",
            books.merchant_id, books.payments["R4"], written, number,
        )  # fmt: skip
        await tx.execute("UPDATE feeds SET last_number = coalesce($1, last_number)", number)
    found = await checked(books.database)
    assert (found.days, found.findings) == (days, [])


async def test_no_day_is_compared_while_the_feed_has_lost_events_that_the_log_has_not_read(books: Books) -> None:
    async with books.database.begin() as tx:
        await tx.execute("UPDATE feeds SET last_number = 5, pruned_to = 5")
    assert (await checked(books.database)).days == 0


async def test_a_day_of_which_the_log_says_something_else_is_found(books: Books) -> None:
    async with books.database.begin() as tx:
        await tx.execute("UPDATE receipt_facts SET fact = replace(fact, ':700,', ':900,')")
    days = [each for each in (await checked(books.database)).findings if each.code is LogFinding.DAY]
    [found] = days
    assert found.values == {"day": date(2026, 11, 3), "channel": "MPESA", "closed": 700, "logged": 900}


async def test_a_payment_of_a_closed_day_that_the_log_lacks_is_found(books: Books) -> None:
    async with books.database.begin() as tx:
        await tx.execute("DELETE FROM receipt_facts WHERE leaf_index = (SELECT max(leaf_index) FROM receipt_facts)")
        await tx.execute("UPDATE receipt_logs SET size = size - 1")
    codes = {each.code for each in (await checked(books.database)).findings}
    assert codes == {LogFinding.DAY, LogFinding.MISSING}
