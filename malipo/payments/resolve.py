"""What an operator does about a payment whose network does not say what became of it, or says two things.

It takes evidence. A collection is resolved by one operator; a payout is proposed by one and approved by another,
because a payout that is given back although it was paid is money lost.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from malipo import ids
from malipo.db import Tx
from malipo.errors import Conflict, Forbidden, Invalid, Missing
from malipo.ledger.entry import Step
from malipo.networks.contract import FailureCode
from malipo.payments import record
from malipo.payments.record import Change
from malipo.payments.settle import reason_of
from malipo.payments.store import cases
from malipo.payments.store.cases import Case, Proposal
from malipo.payments.transaction import Cause, Status, Transaction, Type
from malipo.trail import store as trail
from malipo.trail.store import Actor


class Truth(StrEnum):
    COMPLETED = "completed"  # the money moved
    FAILED = "failed"  # it did not, or it came back

    @property
    def cause(self) -> Cause:
        return Cause.CONFIRMED if self is Truth.COMPLETED else Cause.REFUSED


@dataclass(frozen=True, slots=True)
class Finding:
    """What an operator has found out, and how they know."""

    truth: Truth
    evidence: str
    provider_reference: str | None = None


@dataclass(frozen=True, slots=True)
class Resolved:
    transaction: Transaction
    truth: Truth
    is_done: bool  # not so while a second operator has to agree
    is_of_contradiction: bool = False  # what the merchant sees stays, whatever is true


async def propose(tx: Tx, id_or_reference: str, finding: Finding, *, actor: Actor, now: datetime) -> Resolved:
    """Say what became of a payment. For a collection that is enough."""
    if not 10 <= len(finding.evidence) <= 1000 or not finding.evidence.isprintable():
        raise Invalid("The evidence is what the network's statement or staff say, in 10 to 1,000 characters.")
    case = await _case(tx, id_or_reference, finding.truth)
    transaction = case.transaction
    earlier = await cases.find_proposal(tx, transaction)
    if earlier is not None and not _is_stale(earlier, transaction):
        raise Conflict(f"It is already proposed as {earlier.outcome}; approve that, or reject it.")
    if earlier is not None:
        await cases.end_proposal(tx, earlier.id, ended_by=actor.who, is_approved=False, now=now)
    proposal = Proposal(
        ids.mint("res_", now),
        finding.truth,
        finding.evidence,
        finding.provider_reference,
        actor.who,
        transaction.status.is_final,
        now,
    )
    await cases.insert_proposal(
        tx,
        transaction,
        id_=proposal.id,
        outcome=finding.truth,
        evidence=finding.evidence,
        provider_reference=finding.provider_reference,
        proposed_by=actor.who,
        now=now,
    )
    # What the network itself has put in doubt, one operator may clear up; what nobody else doubts takes two.
    is_ours_alone = transaction.status.is_final and not case.is_contradicted
    if transaction.type is Type.DISBURSEMENT or is_ours_alone:
        await _note(tx, actor, "payment.resolution_proposed", transaction, proposal, now=now)
        return Resolved(transaction, finding.truth, is_done=False)
    return await _apply(tx, case, proposal, actor=actor, now=now)


async def approve(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> Resolved:
    """Agree with what another operator has proposed."""
    transaction = (await _found(tx, id_or_reference)).transaction
    proposal = await cases.find_proposal(tx, transaction)
    if proposal is not None and _is_stale(proposal, transaction):
        proposal = None
    case = await _case(tx, id_or_reference, None if proposal is None else Truth(proposal.outcome))
    if proposal is None:
        raise _NothingProposed
    if proposal.proposed_by == actor.who:
        raise Forbidden("Whoever proposed it cannot approve it: it takes two operators.")
    return await _apply(tx, case, proposal, actor=actor, now=now)


async def reject(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> Resolved:
    """Disagree with a proposal, or take one's own back."""
    case = await _found(tx, id_or_reference)
    proposal = await cases.find_proposal(tx, case.transaction)
    if proposal is None:
        raise _NothingProposed
    await cases.end_proposal(tx, proposal.id, ended_by=actor.who, is_approved=False, now=now)
    await _note(tx, actor, "payment.resolution_rejected", case.transaction, proposal, now=now)
    return Resolved(case.transaction, Truth(proposal.outcome), is_done=False)


class NoSuchCase(Missing):
    def __init__(self, name: str) -> None:
        super().__init__(f"There is no payment {name!r} that is open or contradicted. Others are found by reference.")


class _NothingProposed(Missing):
    def __init__(self) -> None:
        super().__init__("Nobody has proposed what became of it.")


async def _found(tx: Tx, id_or_reference: str) -> Case:
    case = await cases.lock(tx, id_or_reference)
    if case is None:
        raise NoSuchCase(id_or_reference)
    return case


async def _case(tx: Tx, id_or_reference: str, truth: Truth | None = None) -> Case:
    """A payment about which an operator may say something now."""
    case = await _found(tx, id_or_reference)
    transaction = case.transaction
    if case.is_sending:
        raise Conflict("A request for it is on its way to the network right now. Try again in a minute or two.")
    if transaction.status is Status.PENDING:
        raise Conflict("It is PENDING: nothing was sent. It can be cancelled.")
    if transaction.status.is_final and not case.is_contradicted:
        _require_doubt(case, await cases.find_steps(tx, transaction), truth)
    return case


def _require_doubt(case: Case, steps: set[Step], truth: Truth | None) -> None:
    """Its network has not contradicted itself; an operator who has read the network's statement may still do so."""
    transaction = case.transaction
    is_said = truth is None or (truth is Truth.COMPLETED) == (transaction.status is Status.COMPLETED)
    is_being_asked = case.dispatch is not None
    if transaction.processing_at is None or Step.RESOLUTION in steps or is_said or is_being_asked:
        raise Conflict(f"It is {transaction.status}, and nothing contradicts that.")


def _is_stale(proposal: Proposal, transaction: Transaction) -> bool:
    """It was about an open payment, which has ended since: what is in question now, it has no evidence for."""
    return proposal.is_of_contradiction != transaction.status.is_final


async def _apply(tx: Tx, case: Case, proposal: Proposal, *, actor: Actor, now: datetime) -> Resolved:
    truth, transaction = Truth(proposal.outcome), case.transaction
    await cases.end_proposal(tx, proposal.id, ended_by=actor.who, is_approved=True, now=now)
    if transaction.status.is_final:
        if not case.is_contradicted:
            await record.contradict(tx, [transaction], now=now)
        await record.resolve(tx, transaction, truth.cause, now=now)
    else:
        failure = None if truth is Truth.COMPLETED else FailureCode.REJECTED
        change = Change(
            merchant_id=transaction.merchant_id,
            transaction_id=transaction.id,
            cause=truth.cause,
            provider_reference=proposal.provider_reference,
            failure_code=failure,
            failure_reason=None if failure is None else reason_of(failure),
        )
        [outcome] = await record.advance(tx, [change], now=now)
        assert outcome is not None
        assert outcome.has_moved
        transaction = outcome.transaction
    await _note(tx, actor, "payment.resolved", transaction, proposal, now=now)
    return Resolved(transaction, truth, is_done=True, is_of_contradiction=proposal.is_of_contradiction)


async def _note(
    tx: Tx, actor: Actor, what: str, transaction: Transaction, proposal: Proposal, *, now: datetime
) -> None:
    await trail.note(
        tx,
        actor,
        what,
        now=now,
        merchant_id=transaction.merchant_id,
        transaction=transaction.id,
        amount=transaction.amount,
        outcome=proposal.outcome,
        evidence=proposal.evidence,
        proposed_by=proposal.proposed_by,
    )
