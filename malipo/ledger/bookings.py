"""Bookings: money that an operator brings in or takes out, with the bank's reference. The same reference books once."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from malipo import ids, money
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.ledger.accounts import Account, Move, Posting, Step, Wallet
from malipo.ledger.store import booking_proposals
from malipo.ledger.store import wallets as store
from malipo.ledger.store.booking_proposals import Proposal


class Kind(StrEnum):
    TOP_UP = "top_up"  # the merchant's money arrived at the bank
    SETTLEMENT = "settlement"  # we sent the merchant their money from the bank


_BETWEEN = {
    Kind.TOP_UP: (Account.BANK, Account.WALLET),
    Kind.SETTLEMENT: (Account.WALLET, Account.BANK),
}


@dataclass(frozen=True, slots=True)
class Booking:
    """A transfer at the bank. It is identified by its kind and its bank reference."""

    kind: Kind
    merchant_id: str
    amount: int
    bank_reference: str

    # Only transfers of the house have them.
    channel: None = None
    account: None = None

    @property
    def moves(self) -> list[Move]:
        source, target = _BETWEEN[self.kind]
        return [Move(source, target, self.amount)]


class ReferenceReused(Conflict):
    code = "reference_reused"


class WalletTooLow(Refusal):
    code = "insufficient_balance"


async def book(tx: Tx, kind: Kind, merchant_id: str, amount: int, *, reference: str, now: datetime) -> bool:
    """Whether it was booked now. False: it was booked before, and nothing has changed.

    It is booked at once, whatever the amount. Operators use `malipo/operators/booking_approval.py`.
    """
    booking = Booking(kind, merchant_id, amount, reference)
    await booking_proposals.lock_booking(tx, kind, reference)
    if await find_proposed(tx, booking) is not None:
        raise Conflict(f"The reference {reference!r} is proposed, and waits for another operator.")
    return await _book(tx, ids.mint(booking_proposals.ID_PREFIX, now), booking, now=now)


async def book_proposed(tx: Tx, proposal: Proposal, *, now: datetime) -> None:
    """Book what another operator has approved, under the proposal's own id."""
    assert proposal.merchant_id is not None
    booking = Booking(Kind(proposal.kind), proposal.merchant_id, proposal.amount, proposal.bank_reference)
    if not await _book(tx, proposal.id, booking, now=now):
        raise Conflict(
            f"The reference {booking.bank_reference!r} was booked without its proposal, which can be rejected."
        )


async def find_proposed(tx: Tx, booking: Booking) -> Proposal | None:
    """The open proposal of this booking. The same reference with another merchant or amount is a conflict."""
    proposal = await booking_proposals.find_open(tx, booking.kind, booking.bank_reference)
    if proposal is not None and (proposal.merchant_id, proposal.amount) != (booking.merchant_id, booking.amount):
        raise ReferenceReused(
            f"The reference {booking.bank_reference!r} is already proposed for another merchant or amount."
        )
    return proposal


async def is_booked(tx: Tx, booking: Booking) -> bool:
    """Whether this was booked. The same reference with another merchant or amount is a conflict."""
    if not await booking_proposals.is_booked(tx, booking.kind, booking.bank_reference):
        return False
    if await store.get_booking(tx, booking.kind, booking.bank_reference) != (booking.merchant_id, booking.amount):
        raise ReferenceReused(
            f"The reference {booking.bank_reference!r} was already booked for another merchant or amount."
        )
    return True


async def require_funds(tx: Tx, booking: Booking) -> None:
    """Refuse early what the wallet cannot pay now. It is checked again when it is booked."""
    await _lock_wallet(tx, booking)


async def _book(tx: Tx, booking_id: str, booking: Booking, *, now: datetime) -> bool:
    is_new = await store.insert_booking(
        tx,
        booking_id=booking_id,
        merchant_id=booking.merchant_id,
        kind=booking.kind,
        bank_reference=booking.bank_reference,
        amount=booking.amount,
        now=now,
    )
    if not is_new:
        return not await is_booked(tx, booking)
    wallets = await _lock_wallet(tx, booking)
    await store.post(tx, wallets, [Posting(booking.merchant_id, booking_id, Step.BOOKING, booking.moves)], now=now)
    return True


async def _lock_wallet(tx: Tx, booking: Booking) -> dict[str, Wallet]:
    """The wallet, if it can pay the booking. What it owes after corrections cannot be settled to the merchant."""
    wallets = await store.lock(tx, [booking.merchant_id])
    if booking.kind is Kind.SETTLEMENT and not wallets[booking.merchant_id].can_spend(booking.moves):
        raise WalletTooLow(_too_low(wallets[booking.merchant_id]))
    return wallets


def _too_low(wallet: Wallet) -> str:
    held = f"The wallet holds only {money.display(wallet.available)}"
    return f"{held}, of which {money.display(wallet.owed)} is owed." if wallet.owed else f"{held}."
