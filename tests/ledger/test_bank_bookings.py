"""Interest, charges, taxes, other income, equity and opening balances: what moves, once, and on which day."""

from datetime import date, timedelta
from pathlib import Path

import pytest

from malipo import clock
from malipo.approvals import booking_approval
from malipo.approvals.booking_approval import BookingResult
from malipo.db import Database
from malipo.errors import Conflict, Invalid
from malipo.ledger import check
from malipo.ledger.accounts import Account
from malipo.ledger.bank_bookings import KINDS, BankBooking, BankBookingKind
from malipo.ledger.bookings import ReferenceReused
from malipo.ledger.house_bookings import DayClosed
from tests.reconciliation.close.books import ASHA, JUMA, LATER, MONDAY, TUESDAY, Books

LIMIT = 1_000
# By hand. Kind, whether it went back, source and target: money comes from the bank's account in the ledger when it
# comes in, because what lies elsewhere is negative.
BY_HAND = [
    ("opening_balance", False, "bank", "equity"),
    ("opening_balance", True, "equity", "bank"),
    ("capital", False, "bank", "equity"),
    ("capital", True, "equity", "bank"),
    ("interest", False, "bank", "interest"),
    ("interest", True, "interest", "bank"),
    ("other_income", False, "bank", "other_income"),
    ("other_income", True, "other_income", "bank"),
    ("bank_charge", False, "bank_charges", "bank"),
    ("bank_charge", True, "bank", "bank_charges"),
    ("tax", False, "taxes", "bank"),
    ("tax", True, "bank", "taxes"),
    ("vat_payment", False, "vat", "bank"),
    ("vat_payment", True, "bank", "vat"),
]


def booking(kind: str = "interest", amount: int = 700, reference: str = "FT-1", **more: object) -> BankBooking:
    return BankBooking(BankBookingKind(kind), amount, reference, **more)  # type: ignore[arg-type]


async def request(database: Database, wanted: BankBooking) -> BookingResult:
    async with database.begin() as tx:
        return await booking_approval.request(tx, wanted, approval_amount=LIMIT, actor=ASHA, now=LATER)


async def approve(database: Database, reference: str) -> None:
    async with database.begin() as tx:
        await booking_approval.approve(tx, reference, actor=JUMA, now=LATER)


async def booked(database: Database) -> list[tuple[str, str, int, date, str | None]]:
    async with database.read() as connection:
        rows = await connection.fetch(
            """
            SELECT m.source, m.target, m.amount, b.value_date, b.approved_by
            FROM house_bookings b JOIN moves m ON m.cause_id = b.id ORDER BY b.id
            """
        )
    return [tuple(row) for row in rows]


def test_the_kinds_are_those_written_by_hand() -> None:
    assert [(kind, is_back, *booking(kind, is_back=is_back).ends) for kind, is_back, _, _ in BY_HAND] == BY_HAND
    assert {kind for kind, *_ in BY_HAND} == set(KINDS) == set(BankBookingKind)


async def test_the_database_knows_every_account_of_the_ledger(database: Database) -> None:
    """A migration that lists the accounts anew must not drop any."""
    async with database.read() as connection:
        known = await connection.fetchval(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'moves_go_between_known_accounts'"
        )
        of_house = await connection.fetchval(
            """
            SELECT pg_get_constraintdef(oid) FROM pg_constraint
            WHERE conname = 'house_bookings_between_accounts_of_the_house'
            """
        )
    assert [each for each in Account if known.count(f"'{each}'") != 2] == []
    assert [each for each in Account if f"'{each}'" not in of_house] == [
        each for each in Account if each in ("wallet", "in_flight", "in_settlement")
    ]


async def test_a_small_one_is_booked_by_one_operator_and_a_repeat_books_nothing(database: Database) -> None:
    assert (await request(database, booking())).is_new
    assert not (await request(database, booking())).is_new
    today = clock.day_of(LATER)
    assert await booked(database) == [("bank", "interest", 700, today, None)]
    for other in (booking(amount=701), booking(is_back=True)):
        with pytest.raises(ReferenceReused):
            await request(database, other)
    # The bank's reference may stand for its charge too.
    assert (await request(database, booking("bank_charge", 50))).is_new


async def test_a_large_one_and_equity_of_any_amount_take_two(database: Database) -> None:
    for number, wanted in enumerate(
        [booking(amount=LIMIT + 1), booking("capital", 1), booking("opening_balance", 1, day=MONDAY)]
    ):
        reference = f"FT-{number}"
        asked = booking(wanted.kind, wanted.amount, reference, day=wanted.day)
        assert (await request(database, asked)).proposal is not None
        assert len(await booked(database)) == number
        await approve(database, reference)
    today = clock.day_of(LATER)
    assert sorted(await booked(database)) == [
        ("bank", "equity", 1, MONDAY, JUMA.name),
        ("bank", "equity", 1, today, JUMA.name),
        ("bank", "interest", LIMIT + 1, today, JUMA.name),
    ]
    async with database.snapshot() as connection:
        assert await check.check(connection) == []


async def test_the_ledger_check_finds_an_approved_booking_that_is_another_one(database: Database) -> None:
    await request(database, booking(amount=LIMIT + 1))
    await approve(database, "FT-1")
    async with database.begin() as tx:
        await tx.execute("UPDATE house_bookings SET source = target, target = source")
        await tx.execute("UPDATE moves SET source = target, target = source")
    async with database.snapshot() as connection:
        assert [each.what for each in await check.check(connection)] == ["proposed booking"]


async def test_what_lay_at_a_network_is_booked_before_the_first_close(database: Database, tmp_path: Path) -> None:
    books = await Books.begin(database, tmp_path)
    at_network = booking("opening_balance", 5_000, day=MONDAY - timedelta(days=1), channel="MPESA")
    await request(database, at_network)
    await approve(database, "FT-1")
    assert [each[:3] for each in await booked(database)] == [("float", "equity", 5_000)]
    await books.statement(MONDAY, [], opening=5_000)
    assert (await books.close(MONDAY)).agrees  # The statement opens with it.
    with pytest.raises(Conflict, match="bank_booking_opening_too_late"):
        await request(database, booking("opening_balance", 1, "FT-2", day=TUESDAY, channel="TIGO_PESA"))
    with pytest.raises(Invalid, match="bank_booking_only_opening_at_network"):
        await request(database, booking(reference="FT-3", channel="MPESA"))


async def test_a_booking_has_a_day_that_is_open(database: Database, tmp_path: Path) -> None:
    books = await Books.begin(database, tmp_path)
    with pytest.raises(Invalid, match="bank_booking_needs_day"):
        await request(database, booking("opening_balance"))
    with pytest.raises(Invalid, match="bank_booking_day_in_future"):
        await request(database, booking(day=clock.day_of(LATER) + timedelta(days=1)))
    await request(database, booking(amount=LIMIT + 1, day=MONDAY))
    await books.close(MONDAY)
    with pytest.raises(DayClosed):
        await request(database, booking(reference="FT-2", day=MONDAY))
    # The day was closed before the second operator approved.
    await approve(database, "FT-1")
    assert [each[3] for each in await booked(database)] == [TUESDAY]
