"""Top-ups, settlements and transfers between a network and the bank that operators ask for. A large one is only
proposed until another operator approves it, because a wrong one is money lost: one operator alone could book any sum.

Each step is one commit with its note in the audit log.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from malipo import ids
from malipo.approvals import moved_alone
from malipo.approvals.acts import Act
from malipo.approvals.moved_alone import require_operator
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, Missing, Refusal
from malipo.ledger import bookings, transfers
from malipo.ledger.bookings import Booking
from malipo.ledger.store import booking_proposals
from malipo.ledger.store.booking_proposals import Proposal
from malipo.ledger.transfers import Transfer
from malipo.operators import vouching


@dataclass(frozen=True, slots=True)
class Requested:
    is_new: bool  # else the same booking was made or proposed before, and nothing has changed
    proposal: Proposal | None  # while it waits for another operator


class NotOpen(Conflict):
    """It was decided already."""


class NotProposed(Missing):
    def __init__(self, name: str) -> None:
        super().__init__(
            f"Nothing is proposed with the reference or id {name!r}. See: malipo wallet pending, malipo floats pending"
        )


class SeveralProposed(Refusal):
    code = "ambiguous"


async def request(
    tx: Tx,
    booking: Booking | Transfer,
    *,
    approval_amount: int,
    actor: Actor,
    now: datetime,
    is_single_operator: bool = False,
) -> Requested:
    """Book it, or propose it if it is more than one operator may book. The same booking twice is one."""
    await moved_alone.lock(tx, actor.name)
    # A reference of the bank's is of one transfer, whichever way it went.
    lock_kind = "transfer" if isinstance(booking, Transfer) else booking.kind
    await booking_proposals.lock_booking(tx, lock_kind, booking.bank_reference)
    if (earlier := await _find_proposed(tx, booking)) is not None:
        return Requested(is_new=False, proposal=earlier)
    if await _is_booked(tx, booking):
        return Requested(is_new=False, proposal=None)
    if await moved_alone.takes_two(
        tx,
        act_of(booking),
        booking.amount,
        operator=actor.name,
        subject=booking.bank_reference,
        approval_amount=approval_amount,
        now=now,
        is_single_operator=is_single_operator,
    ):
        return Requested(is_new=True, proposal=await _propose(tx, booking, actor=actor, now=now))
    assert await _book(tx, booking, actor=actor, now=now), "the booking is locked, and was not booked"
    details = _details(booking) | audit_log.alone(is_single_operator)
    await audit_log.append(tx, actor, action_of(booking.kind), now=now, **details)
    return Requested(is_new=True, proposal=None)


async def approve(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> Proposal:
    """Agree with what another operator has proposed, and book it."""
    proposal = await _open(tx, id_or_reference)
    require_operator(actor)
    await vouching.require_two(tx, proposed_by=proposal.requested_by, approver=actor, now=now)
    await booking_proposals.end(tx, proposal.id, decided_by=actor.name, is_approved=True, now=now)
    if proposal.channel is None:
        await bookings.book_proposed(tx, proposal, now=now)
    else:
        await transfers.book_proposed(tx, proposal, approved_by=actor.name, now=now)
    await _note(tx, actor, action_of(proposal.kind), proposal, now=now)
    return proposal


async def reject(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> Proposal:
    """Disagree with a proposal, or take one's own back. The same booking can then be proposed again."""
    proposal = await _open(tx, id_or_reference)
    require_operator(actor)
    await booking_proposals.end(tx, proposal.id, decided_by=actor.name, is_approved=False, now=now)
    await _note(tx, actor, f"{action_of(proposal.kind)}_rejected", proposal, now=now)
    return proposal


def act_of(booking: Booking | Transfer) -> Act:
    return Act.TRANSFER if isinstance(booking, Transfer) else Act(booking.kind)


def action_of(kind: str) -> str:
    """What the audit log calls it."""
    return f"float.{kind}" if kind in list(transfers.Kind) else f"wallet.{kind}"


async def _find_proposed(tx: Tx, booking: Booking | Transfer) -> Proposal | None:
    if isinstance(booking, Transfer):
        return await transfers.find_proposed(tx, booking)
    return await bookings.find_proposed(tx, booking)


async def _is_booked(tx: Tx, booking: Booking | Transfer) -> bool:
    if isinstance(booking, Transfer):
        return await transfers.is_booked(tx, booking)
    return await bookings.is_booked(tx, booking)


async def _book(tx: Tx, booking: Booking | Transfer, *, actor: Actor, now: datetime) -> bool:
    if isinstance(booking, Transfer):
        return await transfers.book(tx, booking, booked_by=actor.name, now=now)
    return await bookings.book(
        tx, booking.kind, booking.merchant_id, booking.amount, reference=booking.bank_reference, now=now
    )


async def _propose(tx: Tx, booking: Booking | Transfer, *, actor: Actor, now: datetime) -> Proposal:
    require_operator(actor)
    prefix = booking_proposals.TRANSFER_ID_PREFIX
    if isinstance(booking, Booking):
        prefix = booking_proposals.ID_PREFIX
        await bookings.require_funds(tx, booking)
    proposal = Proposal(
        ids.mint(prefix, now),
        booking.merchant_id,
        booking.kind,
        booking.bank_reference,
        booking.amount,
        actor.name,
        now,
        channel=booking.channel,
        account=booking.account,
    )
    await booking_proposals.insert(tx, proposal)
    await _note(tx, actor, f"{action_of(booking.kind)}_proposed", proposal, now=now)
    return proposal


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


def _details(booking: Booking | Transfer | Proposal) -> dict[str, Any]:
    """Whose it is, how much, and the bank's reference, for the audit log."""
    whose = {"merchant_id": booking.merchant_id}
    if booking.channel is not None:
        whose = {"channel": booking.channel, "account": booking.account}
    return {**whose, "amount": booking.amount, "reference": booking.bank_reference}


async def _note(tx: Tx, actor: Actor, what: str, proposal: Proposal, *, now: datetime) -> None:
    await audit_log.append(
        tx, actor, what, now=now, booking=proposal.id, **_details(proposal), proposed_by=proposal.requested_by
    )
