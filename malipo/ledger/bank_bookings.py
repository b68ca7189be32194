"""Money of the house at its bank, with the bank's reference: interest, charges, other income, taxes, what the owners
put in or take out, and what was there when malipo began. The same reference books once.

What there was at the beginning can also lie at a network. It is booked before the first day is closed, because the
first close begins with it.
"""

from dataclasses import dataclass
from datetime import date, datetime
from enum import StrEnum

from malipo import clock, ids
from malipo.db import Tx
from malipo.errors import Code, Conflict, Invalid
from malipo.ledger import house_bookings
from malipo.ledger.accounts import Account
from malipo.ledger.bookings import BookingRefusal, ReferenceReused
from malipo.ledger.house_bookings import ID_PREFIX, DayClosed, HouseBooking, HouseBookingKind, HouseBookingRefusal
from malipo.ledger.store import house_bookings as store
from malipo.ledger.store.closed_days import first_open_day


class BankBookingKind(StrEnum):
    OPENING_BALANCE = "opening_balance"  # what was there when malipo began
    CAPITAL = "capital"  # the owners put in; back: they take out
    INTEREST = "interest"
    OTHER_INCOME = "other_income"
    BANK_CHARGE = "bank_charge"
    TAX = "tax"
    VAT_PAYMENT = "vat_payment"


# The other account, and whether the money usually comes in.
KINDS: dict[BankBookingKind, tuple[Account, bool]] = {
    BankBookingKind.OPENING_BALANCE: (Account.EQUITY, True),
    BankBookingKind.CAPITAL: (Account.EQUITY, True),
    BankBookingKind.INTEREST: (Account.INTEREST, True),
    BankBookingKind.OTHER_INCOME: (Account.OTHER_INCOME, True),
    BankBookingKind.BANK_CHARGE: (Account.BANK_CHARGES, False),
    BankBookingKind.TAX: (Account.TAXES, False),
    BankBookingKind.VAT_PAYMENT: (Account.VAT, False),
}


class BankBookingRefusal(Code):
    DAY_NEEDED = "bank_booking_needs_day"
    DAY_IN_FUTURE = "bank_booking_day_in_future"
    ONLY_OPENING_AT_NETWORK = "bank_booking_only_opening_at_network"
    OPENING_TOO_LATE = "bank_booking_opening_too_late"


@dataclass(frozen=True, slots=True)
class BankBooking:
    """A booking of the house, identified by its kind and its bank reference."""

    kind: BankBookingKind
    amount: int
    bank_reference: str
    is_back: bool = False  # the other way than usual: a charge that was given back, an overdraft at the beginning
    day: date | None = None  # on which it counts, if that is open; None: the day on which it is booked
    channel: str = ""  # of an opening balance at a network
    account: str = ""  # which account, if there are several at that network
    merchant_id: None = None  # It concerns no merchant.

    @property
    def ends(self) -> tuple[Account, Account]:
        """Source and target. Incoming money makes the bank, which is our money elsewhere, more negative."""
        other, comes_in = KINDS[self.kind]
        place = Account.FLOAT if self.channel else Account.BANK
        return (place, other) if comes_in is not self.is_back else (other, place)


async def require_bookable(tx: Tx, booking: BankBooking, *, now: datetime) -> None:
    """Refuse early what could not be booked, or not on its day. (A day may be closed before the second operator
    approves; then the booking counts on the first open one.)"""
    is_opening = booking.kind is BankBookingKind.OPENING_BALANCE
    opened = await first_open_day(tx)
    if booking.channel and not is_opening:
        raise Invalid(code=BankBookingRefusal.ONLY_OPENING_AT_NETWORK)
    if booking.channel and opened is not None:
        raise Conflict(code=BankBookingRefusal.OPENING_TOO_LATE)
    if is_opening and booking.day is None:
        raise Invalid(code=BankBookingRefusal.DAY_NEEDED)
    if booking.day is not None and booking.day > clock.day_of(now):
        raise Invalid(code=BankBookingRefusal.DAY_IN_FUTURE, day=booking.day)
    if booking.day is not None and opened is not None and booking.day < opened:
        raise DayClosed(code=HouseBookingRefusal.DAY_CLOSED, day=opened)


async def is_booked(tx: Tx, booking: BankBooking) -> bool:
    """Whether this was booked. The same kind and reference for another booking is a conflict."""
    found = [
        house_bookings.booking_of(row)
        for row in await store.find_of_reference(tx, booking.kind, booking.bank_reference)
    ]
    terms = (*booking.ends, booking.amount, booking.channel, booking.account)
    if found and [(each.source, each.target, each.amount, each.channel, each.account) for each in found] != [terms]:
        raise ReferenceReused(code=BookingRefusal.BOOKED_OTHERWISE, reference=booking.bank_reference)
    return bool(found)


async def book(
    tx: Tx, booking: BankBooking, *, booked_by: str, approved_by: str | None = None, booking_id: str = "", now: datetime
) -> bool:
    """Book it. Returns False if it was booked before; then nothing has changed."""
    opened = await first_open_day(tx)
    if booking.channel and opened is not None:
        raise Conflict(code=BankBookingRefusal.OPENING_TOO_LATE)
    source, target = booking.ends
    booked = HouseBooking(
        id=booking_id or ids.mint(ID_PREFIX, now),
        kind=HouseBookingKind(booking.kind),
        channel=booking.channel,
        account=booking.account,
        source=source,
        target=target,
        amount=booking.amount,
        reference=booking.bank_reference,
        value_date=house_bookings.value_date_of(booking.day or clock.day_of(now), first_open_day=opened),
        booked_by=booked_by,
        approved_by=approved_by,
    )
    return bool(await house_bookings.book(tx, [booked], now=now)) or not await is_booked(tx, booking)


async def book_proposed(
    tx: Tx, booking_id: str, booking: BankBooking, *, requested_by: str, approved_by: str | None, now: datetime
) -> None:
    """Book an approved proposal, under the proposal's own id."""
    if not await book(tx, booking, booked_by=requested_by, approved_by=approved_by, booking_id=booking_id, now=now):
        raise Conflict(code=BookingRefusal.BOOKED_WITHOUT_PROPOSAL, reference=booking.bank_reference)
