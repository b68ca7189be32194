"""Top-ups and settlements that operators ask for. A large one is only proposed until another operator approves it,
because a wrong one is money lost: one operator alone could book any sum to any merchant.

Each step is one commit with its note in the audit trail.
"""

from dataclasses import dataclass
from datetime import datetime

from malipo import ids
from malipo.db import Tx
from malipo.errors import Conflict, Forbidden, Missing, Refusal
from malipo.ledger import book as ledger
from malipo.ledger.book import Paper
from malipo.ledger.store import proposals
from malipo.ledger.store.proposals import Proposal
from malipo.trail import store as trail
from malipo.trail.store import Actor


@dataclass(frozen=True, slots=True)
class Requested:
    is_new: bool  # else the same paper was booked or proposed before, and nothing has changed
    proposal: Proposal | None  # while it waits for another operator


class NotOpen(Conflict):
    """Somebody was faster."""


class NotProposed(Missing):
    def __init__(self, name: str) -> None:
        super().__init__(f"Nothing is proposed with the reference or id {name!r}. See: malipo wallet pending")


class SeveralProposed(Refusal):
    code = "ambiguous"


async def request(tx: Tx, paper: Paper, *, approval_amount: int, actor: Actor, now: datetime) -> Requested:
    """Book it, or propose it if it is more than one operator may book. The same paper twice is one."""
    await proposals.lock_paper(tx, paper.kind, paper.reference)
    if (earlier := await ledger.find_proposed(tx, paper)) is not None:
        return Requested(is_new=False, proposal=earlier)
    if await ledger.is_booked(tx, paper):
        return Requested(is_new=False, proposal=None)
    if paper.amount > approval_amount:
        return Requested(is_new=True, proposal=await _propose(tx, paper, actor=actor, now=now))
    is_new = await ledger.book(tx, paper.kind, paper.merchant_id, paper.amount, reference=paper.reference, now=now)
    assert is_new, "the paper is locked, and was not booked"
    await trail.note(
        tx,
        actor,
        f"wallet.{paper.kind}",
        now=now,
        merchant_id=paper.merchant_id,
        amount=paper.amount,
        reference=paper.reference,
    )
    return Requested(is_new=True, proposal=None)


async def approve(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> Proposal:
    """Agree with what another operator has proposed, and book it."""
    proposal = await _open(tx, id_or_reference)
    _require_operator(actor)
    if proposal.proposed_by == actor.who:
        raise Forbidden("Whoever proposed it cannot approve it: it takes two operators.")
    await proposals.end(tx, proposal.id, ended_by=actor.who, is_approved=True, now=now)
    await ledger.book_proposed(tx, proposal, now=now)
    await _note(tx, actor, f"wallet.{proposal.kind}", proposal, now=now)
    return proposal


async def reject(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> Proposal:
    """Disagree with a proposal, or take one's own back. The paper can then be proposed again."""
    proposal = await _open(tx, id_or_reference)
    _require_operator(actor)
    await proposals.end(tx, proposal.id, ended_by=actor.who, is_approved=False, now=now)
    await _note(tx, actor, f"wallet.{proposal.kind}_rejected", proposal, now=now)
    return proposal


async def _propose(tx: Tx, paper: Paper, *, actor: Actor, now: datetime) -> Proposal:
    _require_operator(actor)
    await ledger.require_funds(tx, paper)
    proposal = Proposal(
        ids.mint(proposals.ID_PREFIX, now), paper.merchant_id, paper.kind, paper.reference, paper.amount, actor.who, now
    )
    await proposals.insert(tx, proposal)
    await _note(tx, actor, f"wallet.{paper.kind}_proposed", proposal, now=now)
    return proposal


def _require_operator(actor: Actor) -> None:
    """Two people are only two if each has a name."""
    if not actor.is_operator:
        raise Forbidden("This takes an operator: set MALIPO_OPERATOR to your name (see: malipo operators add).")


async def _open(tx: Tx, id_or_reference: str) -> Proposal:
    match await proposals.lock_open(tx, id_or_reference):
        case [proposal]:
            return proposal
        case []:
            ended = await proposals.find_last(tx, id_or_reference)
            if ended is None:
                raise NotProposed(id_or_reference)
            how = "approved" if ended.is_approved else "rejected"
            raise NotOpen(f"It was already {how} by {ended.ended_by}; nothing has changed.")
        case several:
            found = ", ".join(each.id for each in several)
            raise SeveralProposed(f"Several are proposed with the reference {id_or_reference!r}: {found}. Give the id.")


async def _note(tx: Tx, actor: Actor, what: str, proposal: Proposal, *, now: datetime) -> None:
    await trail.note(
        tx,
        actor,
        what,
        now=now,
        merchant_id=proposal.merchant_id,
        booking=proposal.id,
        amount=proposal.amount,
        reference=proposal.reference,
        proposed_by=proposal.proposed_by,
    )
