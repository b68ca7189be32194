"""Lines that are booked: transfers to and from the bank, fees that come in parts, and charges that differ."""

from datetime import date, timedelta

import pytest
from msgspec.structs import replace

from malipo import clock, ids
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account
from malipo.ledger.house_bookings import HouseBooking, HouseBookingKind, ends_of
from malipo.networks.connector import Channel
from malipo.payments.transaction import Type
from malipo.reconciliation.matching.store import expected_charges
from malipo.reconciliation.matching.store.expected_charges import Charge
from malipo.reconciliation.matching.store.transfers import BankTransferLine, BookedTransfer
from malipo.reconciliation.matching.transfer_pairs import pair_transfers
from tests.payments.payment_steps import steps
from tests.reconciliation.statement_days import OPENING, Entry, Statements, fee_of, line_of, statements

__all__ = ["statements", "steps"]

DAY = date(2026, 11, 15)


def a_line(
    number: int, amount: int = -500, day: int = 0, words: str = "To bank", channel: str = "MPESA"
) -> BankTransferLine:
    return BankTransferLine(line_id=number, channel=channel, amount=amount, day=DAY + timedelta(days=day), words=words)


def a_transfer(name: str, amount: int = -500, day: int = 0, channel: str = "MPESA") -> BookedTransfer:
    return BookedTransfer(
        booking_id=name, channel=channel, amount=amount, day=DAY + timedelta(days=day), reference=f"NMB-{name}"
    )


@pytest.mark.parametrize(
    ("lines", "transfers", "pairs"),
    [
        ([a_line(1)], [], []),
        ([a_line(1)], [a_transfer("a")], [(1, "a")]),
        ([a_line(1)], [a_transfer("a", day=3)], [(1, "a")]),
        ([a_line(1)], [a_transfer("a", day=4)], []),
        ([a_line(1, words="NMB-a")], [a_transfer("a", day=30)], [(1, "a")]),
        ([a_line(1)], [a_transfer("a", amount=500)], []),
        ([a_line(1)], [a_transfer("a", amount=-501)], []),
        ([a_line(1)], [a_transfer("a", channel="HALOPESA")], []),
        ([a_line(1)], [a_transfer("a"), a_transfer("b")], []),
        ([a_line(1), a_line(2)], [a_transfer("a")], []),
        ([a_line(1), a_line(2, words="NMB-a")], [a_transfer("a"), a_transfer("b")], [(2, "a"), (1, "b")]),
        ([a_line(1, words="NMB-a"), a_line(2, words="NMB-a")], [a_transfer("a")], [(1, "a")]),
    ],
)
def test_a_line_is_a_transfer_by_its_reference_or_where_no_other_fits(
    lines: list[BankTransferLine], transfers: list[BookedTransfer], pairs: list[tuple[int, str]]
) -> None:
    assert pair_transfers(lines, transfers) == pairs


def own(line: BankTransferLine) -> BankTransferLine:
    """The network's own statement has it."""
    return replace(line, is_own=True)


def held(transfer: BookedTransfer, line_id: int = 9) -> BookedTransfer:
    """A line that only operators brought has its place."""
    return replace(transfer, line_id=line_id)


@pytest.mark.parametrize(
    ("lines", "transfers", "pairs"),
    [
        ([own(a_line(1))], [held(a_transfer("a"))], [(1, "a")]),
        ([own(a_line(1))], [held(a_transfer("a", day=4))], []),
        ([own(a_line(1, words="NMB-a"))], [held(a_transfer("a", day=30))], [(1, "a")]),
        ([a_line(1)], [held(a_transfer("a"))], []),
        ([a_line(1), own(a_line(2))], [a_transfer("a")], [(2, "a")]),
        ([a_line(1), own(a_line(2))], [held(a_transfer("a"))], [(2, "a")]),
        ([a_line(1, words="NMB-a"), own(a_line(2))], [a_transfer("a")], [(2, "a")]),
        ([own(a_line(1)), own(a_line(2))], [held(a_transfer("a"))], []),
        # It may be of either. The one that has no line gets it, as before.
        ([own(a_line(1))], [held(a_transfer("a")), a_transfer("b")], [(1, "b")]),
        ([own(a_line(1, words="NMB-a"))], [held(a_transfer("a")), a_transfer("b")], [(1, "a")]),
    ],
)
def test_a_line_of_the_networks_own_takes_the_place_of_one_that_only_operators_brought(
    lines: list[BankTransferLine], transfers: list[BookedTransfer], pairs: list[tuple[int, str]]
) -> None:
    assert pair_transfers(lines, transfers) == pairs


async def book_transfer(statements: Statements, change: int) -> HouseBooking:
    now = clock.now()
    source, target = ends_of(change, Account.BANK)
    booking = HouseBooking(
        id=ids.mint(house_bookings.ID_PREFIX, now),
        kind=HouseBookingKind.BANK_TRANSFER,
        channel="MPESA",
        source=source,
        target=target,
        amount=abs(change),
        reference="NMB-1",
        value_date=clock.day_of(now),
        booked_by="operator asha",
    )
    async with statements.database.begin() as tx:
        await house_bookings.book(tx, [booking], now=now)
    return booking


@pytest.mark.parametrize("is_booked_first", [True, False])
@pytest.mark.parametrize("change", [-25_000, 25_000])
async def test_a_transfer_that_operators_booked_has_its_line_whichever_comes_first(
    statements: Statements, change: int, is_booked_first: bool
) -> None:
    if is_booked_first:
        booking = await book_transfer(statements, change)
    await statements.take(Entry("B1", change, clock.now(), "Bank transfer"))
    if not is_booked_first:
        assert await statements.kinds() == [("theirs_only", change)]
        booking = await book_transfer(statements, change)
        assert (await statements.match()).resolved == 1
    assert await statements.kinds() == []
    assert await statements.matches() == [("B1", booking.id, "booking")]
    assert await statements.float_change() == await statements.statement_change() == change
    await statements.check_ledger()


async def test_a_fee_in_a_later_file_is_attached_and_booked_on_its_own_day(statements: Statements) -> None:
    line = line_of(await statements.completed())
    await statements.take(line, fee_of(line, 10))
    later = clock.now() + timedelta(days=2)
    rest = Entry(line.receipt, -4, later, "Transaction fee")
    done = await statements.take(rest, opening=OPENING + 990, begins=later, ends=later)
    assert (done.fees, done.booked_fees, done.exceptions.count) == (1, -4, 0)
    assert (await statements.steps.balances())["network_fees"] == -14
    assert await statements.float_change() == await statements.statement_change()
    async with statements.database.read() as connection:
        days = await connection.fetch("SELECT value_date FROM house_bookings ORDER BY 1")
    assert [row["value_date"] for row in days] == [clock.day_of(line.at), clock.day_of(later)]


async def test_a_fee_whose_payment_is_found_later_is_attached_then(statements: Statements) -> None:
    stranger = Entry("QK77", 1000, clock.now())
    await statements.take(stranger, fee_of(stranger, 10))
    assert await statements.matches() == []
    payment = await statements.completed(receipt="QK77")
    assert (await statements.match()).fees == 1
    assert await statements.matches() == [("QK77", payment.id, "fee"), ("QK77", payment.id, "payment")]
    assert (await statements.steps.balances())["network_fees"] == -10


@pytest.mark.parametrize(
    ("charge", "charged", "difference"),
    [
        (None, 999, None),
        (Charge(channel=Channel.MPESA, type=Type.COLLECTION, basis_points=100), 10, None),
        (Charge(channel=Channel.MPESA, type=Type.COLLECTION, basis_points=100), 13, -3),
        (Charge(channel=Channel.MPESA, type=Type.COLLECTION, basis_points=100, fixed_fee=5), 10, 5),
        (Charge(channel=Channel.MPESA, type=Type.COLLECTION, basis_points=1, min_fee=2), 2, None),
        (Charge(channel=Channel.MPESA, type=Type.DISBURSEMENT, basis_points=1), 13, None),
    ],
)
async def test_a_charge_is_compared_with_what_operators_expect(
    statements: Statements, charge: Charge | None, charged: int, difference: int | None
) -> None:
    if charge is not None:
        async with statements.database.begin() as tx:
            await expected_charges.set_charge(tx, charge, by="asha", now=clock.now())
    line = line_of(await statements.completed())
    await statements.take(line, fee_of(line, charged))
    assert await statements.kinds() == ([] if difference is None else [("fee_differs", difference)])
