"""Money that an operator brings in or takes out by hand, with the bank's reference. The same paper books once."""

from datetime import datetime
from enum import StrEnum

from malipo import ids, money
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.ledger.entry import Account, Move, Posting, Step, Wallet
from malipo.ledger.store import wallets as store


class Kind(StrEnum):
    TOP_UP = "top_up"  # the merchant's money arrived at the bank
    SETTLEMENT = "settlement"  # we sent the merchant their money from the bank


_BETWEEN = {
    Kind.TOP_UP: (Account.BANK, Account.WALLET),
    Kind.SETTLEMENT: (Account.WALLET, Account.BANK),
}


class ReferenceReused(Conflict):
    code = "reference_reused"


class WalletTooLow(Refusal):
    code = "insufficient_balance"


async def book(tx: Tx, kind: Kind, merchant_id: str, amount: int, *, reference: str, now: datetime) -> bool:
    """Whether it was booked now. False: the same was booked before, and nothing has changed."""
    booking_id = ids.mint("bok_", now)
    is_new = await store.insert_booking(
        tx,
        booking_id=booking_id,
        merchant_id=merchant_id,
        kind=kind,
        reference=reference,
        amount=amount,
        now=now,
    )
    if not is_new:
        if await store.get_booking(tx, kind, reference) != (merchant_id, amount):
            raise ReferenceReused(f"The reference {reference!r} was already booked for another merchant or amount.")
        return False
    source, target = _BETWEEN[kind]
    moves = [Move(source, target, amount)]
    wallets = await store.lock(tx, [merchant_id])
    if kind is Kind.SETTLEMENT and not wallets[merchant_id].can_spend(moves):
        raise WalletTooLow(_too_low(wallets[merchant_id]))
    await store.post(tx, wallets, [Posting(merchant_id, booking_id, Step.BOOKING, moves)], now=now)
    return True


def _too_low(wallet: Wallet) -> str:
    held = f"The wallet holds only {money.display(wallet.available)}"
    return f"{held}, of which {money.display(wallet.owed)} is owed." if wallet.owed else f"{held}."
