"""Operators resolve cases: one proposes what became of a payment, another approves or rejects it.

A resolution is not final: another may follow, and the network may still contradict it.
"""

from datetime import datetime

import msgspec

from malipo import ids
from malipo.approvals import decide, moved_alone
from malipo.approvals.act_rules import RESOLUTIONS, Act
from malipo.approvals.decide import NothingProposed
from malipo.approvals.moved_alone import Deciders
from malipo.approvals.store import Proposal
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Conflict
from malipo.ledger.store import wallets
from malipo.payments.cases.apply_resolution import apply, audit_details
from malipo.payments.cases.cancellable import require_cancellable
from malipo.payments.cases.resolution import (
    CaseRefusal,
    NoSuchCase,
    OperatorFinding,
    ResolutionResult,
    ResolvedOutcome,
    act_of,
    changes_anything,
    is_for_review,
    is_stale,
    may_be_sent,
    may_have_been_sent,
    moved_by,
    require_debt,
    require_evidence,
    require_patience,
    resembles_adopted,
    shown_of,
)
from malipo.payments.store import adopted_payments, cases, network_answers
from malipo.payments.store.cases import Case, ProposedResolution, ResolutionTerms, proposed_resolution
from malipo.payments.transaction import Status, Transaction
from malipo.restore.store import installation

FOLLOW_UP_SECONDS = 600.0


async def propose(
    tx: Tx,
    id_or_reference: str,
    finding: OperatorFinding,
    *,
    actor: Actor,
    approval_amount: int,
    now: datetime,
    follow_up_seconds: float = FOLLOW_UP_SECONDS,
    is_single_operator: bool = False,
) -> ResolutionResult:
    """Propose the outcome of a payment. If one operator is enough, it is applied at once."""
    require_evidence(finding)
    await moved_alone.lock(tx, actor.name)
    case = await _lock_resolvable(tx, id_or_reference, finding.outcome)
    transaction = case.transaction
    require_patience(case, finding)
    require_debt(case, finding)
    earlier = await cases.lock_proposal(tx, transaction)
    if earlier is not None:
        proposed = proposed_resolution(earlier)
        if not is_stale(proposed, transaction):
            raise Conflict(code=CaseRefusal(f"case_proposed_{proposed.outcome}"))
        await decide.end_by_system(tx, earlier, now=now)
    act = act_of(case, finding.outcome)
    proposal = _proposal_of(case, finding, act, actor=actor, now=now)
    resolution = proposed_resolution(proposal)
    deciders = await moved_alone.count_unless_two(
        tx,
        act,
        proposal.amount,
        operator=actor.name,
        subject=transaction.id,
        approval_amount=approval_amount,
        now=now,
        is_single_operator=is_single_operator,
    )
    if deciders is Deciders.TWO:
        details = audit_details(transaction, resolution)
        await decide.propose(tx, proposal, "payment.resolution_proposed", details, actor=actor)
        return ResolutionResult(transaction, finding.outcome, is_done=False)
    is_alone = deciders is Deciders.SINGLE_OPERATOR
    return await apply(
        tx, case, resolution, actor=actor, now=now, follow_up_seconds=follow_up_seconds, is_alone=is_alone
    )


def _proposal_of(case: Case, finding: OperatorFinding, act: Act, *, actor: Actor, now: datetime) -> Proposal:
    transaction = case.transaction
    terms = ResolutionTerms(
        merchant_id=transaction.merchant_id,
        outcome=finding.outcome,
        provider_reference=finding.provider_reference,
        is_of_contradiction=transaction.status.is_final,
        is_despite_waiting=finding.is_despite_waiting,
        is_waived=finding.is_waived,
    )
    return Proposal(
        id=ids.mint("res_", now),
        action=act,
        subject=transaction.id,
        amount=moved_by(case, finding.outcome),
        terms=decide.encode(terms),
        reason=finding.evidence,
        requested_by=actor.name,
        requested_at=now,
    )


async def approve(
    tx: Tx,
    id_or_reference: str,
    *,
    actor: Actor,
    now: datetime,
    follow_up_seconds: float = FOLLOW_UP_SECONDS,
    seen: str | None = None,
    expected: str | None = None,
    is_single_operator: bool = False,
) -> ResolutionResult:
    """Approve and apply another operator's proposal. `seen` is the code of the facts that the approver was shown,
    `expected` the fingerprint of a proposal that was made elsewhere together with this one."""
    transaction = (await lock_case(tx, id_or_reference)).transaction
    proposal = await cases.lock_proposal(tx, transaction)
    resolution = None if proposal is None else proposed_resolution(proposal)
    if resolution is not None and is_stale(resolution, transaction):
        resolution = None
    outcome = None if resolution is None else ResolvedOutcome(resolution.outcome)
    case = await _lock_resolvable(tx, id_or_reference, outcome)
    if proposal is None or resolution is None:
        raise NothingProposed(code=CaseRefusal.NOTHING_PROPOSED)
    decide.require_seen(expected, _fingerprint(resolution))
    decided = await decide.approve(
        tx,
        proposal,
        actor=actor,
        now=now,
        seen=seen,
        shown=lambda: find_code(tx, proposal),
        is_single_operator=is_single_operator,
    )
    return await apply(
        tx,
        case,
        resolution,
        actor=actor,
        now=now,
        follow_up_seconds=follow_up_seconds,
        is_alone=decided.is_single_operator,
    )


async def find_code(connection: Conn, proposal: Proposal) -> str:
    """The code of the facts that an approver is shown: the proposal, and the payment as it is now."""
    return decide.code_of(proposal, await find_shown(connection, proposed_resolution(proposal), proposal.subject))


async def find_shown(connection: Conn, resolution: ProposedResolution, payment_id: str) -> object:
    """The facts about the payment that an approver is shown. It only reads."""
    case = await cases.get(connection, resolution.merchant_id, payment_id)
    answers = await network_answers.find(connection, resolution.merchant_id, payment_id)
    wallet, _ = await wallets.get(connection, resolution.merchant_id)
    return shown_of(case, resolution, answers, available=wallet.available)


def fingerprint_of(requested_by: str, finding: OperatorFinding) -> str:
    """The fingerprint of a proposal about a payment."""
    return msgspec.json.encode((requested_by, finding)).decode()


def _fingerprint(resolution: ProposedResolution) -> str:
    finding = OperatorFinding(
        ResolvedOutcome(resolution.outcome),
        resolution.evidence,
        provider_reference=resolution.provider_reference,
        is_despite_waiting=resolution.is_despite_waiting,
        is_waived=resolution.is_waived,
    )
    return fingerprint_of(resolution.requested_by, finding)


async def reject(
    tx: Tx, id_or_reference: str, *, actor: Actor, now: datetime, expected: str | None = None
) -> ResolutionResult:
    """Reject another operator's proposal, or withdraw one's own."""
    transaction = (await lock_case(tx, id_or_reference)).transaction
    proposal = await decide.lock_open(
        tx, RESOLUTIONS, transaction.id, NothingProposed(code=CaseRefusal.NOTHING_PROPOSED)
    )
    resolution = proposed_resolution(proposal)
    decide.require_seen(expected, _fingerprint(resolution))
    details = audit_details(transaction, resolution)
    await decide.reject(tx, proposal, "payment.resolution_rejected", details, actor=actor, now=now)
    return ResolutionResult(transaction, ResolvedOutcome(resolution.outcome), is_done=False)


async def lock_case(tx: Tx, id_or_reference: str) -> Case:
    case = await cases.lock(tx, id_or_reference)
    if case is None:
        raise NoSuchCase(id_or_reference)
    return case


async def _require_another_than_adopted(tx: Tx, transaction: Transaction) -> None:
    """Refuse a collection that resembles an adopted one: the operators' line may be the adopted line."""
    if await adopted_payments.find_receipts_like(tx, transaction):
        raise ResemblesAdopted


async def _is_undone_adoption(tx: Tx, transaction: Transaction) -> bool:
    """Whether it is an undone adoption. Its line is another payment's or waits for operators, so if it were called
    paid, one movement of money would be booked twice."""
    adopted = await adopted_payments.find(tx, transaction.merchant_id, transaction.id)
    return adopted is not None and adopted.is_undone


class ResemblesAdopted(Conflict):
    """A collection that operators would credit, like one that they have adopted."""

    def __init__(self) -> None:
        super().__init__(code=CaseRefusal.RESEMBLES_ADOPTED)


async def _lock_resolvable(tx: Tx, id_or_reference: str, outcome: ResolvedOutcome | None = None) -> Case:
    """Lock a case until the commit; refuse it if operators may not resolve it now."""
    case = await lock_case(tx, id_or_reference)
    transaction = case.transaction
    if outcome is ResolvedOutcome.CANCEL:
        await require_cancellable(tx, case)
        return case
    if case.is_sending:
        raise Conflict(code=CaseRefusal.SENDING)
    if transaction.status is Status.PENDING and not may_have_been_sent(case):
        raise Conflict(code=CaseRefusal.PENDING)
    if outcome is ResolvedOutcome.SEND and not may_be_sent(case):
        raise Conflict(code=CaseRefusal.NOT_SENT_BY_DECISION)
    if outcome is ResolvedOutcome.COMPLETED and resembles_adopted(case):
        raise Conflict(code=CaseRefusal.REPEAT_OR_OTHER)
    if outcome is ResolvedOutcome.COMPLETED and not transaction.status.is_final:
        await _require_another_than_adopted(tx, transaction)
    if outcome is ResolvedOutcome.COMPLETED and await _is_undone_adoption(tx, transaction):
        raise Conflict(code=CaseRefusal.ADOPTION_UNDONE)
    is_doubtful = case.is_contradicted or is_for_review(case) if outcome is None else changes_anything(case, outcome)
    if transaction.status is Status.CANCELLED and outcome is ResolvedOutcome.COMPLETED:
        # It was never sent, unless a restored database has lost the sending.
        is_doubtful |= (await installation.get(tx)).epoch > 1
    if transaction.status.is_final and not is_doubtful:
        raise Conflict(code=CaseRefusal.NOT_CONTRADICTED, status=transaction.status)
    return case
