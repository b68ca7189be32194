"""A resolution: what operators decide about a case, and the rules for it. Pure.

A resolution needs evidence. One operator may resolve an open collection, unless a success was reported, or the
collection is completed and is more than one operator may move. Everything else is proposed by one operator and approved
by another, because the money of a payout that is returned although it was paid is lost. `approvals/act_rules.py` has
the rules of each act.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from malipo import typed_reason
from malipo.approvals.act_rules import Act
from malipo.errors import Code, Conflict, Invalid, Missing
from malipo.networks.connector import Verdict
from malipo.payments import correction_moves
from malipo.payments.dispatch import ReviewReason
from malipo.payments.store.cases import Case, ProposedResolution
from malipo.payments.store.network_answers import StoredAnswer
from malipo.payments.transaction import Cause, Status, Transaction, Type


class ResolvedOutcome(StrEnum):
    """The outcome of a payment that operators have found."""

    COMPLETED = "completed"  # the money moved
    FAILED = "failed"  # the money did not move, or came back
    SEND = "send"  # it does not repeat the adopted payment that it resembles: it is sent
    CANCEL = "cancel"  # nothing was sent, and no worker will send it; `payments/cases/cancel_unsent.py` proposes this

    @property
    def cause(self) -> Cause:
        assert self is not ResolvedOutcome.SEND, "what is sent has not ended"
        if self is ResolvedOutcome.CANCEL:
            return Cause.WITHDRAWN
        return Cause.CONFIRMED if self is ResolvedOutcome.COMPLETED else Cause.REFUSED

    @property
    def is_paid(self) -> bool:
        return self is ResolvedOutcome.COMPLETED


@dataclass(frozen=True, slots=True)
class OperatorFinding:
    """The outcome that an operator has found, and the evidence for it."""

    outcome: ResolvedOutcome
    evidence: str
    provider_reference: str | None = None
    is_despite_waiting: bool = False  # FAILED, although the network has it and has not decided
    is_waived: bool = False  # the remaining debt of the wallet is written off


@dataclass(frozen=True, slots=True)
class ResolutionResult:
    transaction: Transaction
    outcome: ResolvedOutcome
    is_done: bool  # False while it waits for a second operator
    is_alone: bool = False  # the only operator decided alone what takes two
    is_of_contradiction: bool = False  # the status stays as it is
    credited: int = 0  # added to the wallet; negative: taken from it
    borne: int = 0  # written off instead of paid by the wallet; negative: kept by the house
    owed: int = 0  # by the wallet, of this payment


class ResolutionEffect(NamedTuple):
    """The changes of the wallet and of our losses by a resolution, and the remaining debt."""

    credited: int
    borne: int
    owed: int


class CaseRefusal(Code):
    """Why operators may not resolve a case like this."""

    NO_SUCH = "case_unknown"
    EVIDENCE = "case_evidence"
    WAITING = "case_network_waits"
    NOTHING_OWED = "case_nothing_owed"
    NOTHING_PROPOSED = "case_nothing_proposed"
    PROPOSED_COMPLETED = "case_proposed_completed"
    PROPOSED_FAILED = "case_proposed_failed"
    PROPOSED_SEND = "case_proposed_send"
    PROPOSED_CANCEL = "case_proposed_cancel"
    RESEMBLES_ADOPTED = "case_resembles_adopted"
    SENDING = "case_sending"
    PENDING = "case_pending"
    NOT_SENT_BY_DECISION = "case_not_sent_by_decision"
    REPEAT_OR_OTHER = "case_repeat_or_other"  # it waits: operators say which, and not that it was paid
    ADOPTION_UNDONE = "case_adoption_undone"
    NOT_CONTRADICTED = "case_not_contradicted"
    WALLET_EMPTY = "case_wallet_empty"
    MERCHANT_CAN_CANCEL = "case_merchant_can_cancel"
    NOT_PENDING = "case_not_pending"
    ASKED_FIRST = "case_asked_first"


class NoSuchCase(Missing):
    def __init__(self, name: str) -> None:
        super().__init__(code=CaseRefusal.NO_SUCH, name=name)


def changes_anything(case: Case, outcome: ResolvedOutcome) -> bool:
    """Whether this resolution would change anything about a payment that has ended."""
    transaction = case.transaction
    before = case.correction or correction_moves.begin(transaction)
    if is_for_review(case):
        return True
    if outcome.is_paid == before.is_paid:
        return correction_moves.is_open(transaction, before) or before.borne != 0
    if correction_moves.is_contradicted_by_network(transaction, before):
        return correction_moves.is_open(transaction, before) or before.credited != 0
    return transaction.processing_at is not None


def may_have_been_sent(case: Case) -> bool:
    """Whether a PENDING payment may have been sent before the database was restored."""
    return case.dispatch is not None and case.dispatch.is_asked_first


def resembles_adopted(case: Case) -> bool:
    """Whether it waits because it may repeat a payment that was lost and adopted."""
    return case.dispatch is not None and case.dispatch.review_reason is ReviewReason.RESEMBLES_ADOPTED


def may_be_sent(case: Case) -> bool:
    """Whether operators may decide that it does not repeat the adopted payment: nothing was sent, and no report says
    that its network key was paid."""
    is_reported_paid = case.dispatch is not None and case.dispatch.is_success_reported
    return resembles_adopted(case) and case.transaction.status is Status.PENDING and not is_reported_paid


def is_for_review(case: Case) -> bool:
    """Whether operators must review the payment, for any reason that its queue has."""
    return case.dispatch is not None and case.dispatch.review_reason is not None


def require_evidence(finding: OperatorFinding) -> None:
    if not typed_reason.is_within(finding.evidence, typed_reason.EVIDENCE):
        raise Invalid(code=CaseRefusal.EVIDENCE)


def require_patience(case: Case, finding: OperatorFinding) -> None:
    """Refuse to call a payout FAILED that its network has not decided yet, unless the operator says so explicitly."""
    is_waiting = case.dispatch is not None and case.dispatch.is_acknowledged
    is_payout = case.transaction.type is Type.DISBURSEMENT and not case.transaction.status.is_final
    if is_payout and is_waiting and finding.outcome is ResolvedOutcome.FAILED and not finding.is_despite_waiting:
        raise Conflict(code=CaseRefusal.WAITING)


def require_debt(case: Case, finding: OperatorFinding) -> None:
    if finding.is_waived and (case.correction is None or not case.correction.owed):
        raise Conflict(code=CaseRefusal.NOTHING_OWED)


def act_of(case: Case, outcome: ResolvedOutcome) -> Act:
    """The act of `act_rules.py` that this resolution is."""
    if outcome is ResolvedOutcome.CANCEL:
        return Act.CANCEL_UNREPORTED
    if case.transaction.status.is_final:
        return Act.RESOLVE_ENDED
    if case.transaction.type is Type.DISBURSEMENT:
        return Act.RESOLVE_OPEN_PAYOUT
    is_reported_paid = (
        case.dispatch is not None and case.dispatch.is_success_reported and outcome is ResolvedOutcome.FAILED
    )
    return Act.RESOLVE_REPORTED if is_reported_paid or may_have_been_sent(case) else Act.RESOLVE_OPEN_COLLECTION


def moved_by(case: Case, outcome: ResolvedOutcome) -> int:
    """The shillings that count for the operator's limit. An open collection that failed moves nothing."""
    is_open_collection = case.transaction.type is Type.COLLECTION and not case.transaction.status.is_final
    return 0 if is_open_collection and not outcome.is_paid else case.transaction.amount


def is_stale(proposal: ProposedResolution, transaction: Transaction) -> bool:
    """Whether the payment was open when this was proposed, and has ended since: the evidence is about the open
    payment."""
    return proposal.is_of_contradiction != transaction.status.is_final


def effect_of(case: Case, outcome: ResolvedOutcome, *, is_waived: bool, available: int) -> ResolutionEffect:
    """The effect on a payment that has ended. `available` is the balance of its wallet."""
    transaction, before = case.transaction, case.correction or correction_moves.begin(case.transaction)
    after = before
    if outcome.is_paid != before.is_paid and not correction_moves.is_contradicted_by_network(transaction, before):
        after = correction_moves.contradict(transaction, before, is_paid=outcome.is_paid, source=None).correction
    decided = correction_moves.decide(
        transaction, after, is_paid=outcome.is_paid, available=available, is_waived=is_waived
    ).correction
    return ResolutionEffect(decided.credited - before.credited, decided.borne - before.borne, decided.owed)


def shown_of(case: Case, proposal: ProposedResolution, answers: Iterable[StoredAnswer], *, available: int) -> object:
    """The facts about a payment that an approver is shown and that matter to the decision: its status, the reports of
    its network, its correction, and the effect of the resolution. Another query with the same answer, or with none,
    does not change them."""
    outcome, dispatch, correction = ResolvedOutcome(proposal.outcome), case.dispatch, case.correction
    reports = {(each.connector, each.source, each.verdict) for each in answers if each.verdict != Verdict.UNKNOWN}
    state = (
        None
        if dispatch is None
        else (dispatch.review_reason, dispatch.is_acknowledged, dispatch.is_success_reported, dispatch.is_asked_first)
    )
    correction_state = (
        None
        if correction is None
        else (correction.is_paid, correction.source, correction.credited, correction.borne, correction.owed)
    )
    is_ended = case.transaction.status.is_final
    effect = effect_of(case, outcome, is_waived=proposal.is_waived, available=available) if is_ended else None
    return case.transaction.status, case.is_contradicted, state, correction_state, sorted(reports), effect
