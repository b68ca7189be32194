"""When a day is closed and when not, by whom, and what two at once do."""

import asyncio
from datetime import date, timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.cli.close.differences import sentences_of
from malipo.db import Database
from malipo.errors import Conflict, Forbidden, Invalid, Missing
from malipo.ledger import house_bookings
from malipo.ledger.house_bookings import ID_PREFIX, DayClosed, HouseBookingKind
from malipo.ledger.store.closed_days import first_open_day
from malipo.networks.connector import Channel
from malipo.reconciliation.close import close_day
from malipo.reconciliation.close.close_day import AlreadyClosed, DayDoesNotAddUp, NotOver, OutOfOrder, StatementsMissing
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.signed_content import DayClose, OpenReason
from malipo.reconciliation.close.store.closes import ProposedClose
from malipo.words.say import say
from tests.conftest import NOBODY
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until
from tests.reconciliation.close.books import (
    ASHA,
    JUMA,
    LATER,
    MONDAY,
    TUESDAY,
    WEDNESDAY,
    Books,
    at,
    of_channel,
    opened,
)


@pytest.fixture
async def books(database: Database, tmp_path: Path) -> Books:
    return await Books.begin(database, tmp_path)


async def _first_open_day(books: Books) -> date | None:
    async with books.database.begin() as tx:
        return await first_open_day(tx)


async def test_a_day_is_closed_when_it_is_over_in_dar_es_salaam_and_settled(books: Books) -> None:
    with pytest.raises(NotOver) as refused:
        await books.close(MONDAY, now=at(TUESDAY, "00:14:59"))
    assert say(refused.value) == "2026-11-02 can be closed from 2026-11-03 00:15 on, in Dar es Salaam."
    assert (await books.close(MONDAY, now=at(TUESDAY, "00:15"))).adds_up


async def test_days_are_closed_in_order_and_once(books: Books) -> None:
    assert await _first_open_day(books) is None
    await books.close(MONDAY)
    with pytest.raises(OutOfOrder, match="close_out_of_order"):
        await books.close(WEDNESDAY)
    for day in (MONDAY, MONDAY - timedelta(days=1)):
        with pytest.raises(AlreadyClosed):
            await books.close(day)
    assert await _first_open_day(books) == TUESDAY
    await books.close(TUESDAY)
    assert await _first_open_day(books) == WEDNESDAY


async def test_a_channel_that_moved_needs_a_whole_statement(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    with pytest.raises(StatementsMissing) as refused:
        await books.close(MONDAY)
    span = "2026-11-02 00:00:00 to 2026-11-03 00:00:00"
    assert [say(each) for each in refused.value.problems] == [f"MPESA: There is no statement of {span}."]
    # One that does not add up was accepted, and proves nothing.
    await books.statement(
        MONDAY, [("R1", 5000, "11:59", "money")], closing=5001, accepts_problems=True, account="Utility", name="bad.csv"
    )
    with pytest.raises(StatementsMissing) as refused:
        await books.close(MONDAY)
    assert [say(each) for each in refused.value.problems] == [
        f"MPESA: Account Utility: No statement covers {span}.",
        "MPESA: Account Utility: bad.csv does not count: Opening 0 and the lines (+5,000) make 5,000, not the closing "
        "5,001: 1 differ.",
    ]


async def test_an_account_that_had_a_statement_needs_one_on_every_day_that_moved(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money")], account="Utility")
    await books.statement(MONDAY, [], account="Settlement")
    await books.match("R1")
    await books.close(MONDAY)
    await books.paid("R2", 100, at(TUESDAY))
    await books.statement(TUESDAY, [("R2", 100, "11:59", "money")], account="Utility")
    with pytest.raises(StatementsMissing, match="close_statements_missing") as refused:
        await books.close(TUESDAY)
    [missing] = refused.value.problems
    assert say(missing).startswith("MPESA: Account Settlement: No statement covers 2026-11-03 00:00:00")


async def test_a_day_without_a_statement_is_closed_with_a_reason_and_made_good_by_a_later_one(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    with pytest.raises(Invalid, match="close_needs_reason"):
        await books.close(MONDAY, without=["MPESA"])
    for reason in ("no", "x" * 501, "portal\naway"):
        with pytest.raises(Invalid, match="close_reason"):
            await books.close(MONDAY, without=["MPESA"], reason=reason)
    with pytest.raises(Invalid, match=r"close_not_left_out channels=.*TIGO_PESA"):
        await books.close(MONDAY, without=["MPESA", "TIGO_PESA"], reason="portal away")
    monday = await books.close(MONDAY, without=["MPESA"], reason="portal away")
    assert (monday.without, opened(monday)) == (["MPESA"], {OpenReason.NO_STATEMENT: -5000})
    # The statement of both days comes: nothing is left.
    await books.paid("R2", 300, at(TUESDAY))
    lines = [("R1", 5000, f"{MONDAY} 11:59", "money"), ("R2", 300, f"{TUESDAY} 11:59", "money")]
    await books.statement(MONDAY, lines, days=2)
    await books.match("R1", "R2")
    tuesday = of_channel(await books.close(TUESDAY))
    assert (tuesday.open, tuesday.difference, tuesday.learned_later) == ({}, 0, 5000)


async def test_a_day_that_stays_without_a_statement_is_missed_on_the_next(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.close(MONDAY, without=["MPESA"], reason="portal away")
    await books.statement(TUESDAY, [], opening=5000)
    with pytest.raises(DayDoesNotAddUp) as refused:
        await books.close(TUESDAY)
    assert "TZS 5,000 only in the ledger: payment R1" in str(sentences_of(refused.value.close))
    assert "TZS 5,000 only in the statement: balance that does not follow" in str(sentences_of(refused.value.close))


async def test_a_day_that_does_not_add_up_takes_two_operators_and_a_reason(books: Books) -> None:
    await books.statement(MONDAY, [("X", 700, "15:00", "money")])
    with pytest.raises(Invalid):
        await books.try_to_close(MONDAY, accepts_difference=True)
    with pytest.raises(Forbidden):
        await books.try_to_close(MONDAY, accepts_difference=True, reason="small", actor=NOBODY)
    with pytest.raises(Missing):
        await books.approve(MONDAY)
    proposal = await books.try_to_close(MONDAY, accepts_difference=True, reason="small")
    assert isinstance(proposal, ProposedClose)
    assert await _first_open_day(books) is None  # nothing is closed yet
    with pytest.raises(Conflict):
        await books.try_to_close(MONDAY, accepts_difference=True, reason="small", actor=JUMA)
    with pytest.raises(Forbidden):
        await books.approve(MONDAY, actor=ASHA)
    closed = await books.approve(MONDAY)
    assert (closed.requested_by, closed.closed_by, closed.reason) == (ASHA.name, JUMA.name, "small")
    async with books.database.read() as connection:
        noted = await audit_log.find(connection, limit=10)
    assert {(each.action, each.actor) for each in noted if each.action.startswith("day.")} == {
        ("day.closed", JUMA.name),
        ("day.close_proposed", ASHA.name),
    }


async def test_a_difference_that_changed_since_its_proposal_is_not_accepted(books: Books) -> None:
    first = await books.statement(MONDAY, [("X", 700, "15:00", "money")])
    await books.try_to_close(MONDAY, accepts_difference=True, reason="small")
    await books.withdraw(first)
    await books.statement(MONDAY, [("X", 700, "15:00", "money"), ("Y", 9_000_000, "16:00", "money")], opening=0)
    with pytest.raises(Conflict, match="close_changed"):
        await books.approve(MONDAY)
    async with books.database.begin() as tx:
        await close_day.reject(tx, MONDAY, actor=JUMA, now=LATER)
    await books.try_to_close(MONDAY, accepts_difference=True, reason="large")
    assert opened((await books.approve(MONDAY)).close) == {OpenReason.UNEXPLAINED: 9_000_700}


async def test_closing_a_day_at_once_closes_it_once(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money")])
    await books.match("R1")
    done = await asyncio.gather(*(books.try_to_close(MONDAY) for _ in range(8)), return_exceptions=True)
    assert sum(isinstance(each, ClosedDay) for each in done) == 1
    assert sum(isinstance(each, AlreadyClosed) for each in done) == 7


async def test_bookings_that_come_while_a_day_is_closed_are_each_in_exactly_one_day(books: Books) -> None:
    """Whoever books holds the day open; whoever comes later books into the next one."""
    for day in (MONDAY, TUESDAY):
        await books.statement(day, [])

    async def transfer(number: int) -> date:
        return (
            await books.book(HouseBookingKind.BANK_TRANSFER, 1000 + number, MONDAY, reference=f"FT{number}")
        ).value_date

    dates = [await transfer(number) for number in range(3)]
    *meanwhile, monday = await asyncio.gather(*(transfer(number) for number in range(3, 33)), books.close(MONDAY))
    dates += [each for each in meanwhile if isinstance(each, date)]
    dates += [await transfer(number) for number in range(33, 36)]
    tuesday = await books.close(TUESDAY)
    assert isinstance(monday, DayClose)
    for close in (monday, tuesday):
        booked = [1000 + number for number, value_date in enumerate(dates) if value_date == close.day]
        assert (len(booked) >= 3, close.changes["bank"]) == (True, sum(booked))


async def test_no_act_books_into_a_closed_day(books: Books) -> None:
    """Also by a caller who did not ask which day is open."""
    booked = await books.book(HouseBookingKind.BANK_TRANSFER, 1000, MONDAY, reference="FT1")
    await books.statement(MONDAY, [])
    await books.close(MONDAY)
    again = replace(booked, id=ids.mint(ID_PREFIX, at(WEDNESDAY, "10:00")), reference="FT2")
    async with books.database.begin() as tx:
        for day in (MONDAY - timedelta(days=1), MONDAY):
            with pytest.raises(DayClosed, match=r"booking_day_closed .*2026, 11, 3"):
                await house_bookings.book(tx, [replace(again, value_date=day)], now=at(WEDNESDAY, "10:00"))
        assert await house_bookings.book(tx, [replace(again, value_date=TUESDAY)], now=at(WEDNESDAY, "10:00"))


async def test_a_booking_that_began_first_is_waited_for(books: Books) -> None:
    await books.statement(MONDAY, [])
    async with books.database.begin() as tx:
        assert await first_open_day(tx) is None
        closing = asyncio.create_task(books.try_to_close(MONDAY))
        await until(lambda: are_waiting(books.database), pause=0.01)
        assert not closing.done()
    assert isinstance(await closing, ClosedDay)


async def test_a_channel_that_did_not_move_needs_no_statement(books: Books) -> None:
    await books.paid("R1", 5000, at(MONDAY))
    await books.statement(MONDAY, [("R1", 5000, "11:59", "money")])
    await books.statement(MONDAY, [], channel=Channel.TIGO_PESA)
    await books.match("R1")
    await books.close(MONDAY)
    tuesday = await books.close(TUESDAY)
    assert [(each.channel, each.statement) for each in tuesday.channels] == [("MPESA", None), ("TIGO_PESA", None)]
    assert of_channel(tuesday).accounts == {"": 5000}
