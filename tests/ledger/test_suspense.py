"""Suspense: each shilling has a cause and an age, and two operators can credit it to a merchant."""

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from malipo import clock
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import BookingResult
from malipo.books import suspense
from malipo.books.suspense import SuspenseList
from malipo.db import Database
from malipo.errors import Conflict, Missing
from malipo.ledger import check, house_bookings
from malipo.ledger.bookings import Booking, BookingKind, ReferenceReused, WalletTooLow, book
from malipo.ledger.store import wallets
from malipo.monitoring import gauges_store
from tests.conftest import Merchant, make_merchant
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until
from tests.journeys.operator_commands import malipo
from tests.ledger.suspense_bookings import in_suspense, released
from tests.operators.booking_steps import hire
from tests.reconciliation.close.books import ASHA, JUMA, MONDAY, Books, at


def release(merchant: Merchant, cause: str, amount: int, reference: str = "OURS-1") -> Booking:
    return Booking(BookingKind.SUSPENSE_RELEASE, merchant.id, amount, reference, cause)


async def request(database: Database, wanted: Booking) -> BookingResult:
    async with database.begin() as tx:
        return await booking_approval.request(tx, wanted, approval_amount=10**9, actor=ASHA, now=clock.now())


async def approve(database: Database, reference: str = "OURS-1") -> None:
    async with database.begin() as tx:
        await booking_approval.approve(tx, reference, actor=JUMA, now=clock.now())


async def listed(database: Database) -> SuspenseList:
    async with database.snapshot() as connection:
        return await suspense.find(connection, now=clock.now())


async def wallet_of(database: Database, merchant: Merchant) -> int:
    async with database.read() as connection:
        return (await wallets.get(connection, merchant.id))[0].available


async def test_every_shilling_has_a_cause_and_an_age(database: Database, tmp_path: Path) -> None:
    assert (await listed(database)).items == []
    old = await in_suspense(database, 700, days_ago=95)
    young = await in_suspense(database, 40, days_ago=30)
    undone = await in_suspense(database, 9)
    async with database.begin() as tx:
        await house_bookings.undo(tx, undone, evidence="a mistake", booked_by="operator asha", now=clock.now())
    books = await Books.begin(database, tmp_path)
    await books.paid("R1", 5_000, at(MONDAY))
    await books.contradicted("R1", -5_000, clock.now() - timedelta(days=1))
    found = await listed(database)
    assert [(each.cause, each.kind, each.amount, each.days, each.receipt) for each in found.items] == [
        (old, "sweep", 700, 95, ""),
        (young, "sweep", 40, 30, ""),
        (books.payments["R1"], "payment", -5_000, 1, "R1"),
    ]
    assert (found.balance, found.without_cause) == (-4_260, 0)
    assert found.by_age == {"0 to 30": -4_960, "31 to 60": 0, "61 to 90": 0, "over 90": 700}


async def test_two_operators_credit_it_to_a_merchant_in_parts(database: Database) -> None:
    cause, merchant, other = (
        await in_suspense(database, 700),
        await make_merchant(database),
        await make_merchant(database),
    )
    assert (await request(database, release(merchant, cause, 500))).proposal is not None, "of any amount"
    assert await wallet_of(database, merchant) == 0
    await approve(database)
    assert await wallet_of(database, merchant) == 500
    assert not (await request(database, release(merchant, cause, 500))).is_new
    with pytest.raises(ReferenceReused):
        await request(database, release(other, cause, 500))
    assert [(each.cause, each.amount) for each in (await listed(database)).items] == [(cause, 200)]
    # The rest, and no more, may be another merchant's.
    with pytest.raises(Conflict, match="suspense_too_much"):
        await request(database, release(other, cause, 201, "OURS-2"))
    await request(database, release(other, cause, 200, "OURS-2"))
    await approve(database, "OURS-2")
    assert ((await listed(database)).items, (await listed(database)).without_cause) == ([], 0)
    async with database.snapshot() as connection:
        assert await check.check(connection) == []
        assert (await gauges_store.find_sums(connection))["suspense_shillings"] == 0


async def test_two_approvals_at_once_take_it_once(database: Database) -> None:
    cause, merchant = await in_suspense(database, 700), await make_merchant(database)
    for reference in ("OURS-1", "OURS-2"):
        await request(database, release(merchant, cause, 600, reference))

    async with database.begin() as tx:
        await wallets.lock(tx, [merchant.id])
        approvals = asyncio.gather(approve(database, "OURS-1"), approve(database, "OURS-2"), return_exceptions=True)
        await until(lambda: are_waiting(database, 2), pause=0.01)
    assert sorted(type(each).__name__ for each in await approvals) == ["Conflict", "NoneType"]
    assert await wallet_of(database, merchant) == 600


async def test_only_what_a_booking_has_put_there_is_released(database: Database) -> None:
    merchant = await make_merchant(database)
    with pytest.raises(Missing, match="suspense_no_such"):
        await request(database, release(merchant, "hbk_none", 1))
    cause = await in_suspense(database, 700)
    await request(database, release(merchant, cause, 700))
    async with database.begin() as tx:  # It is undone before the second operator approves.
        await house_bookings.undo(tx, cause, evidence="a mistake", booked_by="operator asha", now=clock.now())
    with pytest.raises(Conflict, match="suspense_too_much"):
        await approve(database)
    assert await wallet_of(database, merchant) == 0


async def test_a_booking_of_which_a_merchant_has_something_is_not_undone(database: Database) -> None:
    cause, merchant = await in_suspense(database, 700), await make_merchant(database)
    await request(database, release(merchant, cause, 1))
    await approve(database)
    with pytest.raises(Conflict, match="suspense_released"):
        async with database.begin() as tx:
            await house_bookings.undo(tx, cause, evidence="a mistake", booked_by="operator asha", now=clock.now())
    async with database.begin() as tx:  # Somebody changes the database.
        await tx.execute("UPDATE bookings SET amount = 701; UPDATE moves SET amount = 701 WHERE target = 'wallet'")
    async with database.snapshot() as connection:
        assert "released from suspense" in {each.what for each in await check.check(connection)}


def take_back(merchant: Merchant, cause: str, amount: int, reference: str = "BACK-1") -> Booking:
    return Booking(BookingKind.SUSPENSE_TAKE_BACK, merchant.id, amount, reference, cause)


async def test_what_the_wrong_merchant_got_is_taken_back_and_credited_to_the_right_one(database: Database) -> None:
    wrong, right = await make_merchant(database), await make_merchant(database)
    cause = await released(database, wrong.id, 700)
    for refused in (take_back(wrong, cause, 701), take_back(right, cause, 1)):
        with pytest.raises(Conflict, match="suspense_not_released"):
            await request(database, refused)
    assert (await request(database, take_back(wrong, cause, 300))).proposal is not None, "of any amount"
    await approve(database, "BACK-1")
    assert not (await request(database, take_back(wrong, cause, 300))).is_new
    assert [(each.cause, each.amount) for each in (await listed(database)).items] == [(cause, 300)]
    with pytest.raises(Conflict, match="suspense_not_released"):
        await request(database, take_back(wrong, cause, 401, "BACK-2"))
    await request(database, take_back(wrong, cause, 400, "BACK-2"))
    await approve(database, "BACK-2")
    await request(database, release(right, cause, 700, "OURS-2"))
    await approve(database, "OURS-2")
    assert (await wallet_of(database, wrong), await wallet_of(database, right)) == (0, 700)
    assert ((await listed(database)).items, (await listed(database)).without_cause) == ([], 0)
    async with database.snapshot() as connection:
        assert await check.check(connection) == []
        assert (await gauges_store.find_sums(connection))["suspense_shillings"] == 0
    async with database.begin() as tx:  # Somebody changes the database.
        await tx.execute("UPDATE bookings SET amount = 301 WHERE bank_reference = 'BACK-1'")
        await tx.execute("UPDATE bookings SET amount = 1 WHERE bank_reference = 'OURS-2'")
    async with database.snapshot() as connection:
        assert "booking" in {each.what for each in await check.check(connection)}


async def test_no_more_is_taken_back_than_the_wallet_has_beside_its_debts(database: Database) -> None:
    merchant = await make_merchant(database)
    cause = await released(database, merchant.id, 700)
    async with database.begin() as tx:
        await book(tx, BookingKind.SETTLEMENT, merchant.id, 600, reference="NMB-1", now=clock.now())
    with pytest.raises(WalletTooLow):
        await request(database, take_back(merchant, cause, 101))
    await request(database, take_back(merchant, cause, 100))
    async with database.begin() as tx:  # The merchant spends some of it before the second operator approves.
        await book(tx, BookingKind.SETTLEMENT, merchant.id, 1, reference="NMB-2", now=clock.now())
    with pytest.raises(WalletTooLow):
        await approve(database, "BACK-1")
    assert await wallet_of(database, merchant) == 99


async def test_two_approvals_at_once_take_it_back_once(database: Database) -> None:
    merchant = await make_merchant(database, wallet=1_000)
    cause = await released(database, merchant.id, 700)
    for reference in ("BACK-1", "BACK-2"):
        await request(database, take_back(merchant, cause, 600, reference))

    async with database.begin() as tx:
        await wallets.lock(tx, [merchant.id])
        approvals = asyncio.gather(approve(database, "BACK-1"), approve(database, "BACK-2"), return_exceptions=True)
        await until(lambda: are_waiting(database, 2), pause=0.01)
    assert sorted(type(each).__name__ for each in await approvals) == ["Conflict", "NoneType"]
    assert await wallet_of(database, merchant) == 1_100


async def test_a_booking_of_which_all_was_taken_back_can_be_undone(database: Database) -> None:
    merchant = await make_merchant(database)
    cause = await released(database, merchant.id, 700)
    await request(database, take_back(merchant, cause, 700))
    await approve(database, "BACK-1")
    async with database.begin() as tx:
        await house_bookings.undo(tx, cause, evidence="a mistake", booked_by="operator asha", now=clock.now())
    assert (await listed(database)).items == []
    async with database.snapshot() as connection:
        assert await check.check(connection) == []


async def test_the_list_and_the_release_at_the_terminal(database: Database, database_url: str) -> None:
    empty = await malipo("books", "suspense", database_url=database_url)
    assert (empty.code, empty.out) == (0, "Nothing is in suspense.\n")
    cause = await in_suspense(database, 700, days_ago=95)
    said = (await malipo("books", "suspense", database_url=database_url)).out
    assert f"   700  Sweep between accounts at a network: {cause} MPESA" in said
    assert "over 90 days                     700\n" in said
    as_json = (await malipo("books", "suspense", "--json", database_url=database_url)).json
    assert (as_json["balance"], as_json["withoutCause"], as_json["items"][0]["cause"]) == (700, 0, cause)
    merchant = await make_merchant(database)
    await hire(database, "asha")
    had = await released(database, merchant.id, 300)
    asked = ["take-back", had, "300", "--merchant", merchant.id, "--reference", "BACK-1"]
    taken = await malipo("books", *asked, "--json", database_url=database_url, operator="asha")
    assert (taken.code, taken.json["isProposed"], taken.json["releases"]) == (0, True, had)
    waiting = (await malipo("books", "pending", "--json", database_url=database_url)).out
    assert "suspense-take-back" in waiting
    assert await wallet_of(database, merchant) == 300
