"""House bookings: each is one move of the house, of one thing there is one that is not undone, and all add up."""

import asyncio
from datetime import date, timedelta
from itertools import product
from typing import Any

import pytest

from malipo import clock, ids
from malipo.db import Database
from malipo.errors import Conflict
from malipo.floats import store as floats
from malipo.ledger import check as ledger_check
from malipo.ledger.accounts import Account
from malipo.ledger.house_bookings import (
    ID_PREFIX,
    AlreadyUndone,
    HouseBooking,
    HouseBookingKind,
    NotBooked,
    book,
    ends_of,
    undo,
    value_date_of,
)
from tests.db.lock_waits import are_waiting
from tests.journeys import database_facts

DAY = date(2026, 11, 15)
OTHERS = [Account.BANK, Account.NETWORK_FEES, Account.SUSPENSE, Account.LOSSES, Account.FEES]


def transfer(change: int, reference: str = "NMB-1", *, channel: str = "MPESA", **fields: Any) -> HouseBooking:
    source, target = ends_of(change, Account.BANK)
    given: dict[str, Any] = {"booked_by": "operator:asha", "value_date": DAY, "reference": reference} | fields
    return HouseBooking(
        id=ids.mint(ID_PREFIX, clock.now()),
        kind=HouseBookingKind.BANK_TRANSFER,
        channel=channel,
        source=source,
        target=target,
        amount=abs(change),
        **given,
    )


def fees(amount: int, file_id: str | None = None, day: str = "2026-11-14") -> HouseBooking:
    source, target = ends_of(-amount, Account.NETWORK_FEES)
    return HouseBooking(
        id=ids.mint(ID_PREFIX, clock.now()),
        kind=HouseBookingKind.NETWORK_FEE,
        channel="MPESA",
        source=source,
        target=target,
        amount=amount,
        reference=day,
        file_id=file_id,
        value_date=DAY,
        booked_by="import",
    )


async def _book(database: Database, *bookings: HouseBooking) -> list[HouseBooking]:
    async with database.begin() as tx:
        return await book(tx, bookings, now=clock.now())


async def _undo(database: Database, booking: HouseBooking, **fields: Any) -> HouseBooking:
    async with database.begin() as tx:
        return await undo(tx, booking.id, evidence="mistyped", booked_by="operator:asha", now=clock.now(), **fields)


async def _balances(database: Database) -> dict[str, int]:
    """By the ledger, which is clean."""
    await database_facts.assert_clean(database)
    async with database.read() as connection:
        return await ledger_check.balances(connection)


@pytest.mark.parametrize(("change", "other"), [*product([-700, 700], OTHERS)])
def test_what_came_in_lies_at_the_network_and_what_went_out_does_not(change: int, other: Account) -> None:
    source, target = ends_of(change, other)
    booking = HouseBooking(
        id="hbk_1",
        kind=HouseBookingKind.LINE,
        channel="MPESA",
        source=source,
        target=target,
        amount=abs(change),
        value_date=DAY,
        booked_by="x",
    )

    assert booking.change == change
    # A float is money that is held elsewhere: the more there is, the more negative.
    assert booking.move.change_of(Account.FLOAT) == -change
    assert booking.move.change_of(other) == change


@pytest.mark.parametrize(
    ("days_after_the_close", "moved_by"), [(-3, 3), (-1, 1), (0, 0), (1, 0), (30, 0)], ids=lambda each: f"{each:+}"
)
def test_a_booking_counts_in_its_day_or_in_the_first_that_is_not_closed(
    days_after_the_close: int, moved_by: int
) -> None:
    day = DAY + timedelta(days=days_after_the_close)
    assert value_date_of(day, first_open_day=DAY) == day + timedelta(days=moved_by)
    assert value_date_of(day, first_open_day=None) == day


@pytest.mark.parametrize("account", [Account.WALLET, Account.IN_FLIGHT])
def test_a_house_booking_touches_no_merchants_money(account: Account) -> None:
    with pytest.raises(AssertionError):
        transfer(500).__class__(
            id="hbk_1",
            kind=HouseBookingKind.LINE,
            channel="MPESA",
            source=Account.FLOAT,
            target=account,
            amount=1,
            value_date=DAY,
            booked_by="x",
        )


async def test_many_are_booked_at_once_and_the_accounts_add_up(database: Database) -> None:
    bookings = [transfer(+1_000, f"IN-{number}") for number in range(50)] + [transfer(-300, "OUT"), fees(20, day="a")]

    assert len(await _book(database, *bookings)) == 52

    balances = await _balances(database)
    assert balances == {"bank": 49_700, "float MPESA": -49_680, "network_fees": -20}
    async with database.read() as connection:
        assert (await floats.find_ledger_floats(connection))["MPESA"] == 49_680


async def test_the_same_reference_books_once_also_ten_times_at_once(database: Database) -> None:
    booked = await asyncio.gather(*(_book(database, transfer(-500)) for _ in range(10)))
    assert sum(map(len, booked)) == 1
    assert (await _balances(database))["float MPESA"] == 500
    assert await _book(database, transfer(-500, channel="TIGO_PESA")), "another network's papers are others"


async def test_cents_that_are_booked_at_once_become_no_shilling_twice(database: Database) -> None:
    """Each of the two alone makes a shilling of the cents that were there. The second must see the first."""
    await _book(database, transfer(-500, "NMB-1", cents=-40))
    async with database.begin() as first:
        await book(first, [transfer(-500, "NMB-2", cents=-20)], now=clock.now())
        second = asyncio.create_task(_book(database, transfer(-500, "NMB-3", cents=-20)))
        await until_it_waits_or_is_done(database, second)
    await second
    async with database.read() as connection:
        cents = await connection.fetchval("SELECT sum(cents) FROM house_bookings")
        shillings = await connection.fetchval("SELECT count(*) FROM house_bookings WHERE kind = 'rounding'")
    assert (cents, shillings) == (20, 1)


async def until_it_waits_or_is_done(database: Database, task: "asyncio.Task[list[HouseBooking]]") -> None:
    while not task.done() and not await are_waiting(database):
        pass


async def test_an_undo_takes_the_cents_back_too(database: Database) -> None:
    booking = transfer(-500, cents=-40)
    await _book(database, booking)
    assert (await _undo(database, booking)).cents == 40
    async with database.read() as connection:
        assert await connection.fetchval("SELECT sum(cents) FROM house_bookings") == 0
        assert await connection.fetchval("SELECT count(*) FROM house_bookings WHERE kind = 'rounding'") == 0


async def test_what_is_undone_can_be_booked_again_and_only_then(database: Database) -> None:
    wrong, right = transfer(-5_000), transfer(-500)
    await _book(database, wrong)
    assert await _book(database, right) == []

    back = await _undo(database, wrong)
    assert (back.change, back.reverses, back.value_date) == (5_000, wrong.id, DAY)
    assert await _book(database, right) == [right]
    assert await _book(database, transfer(-500)) == []
    assert (await _balances(database))["float MPESA"] == 500


async def test_a_booking_is_undone_once_also_twice_at_once_and_an_undo_never(database: Database) -> None:
    booking = transfer(-500)
    await _book(database, booking)

    done = await asyncio.gather(*(_undo(database, booking) for _ in range(5)), return_exceptions=True)

    backs = [each for each in done if isinstance(each, HouseBooking)]
    assert [type(each) for each in done].count(AlreadyUndone) == 4
    with pytest.raises(Conflict, match="booking_is_undo"):
        await _undo(database, backs[0])
    with pytest.raises(NotBooked):
        await _undo(database, transfer(-1))
    assert (await _balances(database))["float MPESA"] == 0


async def test_what_undoes_a_booking_of_a_closed_day_counts_in_the_first_open_one(database: Database) -> None:
    booking = transfer(-500)
    await _book(database, booking)
    assert (await _undo(database, booking, first_open_day=DAY + timedelta(days=2))).value_date == date(2026, 11, 17)


TAMPERED = {
    "a booking without its move": "DELETE FROM moves WHERE cause_id = '{id}'",
    "a move without its booking": "DELETE FROM house_bookings WHERE id = '{id}'",
    "a move of another amount": "UPDATE moves SET amount = amount + 1 WHERE cause_id = '{id}'",
    "a move of another float": "UPDATE moves SET channel = 'HALOPESA' WHERE cause_id = '{id}'",
    "a move the other way": "UPDATE moves SET source = target, target = source WHERE cause_id = '{id}'",
    "a move into another account": "UPDATE moves SET source = 'losses' WHERE cause_id = '{id}' AND source = 'bank'",
    "an undo of another amount": """
        WITH u AS (UPDATE house_bookings SET amount = 7 WHERE reverses IS NOT NULL RETURNING id)
        UPDATE moves SET amount = 7 FROM u WHERE cause_id = u.id
    """,
    "a move of the house in a wallet": """
        UPDATE moves SET target = 'wallet', channel = NULL, statement_line = 1, balance_after = 0
        WHERE cause_id = '{id}'
    """,
}


@pytest.mark.parametrize("in_pieces", [False, True], ids=["at once", "in pieces"])
async def test_the_check_finds_what_was_tampered_with(database: Database, in_pieces: bool) -> None:
    booking, undone = transfer(-500), transfer(-900, "NMB-2")
    await _book(database, booking, undone)
    back = await _undo(database, undone)

    unseen = []
    for what, tampering in TAMPERED.items():
        async with database.begin() as tx:
            await tx.execute(f"SAVEPOINT before; {tampering.format(id=booking.id)}")
            check = database_facts.check_in_pieces(tx, rows=3) if in_pieces else ledger_check.check(tx)
            found = {each.where for each in await check}
            await tx.execute("ROLLBACK TO before")
        # What touches a wallet is found by that too, whatever its booking says.
        touched = {"house line 1" if in_pieces else "house"} if "wallet" in what else set()
        if not found & {booking.id, back.id} or not touched <= found:
            unseen.append(what)

    assert unseen == []
    await database_facts.assert_clean(database)
