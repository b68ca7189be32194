"""Money that an operator brings in or takes out by hand, with the bank's reference. The same paper books once."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from malipo import ids, money
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.ledger.entry import Account, Move, Posting, Step, Wallet
from malipo.ledger.store import proposals
from malipo.ledger.store import wallets as store
from malipo.ledger.store.proposals import Proposal


class Kind(StrEnum):
    TOP_UP = "top_up"  # the merchant's money arrived at the bank
    SETTLEMENT = "settlement"  # we sent the merchant their money from the bank


_BETWEEN = {
    Kind.TOP_UP: (Account.BANK, Account.WALLET),
    Kind.SETTLEMENT: (Account.WALLET, Account.BANK),
}


@dataclass(frozen=True, slots=True)
class Paper:
    """What the bank's paper says. Kind and reference name it."""

    kind: Kind
    merchant_id: str
    amount: int
    reference: str

    @property
    def moves(self) -> list[Move]:
        source, target = _BETWEEN[self.kind]
        return [Move(source, target, self.amount)]


class ReferenceReused(Conflict):
    code = "reference_reused"


class WalletTooLow(Refusal):
    code = "insufficient_balance"


async def book(tx: Tx, kind: Kind, merchant_id: str, amount: int, *, reference: str, now: datetime) -> bool:
    """Whether it was booked now. False: the same was booked before, and nothing has changed.

    At once, whatever the amount: what an operator asks for goes through `malipo/bookings.py`.
    """
    paper = Paper(kind, merchant_id, amount, reference)
    await proposals.lock_paper(tx, kind, reference)
    if await find_proposed(tx, paper) is not None:
        raise Conflict(f"The reference {reference!r} is proposed, and waits for another operator.")
    return await _book(tx, ids.mint(proposals.ID_PREFIX, now), paper, now=now)


async def book_proposed(tx: Tx, proposal: Proposal, *, now: datetime) -> None:
    """Book what another operator has approved, under the proposal's own id."""
    paper = Paper(Kind(proposal.kind), proposal.merchant_id, proposal.amount, proposal.reference)
    if not await _book(tx, proposal.id, paper, now=now):
        raise Conflict(f"The reference {paper.reference!r} was booked without its proposal, which can be rejected.")


async def find_proposed(tx: Tx, paper: Paper) -> Proposal | None:
    """The open proposal of this paper. One for something else is a conflict."""
    proposal = await proposals.find_open(tx, paper.kind, paper.reference)
    if proposal is not None and (proposal.merchant_id, proposal.amount) != (paper.merchant_id, paper.amount):
        raise ReferenceReused(f"The reference {paper.reference!r} is already proposed for another merchant or amount.")
    return proposal


async def is_booked(tx: Tx, paper: Paper) -> bool:
    """Whether this paper was booked. One for something else is a conflict."""
    if not await proposals.is_booked(tx, paper.kind, paper.reference):
        return False
    if await store.get_booking(tx, paper.kind, paper.reference) != (paper.merchant_id, paper.amount):
        raise ReferenceReused(f"The reference {paper.reference!r} was already booked for another merchant or amount.")
    return True


async def require_funds(tx: Tx, paper: Paper) -> None:
    """Say early what could not be borne now. It is looked at again when it is booked."""
    await _lock_wallet(tx, paper)


async def _book(tx: Tx, booking_id: str, paper: Paper, *, now: datetime) -> bool:
    is_new = await store.insert_booking(
        tx,
        booking_id=booking_id,
        merchant_id=paper.merchant_id,
        kind=paper.kind,
        reference=paper.reference,
        amount=paper.amount,
        now=now,
    )
    if not is_new:
        return not await is_booked(tx, paper)
    wallets = await _lock_wallet(tx, paper)
    await store.post(tx, wallets, [Posting(paper.merchant_id, booking_id, Step.BOOKING, paper.moves)], now=now)
    return True


async def _lock_wallet(tx: Tx, paper: Paper) -> dict[str, Wallet]:
    """The wallet that can bear it. What it owes by corrections cannot be settled to the merchant."""
    wallets = await store.lock(tx, [paper.merchant_id])
    if paper.kind is Kind.SETTLEMENT and not wallets[paper.merchant_id].can_spend(paper.moves):
        raise WalletTooLow(_too_low(wallets[paper.merchant_id]))
    return wallets


def _too_low(wallet: Wallet) -> str:
    held = f"The wallet holds only {money.display(wallet.available)}"
    return f"{held}, of which {money.display(wallet.owed)} is owed." if wallet.owed else f"{held}."
