"""Bookings: money that an operator brings in or takes out, with the bank's reference. The same reference books once."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from malipo import ids, money
from malipo.db import Tx
from malipo.errors import Code, Conflict, Refusal
from malipo.ledger import suspense
from malipo.ledger.accounts import Account, Move, Posting, Step
from malipo.ledger.store import bookings as stored_bookings
from malipo.ledger.store import wallets as store
from malipo.ledger.wallet import Wallet

ID_PREFIX = "bok_"


class BookingKind(StrEnum):
    TOP_UP = "top_up"  # the merchant's money arrived at the bank
    SETTLEMENT = "settlement"  # we sent the merchant their money from the bank
    SUSPENSE_RELEASE = "suspense_release"  # money of a house booking in suspense turned out to be the merchant's
    SUSPENSE_TAKE_BACK = "suspense_take_back"  # it was not the merchant's: the way back of a release


_BETWEEN = {
    BookingKind.TOP_UP: (Account.BANK, Account.WALLET),
    BookingKind.SETTLEMENT: (Account.WALLET, Account.BANK),
    BookingKind.SUSPENSE_RELEASE: (Account.SUSPENSE, Account.WALLET),
    BookingKind.SUSPENSE_TAKE_BACK: (Account.WALLET, Account.SUSPENSE),
}


@dataclass(frozen=True, slots=True)
class Booking:
    """A top-up or settlement, identified by its kind and its bank reference."""

    kind: BookingKind
    merchant_id: str
    amount: int
    bank_reference: str
    releases: str | None = None  # of a release, or of its way back: the house booking whose money it is

    # Only transfers of the house have these.
    channel: None = None
    account: None = None

    @property
    def moves(self) -> list[Move]:
        source, target = _BETWEEN[self.kind]
        return [Move(source, target, self.amount)]


class BookingRefusal(Code):
    PROPOSED = "reference_proposed"
    PROPOSED_OTHERWISE = "reference_proposed_otherwise"
    BOOKED_OTHERWISE = "reference_booked_otherwise"
    BOOKED_WITHOUT_PROPOSAL = "reference_booked_without_proposal"
    WALLET_TOO_LOW = "wallet_too_low"
    WALLET_OWES = "wallet_owes"


class ReferenceReused(Conflict):
    """Another booking has this bank reference."""


class WalletTooLow(Refusal):
    """The wallet does not hold enough."""


async def book(tx: Tx, kind: BookingKind, merchant_id: str, amount: int, *, reference: str, now: datetime) -> bool:
    """Book at once, whatever the amount. Returns False if it was booked before; then nothing has changed.

    Operators use `malipo/approvals/booking_approval.py`.
    """
    booking = Booking(kind, merchant_id, amount, reference)
    await stored_bookings.lock_reference(tx, kind, reference)
    if await stored_bookings.is_proposed(tx, kind, reference):
        raise ReferenceReused(code=BookingRefusal.PROPOSED, reference=reference)
    return await _book(tx, ids.mint(ID_PREFIX, now), booking, now=now)


async def book_proposed(tx: Tx, booking_id: str, booking: Booking, *, now: datetime) -> None:
    """Book an approved proposal, under the proposal's own id."""
    if not await _book(tx, booking_id, booking, now=now):
        raise Conflict(code=BookingRefusal.BOOKED_WITHOUT_PROPOSAL, reference=booking.bank_reference)


async def is_booked(tx: Tx, booking: Booking) -> bool:
    """Whether this booking exists. The same reference with another merchant or amount is a conflict."""
    if (booked := await stored_bookings.find(tx, booking.kind, booking.bank_reference)) is None:
        return False
    if booked != (booking.merchant_id, booking.amount, booking.releases):
        raise ReferenceReused(code=BookingRefusal.BOOKED_OTHERWISE, reference=booking.bank_reference)
    return True


async def require_funds(tx: Tx, booking: Booking) -> None:
    """Refuse early a booking that the wallet, or what is in suspense, cannot pay now. This is checked again when it is
    booked."""
    await _require_in_suspense(tx, booking)
    await _lock_wallet(tx, booking)


async def _require_in_suspense(tx: Tx, booking: Booking) -> None:
    if booking.releases is None:
        return
    if booking.kind is BookingKind.SUSPENSE_TAKE_BACK:
        await suspense.require_released(tx, booking.releases, booking.merchant_id, booking.amount)
    else:
        await suspense.require_left(tx, booking.releases, booking.amount)


async def _book(tx: Tx, booking_id: str, booking: Booking, *, now: datetime) -> bool:
    if booking.releases is not None and not await is_booked(tx, booking):
        await _require_in_suspense(tx, booking)
    is_new = await stored_bookings.insert(
        tx,
        booking_id=booking_id,
        merchant_id=booking.merchant_id,
        kind=booking.kind,
        bank_reference=booking.bank_reference,
        amount=booking.amount,
        releases=booking.releases,
        now=now,
    )
    if not is_new:
        return not await is_booked(tx, booking)
    wallets = await _lock_wallet(tx, booking)
    await store.post(tx, wallets, [Posting(booking.merchant_id, booking_id, Step.BOOKING, booking.moves)], now=now)
    return True


async def _lock_wallet(tx: Tx, booking: Booking) -> dict[str, Wallet]:
    """Lock the wallet; refuse the booking if it cannot pay. A debt after corrections cannot be settled to the
    merchant, nor taken back into suspense."""
    wallets = await store.lock(tx, [booking.merchant_id])
    is_out = booking.kind in (BookingKind.SETTLEMENT, BookingKind.SUSPENSE_TAKE_BACK)
    if is_out and not wallets[booking.merchant_id].can_spend(booking.moves):
        raise _too_low(wallets[booking.merchant_id])
    return wallets


def _too_low(wallet: Wallet) -> WalletTooLow:
    available = money.display(wallet.available)
    if wallet.owed:
        return WalletTooLow(code=BookingRefusal.WALLET_OWES, available=available, owed=money.display(wallet.owed))
    return WalletTooLow(code=BookingRefusal.WALLET_TOO_LOW, available=available)
