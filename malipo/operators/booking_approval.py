"""Top-ups and settlements that operators ask for. A large one is only proposed until another operator approves it,
because a wrong one is money lost: one operator alone could book any sum to any merchant.

Each step is one commit with its note in the audit log.
"""

from dataclasses import dataclass
from datetime import datetime

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, Forbidden, Missing, Refusal
from malipo.ledger import bookings as ledger
from malipo.ledger.bookings import Booking
from malipo.ledger.store import booking_proposals
from malipo.ledger.store.booking_proposals import Proposal


@dataclass(frozen=True, slots=True)
class Requested:
    is_new: bool  # else the same booking was made or proposed before, and nothing has changed
    proposal: Proposal | None  # while it waits for another operator


class NotOpen(Conflict):
    """It was decided already."""


class NotProposed(Missing):
    def __init__(self, name: str) -> None:
        super().__init__(f"Nothing is proposed with the reference or id {name!r}. See: malipo wallet pending")


class SeveralProposed(Refusal):
    code = "ambiguous"


async def request(tx: Tx, booking: Booking, *, approval_amount: int, actor: Actor, now: datetime) -> Requested:
    """Book it, or propose it if it is more than one operator may book. The same booking twice is one."""
    await booking_proposals.lock_booking(tx, booking.kind, booking.bank_reference)
    if (earlier := await ledger.find_proposed(tx, booking)) is not None:
        return Requested(is_new=False, proposal=earlier)
    if await ledger.is_booked(tx, booking):
        return Requested(is_new=False, proposal=None)
    if booking.amount > approval_amount:
        return Requested(is_new=True, proposal=await _propose(tx, booking, actor=actor, now=now))
    is_new = await ledger.book(
        tx, booking.kind, booking.merchant_id, booking.amount, reference=booking.bank_reference, now=now
    )
    assert is_new, "the booking is locked, and was not booked"
    await audit_log.append(
        tx,
        actor,
        f"wallet.{booking.kind}",
        now=now,
        merchant_id=booking.merchant_id,
        amount=booking.amount,
        reference=booking.bank_reference,
    )
    return Requested(is_new=True, proposal=None)


async def approve(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> Proposal:
    """Agree with what another operator has proposed, and book it."""
    proposal = await _open(tx, id_or_reference)
    _require_operator(actor)
    if proposal.requested_by == actor.name:
        raise Forbidden("Whoever proposed it cannot approve it: it takes two operators.")
    await booking_proposals.end(tx, proposal.id, decided_by=actor.name, is_approved=True, now=now)
    await ledger.book_proposed(tx, proposal, now=now)
    await _note(tx, actor, f"wallet.{proposal.kind}", proposal, now=now)
    return proposal


async def reject(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> Proposal:
    """Disagree with a proposal, or take one's own back. The same booking can then be proposed again."""
    proposal = await _open(tx, id_or_reference)
    _require_operator(actor)
    await booking_proposals.end(tx, proposal.id, decided_by=actor.name, is_approved=False, now=now)
    await _note(tx, actor, f"wallet.{proposal.kind}_rejected", proposal, now=now)
    return proposal


async def _propose(tx: Tx, booking: Booking, *, actor: Actor, now: datetime) -> Proposal:
    _require_operator(actor)
    await ledger.require_funds(tx, booking)
    proposal = Proposal(
        ids.mint(booking_proposals.ID_PREFIX, now),
        booking.merchant_id,
        booking.kind,
        booking.bank_reference,
        booking.amount,
        actor.name,
        now,
    )
    await booking_proposals.insert(tx, proposal)
    await _note(tx, actor, f"wallet.{booking.kind}_proposed", proposal, now=now)
    return proposal


def _require_operator(actor: Actor) -> None:
    """Without names it cannot be told that two operators are two."""
    if not actor.is_operator:
        raise Forbidden("This takes an operator: set MALIPO_OPERATOR to your name (see: malipo operators add).")


async def _open(tx: Tx, id_or_reference: str) -> Proposal:
    match await booking_proposals.lock_open(tx, id_or_reference):
        case [proposal]:
            return proposal
        case []:
            ended = await booking_proposals.find_last(tx, id_or_reference)
            if ended is None:
                raise NotProposed(id_or_reference)
            how = "approved" if ended.is_approved else "rejected"
            raise NotOpen(f"It was already {how} by {ended.decided_by}; nothing has changed.")
        case several:
            found = ", ".join(each.id for each in several)
            raise SeveralProposed(f"Several are proposed with the reference {id_or_reference!r}: {found}. Give the id.")


async def _note(tx: Tx, actor: Actor, what: str, proposal: Proposal, *, now: datetime) -> None:
    await audit_log.append(
        tx,
        actor,
        what,
        now=now,
        merchant_id=proposal.merchant_id,
        booking=proposal.id,
        amount=proposal.amount,
        reference=proposal.bank_reference,
        proposed_by=proposal.requested_by,
    )
