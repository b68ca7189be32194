"""What an operator does about a payment whose network does not say what became of it, or says two things.

It takes evidence. An open collection is resolved by one operator, unless somebody said that it was paid. Everything
else is proposed by one and approved by another, because a payout that is given back although it was paid is money lost.
A resolution is not the last word: another may follow, and the network may still contradict it.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from malipo import ids, money
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, Forbidden, Invalid, Missing
from malipo.installation import store as installation
from malipo.ledger.bookings import WalletTooLow
from malipo.ledger.store import wallets as ledger
from malipo.networks.connector import FailureCode
from malipo.payments import correction, status_writer
from malipo.payments.failure_reasons import failure_reason_of
from malipo.payments.network_answer.contradiction import follow_up
from malipo.payments.status_writer import Change, Corrected
from malipo.payments.store import cases, dispatches
from malipo.payments.store.cases import Case, Proposal
from malipo.payments.transaction import Cause, Status, Transaction, Type

_FOLLOW_UP_SECONDS = 600.0


class Truth(StrEnum):
    COMPLETED = "completed"  # the money moved
    FAILED = "failed"  # it did not, or it came back

    @property
    def cause(self) -> Cause:
        return Cause.CONFIRMED if self is Truth.COMPLETED else Cause.REFUSED

    @property
    def is_paid(self) -> bool:
        return self is Truth.COMPLETED


@dataclass(frozen=True, slots=True)
class Finding:
    """What an operator has found out, and how they know."""

    truth: Truth
    evidence: str
    provider_reference: str | None = None
    is_despite_waiting: bool = False  # FAILED, although the network has it and has not decided
    is_waived: bool = False  # what the wallet still owes is not taken: the house bears it


@dataclass(frozen=True, slots=True)
class Resolved:
    transaction: Transaction
    truth: Truth
    is_done: bool  # not so while a second operator has to agree
    is_of_contradiction: bool = False  # what the merchant sees stays, whatever is true
    credited: int = 0  # what the wallet got by it; negative if it gave
    borne: int = 0  # what the house bears instead
    owed: int = 0  # what the wallet still owes of this payment


async def propose(
    tx: Tx,
    id_or_reference: str,
    finding: Finding,
    *,
    actor: Actor,
    now: datetime,
    follow_up_seconds: float = _FOLLOW_UP_SECONDS,
) -> Resolved:
    """Say what became of a payment. For an open collection that is enough."""
    if not 10 <= len(finding.evidence) <= 1000 or not finding.evidence.isprintable():
        raise Invalid("The evidence is what the network's statement or staff say, in 10 to 1,000 characters.")
    case = await _case(tx, id_or_reference, finding.truth)
    transaction = case.transaction
    _require_patience(case, finding)
    if finding.is_waived and (case.correction is None or not case.correction.owed):
        raise Conflict("Nothing is owed of this payment, so nothing can be waived.")
    earlier = await cases.find_proposal(tx, transaction)
    if earlier is not None and not _is_stale(earlier, transaction):
        raise Conflict(f"It is already proposed as {earlier.outcome}; approve that, or reject it.")
    if earlier is not None:
        await cases.end_proposal(tx, earlier.id, decided_by=actor.name, is_approved=False, now=now)
    proposal = Proposal(
        ids.mint("res_", now),
        finding.truth,
        finding.evidence,
        finding.provider_reference,
        actor.name,
        transaction.status.is_final,
        finding.is_despite_waiting,
        finding.is_waived,
        now,
    )
    await cases.insert_proposal(tx, transaction, proposal)
    if _takes_two(case, finding.truth):
        await _note(tx, actor, "payment.resolution_proposed", transaction, proposal, now=now)
        return Resolved(transaction, finding.truth, is_done=False)
    return await _apply(tx, case, proposal, actor=actor, now=now, follow_up_seconds=follow_up_seconds)


async def approve(
    tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime, follow_up_seconds: float = _FOLLOW_UP_SECONDS
) -> Resolved:
    """Agree with what another operator has proposed."""
    transaction = (await _found(tx, id_or_reference)).transaction
    proposal = await cases.find_proposal(tx, transaction)
    if proposal is not None and _is_stale(proposal, transaction):
        proposal = None
    case = await _case(tx, id_or_reference, None if proposal is None else Truth(proposal.outcome))
    if proposal is None:
        raise _NothingProposed
    if proposal.requested_by == actor.name:
        raise Forbidden("Whoever proposed it cannot approve it: it takes two operators.")
    return await _apply(tx, case, proposal, actor=actor, now=now, follow_up_seconds=follow_up_seconds)


async def reject(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> Resolved:
    """Disagree with a proposal, or take one's own back."""
    case = await _found(tx, id_or_reference)
    proposal = await cases.find_proposal(tx, case.transaction)
    if proposal is None:
        raise _NothingProposed
    await cases.end_proposal(tx, proposal.id, decided_by=actor.name, is_approved=False, now=now)
    await _note(tx, actor, "payment.resolution_rejected", case.transaction, proposal, now=now)
    return Resolved(case.transaction, Truth(proposal.outcome), is_done=False)


async def cancel(tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime) -> Transaction:
    """Take back a payout of a merchant who is closed and cannot do it. Nothing was sent; the wallet gets it back.

    After a restore nobody knows that nothing was sent before its network was asked.
    """
    if (closed := await installation.why_not_cancel(tx)) is not None:
        raise closed
    case = await _found(tx, id_or_reference)
    transaction = case.transaction
    if case.is_merchant_active:
        raise Forbidden("Its merchant is active, and can cancel it.")
    if transaction.status is not Status.PENDING:
        raise Conflict(f"Only a PENDING payment can be cancelled; this one is {transaction.status}.")
    if _may_have_been_sent(case):
        raise Conflict(
            "Its network is being asked whether it was sent before the service was restored. "
            "If the network cannot say, propose what became of it."
        )
    change = Change(merchant_id=transaction.merchant_id, transaction_id=transaction.id, cause=Cause.WITHDRAWN)
    [outcome] = await status_writer.advance(tx, [change], now=now)
    assert outcome is not None
    await audit_log.append(
        tx,
        actor,
        "payment.cancelled",
        now=now,
        merchant_id=transaction.merchant_id,
        transaction=transaction.id,
        amount=transaction.amount,
    )
    return outcome.transaction


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
    if transaction.status is Status.PENDING and not _may_have_been_sent(case):
        raise Conflict("It is PENDING: nothing was sent. It can be cancelled.")
    is_doubtful = case.is_contradicted or _is_doubted(case) if truth is None else _changes(case, truth)
    if transaction.status is Status.CANCELLED and truth is Truth.COMPLETED:
        # It was never sent, unless the database has forgotten that.
        is_doubtful |= (await installation.get(tx)).epoch > 1
    if transaction.status.is_final and not is_doubtful:
        raise Conflict(f"It is {transaction.status}, and nothing contradicts that.")
    return case


def _changes(case: Case, truth: Truth) -> bool:
    """Whether this would change anything about a payment that has ended."""
    transaction = case.transaction
    before = case.correction or correction.begin(transaction)
    if _is_doubted(case):
        return True
    if truth.is_paid == before.is_paid:
        return correction.is_open(transaction, before) or before.borne != 0
    is_undecided = correction.is_open(transaction, before) or before.credited != 0
    return (
        is_undecided
        if correction.is_contradicted_by_network(transaction, before)
        else transaction.processing_at is not None
    )


def _may_have_been_sent(case: Case) -> bool:
    """The database was restored, and what it calls PENDING may have been sent before."""
    return case.dispatch is not None and case.dispatch.is_asked_first


def _is_doubted(case: Case) -> bool:
    """A callback said something else than the merchant was told, and the network does not confirm it."""
    return case.dispatch is not None and case.dispatch.attention is not None


def _require_patience(case: Case, finding: Finding) -> None:
    is_waiting = case.dispatch is not None and case.dispatch.is_acknowledged
    is_payout = case.transaction.type is Type.DISBURSEMENT and not case.transaction.status.is_final
    if is_payout and is_waiting and finding.truth is Truth.FAILED and not finding.is_despite_waiting:
        raise Conflict(
            "Its network has it and has not decided, so it may still be paid. If you know for certain that it will not "
            "be, say so (--despite-waiting); the second operator is shown that."
        )


def _takes_two(case: Case, truth: Truth) -> bool:
    is_said_paid = case.dispatch is not None and case.dispatch.is_success_heard and truth is Truth.FAILED
    is_payout_or_ended = case.transaction.type is Type.DISBURSEMENT or case.transaction.status.is_final
    return is_payout_or_ended or is_said_paid or _may_have_been_sent(case)


def _is_stale(proposal: Proposal, transaction: Transaction) -> bool:
    """It was about an open payment, which has ended since: what is in question now, it has no evidence for."""
    return proposal.is_of_contradiction != transaction.status.is_final


async def _apply(
    tx: Tx, case: Case, proposal: Proposal, *, actor: Actor, now: datetime, follow_up_seconds: float
) -> Resolved:
    truth = Truth(proposal.outcome)
    if case.transaction.status.is_final:
        resolved = await _correct(tx, case, proposal, truth, actor=actor, now=now)
    else:
        transaction = await _end(tx, case, proposal, truth, now=now, follow_up_seconds=follow_up_seconds)
        await cases.end_proposal(tx, proposal.id, decided_by=actor.name, is_approved=True, now=now)
        resolved = Resolved(transaction, truth, is_done=True)
    await _note(tx, actor, "payment.resolved", resolved.transaction, proposal, now=now)
    return resolved


async def _end(
    tx: Tx, case: Case, proposal: Proposal, truth: Truth, *, now: datetime, follow_up_seconds: float
) -> Transaction:
    """End an open payment. After an operator's FAILED its network is asked again, in case it was paid after all."""
    failure = None if truth is Truth.COMPLETED else FailureCode.REJECTED
    change = Change(
        merchant_id=case.transaction.merchant_id,
        transaction_id=case.transaction.id,
        cause=truth.cause,
        provider_reference=proposal.provider_reference,
        failure_code=failure,
        failure_reason=None if failure is None else failure_reason_of(failure),
    )
    submitted = Change(
        merchant_id=case.transaction.merchant_id, transaction_id=case.transaction.id, cause=Cause.SUBMITTED
    )
    changes = [submitted, change] if case.transaction.status is Status.PENDING else [change]
    outcome = (await status_writer.advance(tx, changes, now=now))[-1]
    assert outcome is not None
    assert outcome.has_moved
    if failure is not None and case.dispatch is not None and case.dispatch.connector is not None:
        asked = follow_up(None, case.dispatch.connector)
        await dispatches.follow_up(tx, [(outcome.transaction, asked, follow_up_seconds)])
    return outcome.transaction


async def _correct(tx: Tx, case: Case, proposal: Proposal, truth: Truth, *, actor: Actor, now: datetime) -> Resolved:
    """Put a payment right that has ended: its wallet follows, or the house bears it."""
    transaction = case.transaction
    before = case.correction or correction.begin(transaction)
    corrected: list[Corrected] = []
    after = before
    if truth.is_paid != before.is_paid and not correction.is_contradicted_by_network(transaction, before):
        heard = correction.tell(correction.hear(transaction, before, is_paid=truth.is_paid, source=None), now)
        corrected.append(Corrected(transaction, heard, before.owed))
        after = heard.correction
    wallet = (await ledger.lock(tx, [transaction.merchant_id]))[transaction.merchant_id]
    decided = correction.decide(
        transaction, after, is_paid=truth.is_paid, available=wallet.available, is_waived=proposal.is_waived
    )
    if decided.moves:
        decided = correction.tell(decided, now)
        corrected.append(Corrected(transaction, decided, after.owed))
    elif not corrected and correction.is_open(transaction, after):
        held = money.display(wallet.available)
        raise WalletTooLow(
            f"The wallet holds {held}, so nothing can be taken from it now. Try again when there is more."
        )
    await status_writer.write(tx, {}, [], corrected, now=now)
    change = corrected[-1].change if corrected else None
    await dispatches.clear_doubt(tx, (transaction.merchant_id, transaction.id))
    await cases.end_proposal(tx, proposal.id, decided_by=actor.name, is_approved=True, change=change, now=now)
    left = change.correction.owed if change is not None else after.owed
    return Resolved(
        transaction,
        truth,
        is_done=True,
        is_of_contradiction=True,
        credited=decided.credited if decided.moves else 0,
        borne=decided.borne if decided.moves else 0,
        owed=left,
    )


async def _note(
    tx: Tx, actor: Actor, what: str, transaction: Transaction, proposal: Proposal, *, now: datetime
) -> None:
    await audit_log.append(
        tx,
        actor,
        what,
        now=now,
        merchant_id=transaction.merchant_id,
        transaction=transaction.id,
        amount=transaction.amount,
        outcome=proposal.outcome,
        evidence=proposal.evidence,
        proposed_by=proposal.requested_by,
        **({"despite_waiting": True} if proposal.is_despite_waiting else {}),
    )
