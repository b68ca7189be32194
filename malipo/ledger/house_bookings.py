"""House bookings: money that moves between accounts of the house, and concerns no merchant.

They are transfers between a network and the bank, network charges and sweeps, and operators' decisions about lines of a
statement. Each is one move of the ledger. A booking is never changed: another booking in the other direction undoes it.

Statements have cents, and the ledger has not. A booking keeps the cents that it could not move. When the cents of a
network's account are more than half a shilling, a shilling is booked to the account for rounding. So the float never
differs from the statements by more than half a shilling.
"""

from collections.abc import Sequence
from datetime import date, datetime
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from malipo import ids, money
from malipo.audit_log.actor import SYSTEM_NAME
from malipo.db import Tx
from malipo.errors import Code, Conflict, Missing, ensure
from malipo.ledger import suspense
from malipo.ledger.accounts import Account, Move
from malipo.ledger.store import house_bookings as store
from malipo.ledger.store import suspense as stored_suspense
from malipo.ledger.store.closed_days import first_open_day as find_first_open_day

ID_PREFIX = "hbk_"


class HouseBookingKind(StrEnum):
    BANK_TRANSFER = "bank_transfer"  # between a network and the bank, by an operator
    NETWORK_FEE = "network_fee"  # what the network took for itself
    SWEEP = "sweep"  # between accounts at the network
    LINE = "line"  # what operators decided about a line of a statement
    BANK_LINE = "bank_line"  # what operators decided about a line of our bank's statement
    ROUNDING = "rounding"  # cents that have become a shilling
    # At the bank, by operators (`bank_bookings.py`).
    OPENING_BALANCE = "opening_balance"
    CAPITAL = "capital"
    INTEREST = "interest"
    OTHER_INCOME = "other_income"
    BANK_CHARGE = "bank_charge"
    TAX = "tax"
    VAT_PAYMENT = "vat_payment"
    # Of an invoice or a credit note.
    VAT = "vat"
    UNDO = "undo"


# Instead of a channel, for bookings of lines of our bank's statements.
OF_BANK = "bank"

_ACCOUNTS = frozenset(Account) - {Account.WALLET, Account.IN_FLIGHT, Account.IN_SETTLEMENT}
_OTHER_END = {
    HouseBookingKind.BANK_TRANSFER: Account.BANK,
    HouseBookingKind.NETWORK_FEE: Account.NETWORK_FEES,
    HouseBookingKind.SWEEP: Account.SUSPENSE,
    HouseBookingKind.ROUNDING: Account.ROUNDING,
}


class HouseBooking(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: HouseBookingKind
    channel: str  # '' if no network is concerned
    account: str = ""  # which account, if we have several at that network
    source: Account
    target: Account
    amount: int
    cents: int = 0  # beyond the amount, signed as in the statement
    reference: str = ""  # the bank's; of the fees or sweeps of a file, the day of their lines
    file_id: str | None = None
    line_id: int | None = None
    reverses: str | None = None
    value_date: date  # the day in whose close the booking counts
    evidence: str = ""
    booked_by: str
    approved_by: str | None = None
    booked_at: datetime | None = None  # None before it is booked

    def __post_init__(self) -> None:
        ends = {self.source, self.target}
        ensure(self.amount > 0, "a booking of nothing is no booking")
        ensure(ends <= _ACCOUNTS, "a house booking touches no merchant's money")
        if self.kind in _OTHER_END:
            ensure(ends == {self.held_in, _OTHER_END[self.kind]}, "the kind names both accounts")

    @property
    def move(self) -> Move:
        is_of_float = Account.FLOAT in (self.source, self.target)
        return Move(self.source, self.target, self.amount, self.channel if is_of_float else None)

    @property
    def held_in(self) -> Account:
        """The account of the ledger for the one that the statement is of: a network's float, or the bank."""
        return held_in(self.channel)

    @property
    def change(self) -> int:
        """The change of the statement's account, signed as in the statement: above 0 came in."""
        return -self.move.change_of(self.held_in)


class HouseBookingRefusal(Code):
    NO_SUCH = "booking_unknown"
    UNDONE = "booking_undone"
    IS_UNDO = "booking_is_undo"
    IS_ROUNDING = "booking_is_rounding"
    IS_OF_INVOICE = "booking_is_of_invoice"
    DAY_CLOSED = "booking_day_closed"


class AlreadyUndone(Conflict):
    """Another booking has undone this one already."""

    def __init__(self, booking_id: str) -> None:
        super().__init__(code=HouseBookingRefusal.UNDONE, booking=booking_id)


class DayClosed(Conflict):
    """Nothing is booked into a closed day."""


class NotBooked(Missing):
    def __init__(self, booking_id: str) -> None:
        super().__init__(code=HouseBookingRefusal.NO_SUCH, name=booking_id)


def held_in(channel: str) -> Account:
    return Account.BANK if channel == OF_BANK else Account.FLOAT


def ends_of(change: int, other: Account, held: Account = Account.FLOAT) -> tuple[Account, Account]:
    """Source and target of a change of a statement's account, signed as in the statement: above 0 came in.

    Incoming money makes the float, which is our money elsewhere, more negative.
    """
    return (held, other) if change > 0 else (other, held)


def move_of(moved: int, other: Account, channel: str) -> tuple[Move, int]:
    """The move of a line's amount (in cents, not 0) in whole shillings, and the cents beyond it."""
    change, cents = money.split_movement(moved)
    return _move(change, other, channel), cents


def _move(change: int, other: Account, channel: str) -> Move:
    held = held_in(channel)
    return Move(*ends_of(change, other, held), abs(change), channel if held is Account.FLOAT else None)


def rounding_of(cents: int, channel: str) -> Move | None:
    """The move of the shillings that an account's cents have added up to; None if they have not."""
    shillings, _ = money.split(cents)
    return _move(shillings, Account.ROUNDING, channel) if shillings else None


def value_date_of(day: date, *, first_open_day: date | None) -> date:
    """The day in whose close a booking counts: a closed day does not change, so never before the first open one."""
    return day if first_open_day is None else max(day, first_open_day)


async def book(tx: Tx, bookings: Sequence[HouseBooking], *, now: datetime) -> list[HouseBooking]:
    """Book these at once, each with its move. Returns those that were booked now; the others were booked before:

    of a bank reference, of a line, or of the fees or sweeps of a file on a day there is one that is not undone.
    """
    derived = (HouseBookingKind.UNDO, HouseBookingKind.ROUNDING)
    ensure(all(each.kind not in derived for each in bookings), "an undo or a rounding follows another booking")
    await _require_open(tx, bookings)
    inserted = await store.insert(tx, [replace(each, booked_at=now) for each in bookings])
    booked = [each for each in bookings if each.id in inserted]
    await _round(tx, booked, now=now)
    return booked


async def undo(
    tx: Tx,
    booking_id: str,
    *,
    evidence: str,
    booked_by: str,
    approved_by: str | None = None,
    first_open_day: date | None = None,
    even_if_released: bool = False,
    now: datetime,
) -> HouseBooking:
    """Undo a booking by one in the other direction, of the same day if it is open, as if the booking had never been.

    What a merchant has of it out of suspense is then missing there, under the booking's name: only evidence may cause
    that, not an operator.
    """
    booking = await find(tx, booking_id)
    if booking is None:
        raise NotBooked(booking_id)
    if booking.kind is HouseBookingKind.UNDO:
        raise Conflict(code=HouseBookingRefusal.IS_UNDO)
    if booking.kind is HouseBookingKind.ROUNDING:
        raise Conflict(code=HouseBookingRefusal.IS_ROUNDING)
    if booking.kind is HouseBookingKind.VAT:
        raise Conflict(code=HouseBookingRefusal.IS_OF_INVOICE)
    await stored_suspense.lock(tx, booking.id)  # A release that comes at the same time waits, and is refused.
    if not even_if_released:
        await suspense.require_unreleased(tx, booking.id)
    reverse = replace(
        booking,
        id=ids.mint(ID_PREFIX, now),
        kind=HouseBookingKind.UNDO,
        source=booking.target,
        target=booking.source,
        cents=-booking.cents,
        reverses=booking.id,
        value_date=value_date_of(booking.value_date, first_open_day=first_open_day),
        evidence=evidence,
        booked_by=booked_by,
        approved_by=approved_by,
        booked_at=now,
    )
    await _require_open(tx, [reverse])
    if not await store.insert(tx, [reverse]):
        raise AlreadyUndone(booking_id)
    await _round(tx, [reverse], now=now)
    return reverse


async def _round(tx: Tx, booked: Sequence[HouseBooking], *, now: datetime) -> None:
    """Book the shillings that the cents of accounts have added up to."""
    days: dict[tuple[str, str], date] = {}
    for each in booked:
        if each.cents:
            where = (each.channel, each.account)
            days[where] = max(each.value_date, days.get(where, each.value_date))
    for (channel, account), day in sorted(days.items()):
        move = rounding_of(await store.sum_cents(tx, channel, account), channel)
        if move is None:
            continue
        rounding = HouseBooking(
            id=ids.mint(ID_PREFIX, now),
            kind=HouseBookingKind.ROUNDING,
            channel=channel,
            account=account,
            source=move.source,
            target=move.target,
            amount=move.amount,
            cents=100 * move.change_of(held_in(channel)),
            value_date=day,
            evidence="The cents of the statements",
            booked_by=SYSTEM_NAME,
            booked_at=now,
        )
        await store.insert(tx, [rounding])


async def _require_open(tx: Tx, bookings: Sequence[HouseBooking]) -> None:
    """Refuse a booking into a closed day, also from callers that did not ask which day is open."""
    opened = await find_first_open_day(tx)
    if opened is not None and any(each.value_date < opened for each in bookings):
        raise DayClosed(code=HouseBookingRefusal.DAY_CLOSED, day=opened)


async def find(tx: Tx, booking_id: str) -> HouseBooking | None:
    rows = await store.find(tx, "id = $1", booking_id)
    return booking_of(rows[0]) if rows else None


def booking_of(columns: dict[str, object]) -> HouseBooking:
    return msgspec.convert(columns, HouseBooking)
