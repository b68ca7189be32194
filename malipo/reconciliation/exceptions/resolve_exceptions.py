"""Operators resolve exceptions: one proposes an action, and usually another approves or rejects it. Each can be undone.

Each step is one commit with its entry in the audit log. Nothing is changed in place: proposals, rejections and undone
actions are kept, and booked money is booked back.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from malipo import ids, typed_reason
from malipo.approvals import decide, moved_alone
from malipo.approvals.act_rules import Act
from malipo.approvals.moved_alone import Deciders, require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import Conn, Tx
from malipo.errors import Conflict, Invalid, Missing
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import OperatorFinding, ResolvedOutcome, act_of
from malipo.payments.dispatch import QueryRules
from malipo.payments.store.cases import ProposedResolution
from malipo.reconciliation.exceptions import apply_action
from malipo.reconciliation.exceptions.action import ACTIONS, RESOLVED_BY_NOTE, Action, ActionTerms, Resolution
from malipo.reconciliation.exceptions.action_moves import effect_of
from malipo.reconciliation.exceptions.adopt_payment import fee_of_lost
from malipo.reconciliation.exceptions.apply_action import DecidedAction
from malipo.reconciliation.exceptions.approve_case import approve_case
from malipo.reconciliation.exceptions.find_effect import find_balances, find_effect, find_facts, fingerprint_of
from malipo.reconciliation.exceptions.lost_request import find_lost_request
from malipo.reconciliation.exceptions.refusals import AdoptRefusal, ExceptionRefusal
from malipo.reconciliation.exceptions.store import resolutions
from malipo.reconciliation.exceptions.store.resolutions import proposed_resolution
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.exception import ExceptionKind, ExceptionState, ReconciliationException
from malipo.reconciliation.matching.store import evidence, exceptions, matching, payments
from malipo.settings import Settings

_OF_LINES = (Action.MATCH, Action.ADOPT, Action.BOOK)


class NoSuchException(Missing):
    def __init__(self, exception_id: str) -> None:
        super().__init__(code=ExceptionRefusal.NO_SUCH, name=exception_id)


@dataclass(frozen=True)
class ResolveExceptions:
    apply_answers: ApplyNetworkAnswers
    approval_amount: int
    reference_prefix: str
    follow_up_seconds: float
    credits_automatically: bool = True

    @classmethod
    def of(cls, settings: Settings, clock: Clock) -> "ResolveExceptions":
        return cls(
            ApplyNetworkAnswers(
                clock=clock, rules=QueryRules.of(settings), credits_automatically=settings.credit_by_itself
            ),
            settings.booking_approval_amount,
            settings.reference_prefix,
            settings.follow_up_seconds[0],
            settings.credit_by_itself,
        )

    async def propose(
        self,
        tx: Tx,
        exception_id: str,
        action: Action,
        terms: Mapping[str, str],
        *,
        reason: str,
        actor: Actor,
        now: datetime,
        is_single_operator: bool = False,
    ) -> ReconciliationException:
        """Propose an action. If one operator is enough, it is applied at once."""
        exception = await _lock(tx, exception_id, actor)
        await _require(tx, exception, action, terms, reason, actor)
        facts = await find_facts(tx, exception, action, terms, credits_automatically=self.credits_automatically)
        resolution = Resolution(
            id=ids.mint("exr_", now),
            exception_id=exception.id,
            action=action,
            terms=dict(terms),
            reason=reason,
            amount=effect_of(action, terms, facts).amount,
            requested_by=actor.name,
            requested_at=now,
        )
        if action is Action.RESOLVE:
            return await self._propose_outcome(
                tx, exception, resolution, actor=actor, now=now, is_single_operator=is_single_operator
            )
        act = await _act_of(tx, exception, resolution)
        deciders = await moved_alone.count_unless_two(
            tx,
            act,
            _counted(exception, resolution),
            operator=actor.name,
            subject=exception.id,
            approval_amount=self.approval_amount,
            now=now,
            is_single_operator=is_single_operator,
        )
        if deciders is Deciders.TWO:
            return await _wait(tx, exception, resolution, act, actor=actor)
        is_alone = deciders is Deciders.SINGLE_OPERATOR
        return await self._apply(tx, DecidedAction(exception, resolution, actor, now, is_alone=is_alone))

    async def undo(
        self,
        tx: Tx,
        exception_id: str,
        *,
        reason: str,
        actor: Actor,
        now: datetime,
        is_single_operator: bool = False,
    ) -> ReconciliationException:
        """Undo the last action: with two operators, if the action took two."""
        await _lock(tx, exception_id, actor)
        done = [each for each in await resolutions.find(tx, exception_id) if _is_done(each)]
        if not done:
            raise Conflict(code=ExceptionRefusal.NOTHING_DONE)
        if done[-1].action is Action.RESOLVE:
            raise Conflict(code=ExceptionRefusal.PAYMENT_RESOLVED)
        terms = {"resolution": done[-1].id}
        return await self.propose(
            tx,
            exception_id,
            Action.UNDO,
            terms,
            reason=reason,
            actor=actor,
            now=now,
            is_single_operator=is_single_operator,
        )

    async def approve(
        self,
        tx: Tx,
        exception_id: str,
        *,
        actor: Actor,
        now: datetime,
        seen: str | None = None,
        is_single_operator: bool = False,
    ) -> ReconciliationException:
        """Approve and apply another operator's proposal. `seen` is the code of the facts that the approver was
        shown."""
        exception = await _lock(tx, exception_id, actor)
        proposal = await decide.lock_open(tx, resolutions.ACTS, exception.id)
        if exception.state is not ExceptionState.PROPOSED:
            raise Conflict(code=ExceptionRefusal.CAUSE_GONE)
        resolution = proposed_resolution(proposal)
        if exception.line_id is not None and resolution.action in _OF_LINES and not is_single_operator:
            is_payment = resolution.action in (Action.MATCH, Action.ADOPT)
            reversals = await matching.find_open_reversals(tx, exception.line_id) if is_payment else []
            for line_id in (exception.line_id, *reversals):
                await import_approval.require_not_source(tx, line_id, proposal, actor=actor, now=now)
        approved = await decide.approve(
            tx,
            proposal,
            actor=actor,
            now=now,
            seen=seen,
            shown=lambda: self.find_code(tx, proposal),
            is_single_operator=is_single_operator,
        )
        is_alone = approved.is_single_operator
        return await self._apply(tx, DecidedAction(exception, resolution, actor, now, is_alone=is_alone))

    async def find_code(self, connection: Conn, proposal: Proposal) -> str:
        """The code of the facts that an approver is shown: the proposal, the exception, the changes, and the payment,
        if there is one. Balances may move meanwhile; changes may not. It only reads."""
        exception, resolution = await _get(connection, proposal.subject), proposed_resolution(proposal)
        balances = await find_balances(connection)
        credits_ = self.credits_automatically
        action, terms = resolution.action, resolution.terms
        changes = await find_effect(connection, exception, action, terms, balances, credits_automatically=credits_)
        shown = None if changes is None else fingerprint_of(changes)
        payment = await _find_shown_payment(connection, exception, resolution)
        # A later file may change these.
        line = (exception.line_kind, exception.key, exception.phone, exception.details)
        return decide.code_of(proposal, exception.state, exception.kind, exception.amount, line, shown, payment)

    async def reject(self, tx: Tx, exception_id: str, *, actor: Actor, now: datetime) -> ReconciliationException:
        """Reject a proposal, or withdraw one's own."""
        exception = await _lock(tx, exception_id, actor)
        proposal = await decide.lock_open(tx, resolutions.ACTS, exception.id)
        resolution = proposed_resolution(proposal)
        details = _details(exception, resolution)
        await decide.reject(tx, proposal, "exception.rejected", details, actor=actor, now=now)
        if resolution.action is Action.RESOLVE and exception.reference is not None:
            # The case may have been decided meanwhile, or another proposal be open.
            with suppress(Missing, Conflict):
                await resolve.reject(tx, exception.reference, actor=actor, now=now, expected=_seen(resolution))
        if exception.state is not ExceptionState.PROPOSED:
            return exception  # Its cause no longer exists.
        if resolution.action is Action.UNDO:
            undone = await _find_undone(tx, resolution)
            await exceptions.set_state(
                tx, exception.id, ExceptionState.RESOLVED, by=undone.decided_by, why=undone.reason, now=now
            )
        else:
            await exceptions.set_state(tx, exception.id, ExceptionState.OPEN, now=now)
        return await _get(tx, exception.id)

    async def _propose_outcome(
        self,
        tx: Tx,
        exception: ReconciliationException,
        resolution: Resolution,
        *,
        actor: Actor,
        now: datetime,
        is_single_operator: bool,
    ) -> ReconciliationException:
        """Propose the outcome of the payment, by the rules of cases, which say whether it takes two operators."""
        assert exception.reference is not None
        finding = _finding(resolution)
        act = act_of(await resolve.lock_case(tx, exception.reference), finding.outcome)
        resolved = await resolve.propose(
            tx,
            exception.reference,
            finding,
            actor=actor,
            approval_amount=self.approval_amount,
            now=now,
            follow_up_seconds=self.follow_up_seconds,
            is_single_operator=is_single_operator,
        )
        if resolved.is_done:
            return await _end(tx, DecidedAction(exception, resolution, actor, now, is_alone=resolved.is_alone), None)
        return await _wait(tx, exception, resolution, act, actor=actor)

    async def _apply(self, tx: Tx, decided: DecidedAction) -> ReconciliationException:
        booking_id: str | None = None
        match decided.resolution.action:
            case Action.MATCH:
                booking_id = await apply_action.match(tx, decided, self.apply_answers)
            case Action.BOOK:
                booking_id = await apply_action.book(tx, decided)
            case Action.ADOPT:
                await apply_action.adopt_line(tx, decided, self.apply_answers, reference_prefix=self.reference_prefix)
            case Action.RESOLVE:
                assert decided.exception.reference is not None
                await approve_case(
                    tx,
                    decided.exception.reference,
                    actor=decided.actor,
                    now=decided.now,
                    follow_up_seconds=self.follow_up_seconds,
                    expected=_seen(decided.resolution),
                    is_single_operator=decided.is_alone,
                )
            case Action.UNDO:
                return await _undo(tx, decided)
        return await _end(tx, decided, booking_id)


async def _find_shown_payment(
    connection: Conn, exception: ReconciliationException, resolution: Resolution
) -> object | None:
    """The facts about the payment of the exception that an approver is shown, if there is one."""
    if resolution.action is Action.RESOLVE and exception.merchant_id and exception.transaction_id:
        finding = _finding(resolution)
        resolved = ProposedResolution(
            id=resolution.id,
            merchant_id=exception.merchant_id,
            outcome=finding.outcome,
            is_of_contradiction=False,
            is_waived=finding.is_waived,
            evidence=resolution.reason,
            requested_by=resolution.requested_by,
            requested_at=resolution.requested_at,
        )
        return await resolve.find_shown(connection, resolved, exception.transaction_id)
    if resolution.action is not Action.MATCH:
        return None
    payment = await payments.find(connection, resolution.terms["payment"])
    return None if payment is None else (payment.id, payment.status)


async def _undo(tx: Tx, decided: DecidedAction) -> ReconciliationException:
    undone = await _find_undone(tx, decided.resolution)
    await apply_action.undo(tx, decided, undone)
    resolution = await _insert(tx, decided, None)
    await resolutions.set_undone(tx, undone.id, by=resolution.id)
    await exceptions.set_state(tx, decided.exception.id, ExceptionState.OPEN, now=decided.now)
    await _note(tx, decided, "exception.undone", resolution)
    return await _get(tx, decided.exception.id)


async def _insert(tx: Tx, decided: DecidedAction, booking_id: str | None) -> Resolution:
    """Store a resolution that was applied."""
    done = replace(
        decided.resolution,
        decided_by=decided.actor.name,
        decided_at=decided.now,
        is_approved=True,
        booking_id=booking_id,
    )
    await resolutions.insert(tx, done)
    return done


async def _end(tx: Tx, decided: DecidedAction, booking_id: str | None) -> ReconciliationException:
    exception, actor, now = decided.exception, decided.actor, decided.now
    resolution = await _insert(tx, decided, booking_id)
    is_resolved = is_resolved_by(exception.kind, resolution)
    if resolution.action is Action.NOTE and exception.line_id is not None:
        # The ledger lacks the amount of a line that waits for a second operator, or was rejected.
        is_resolved &= not await evidence.is_unreported(tx, exception.line_id)
    state = ExceptionState.RESOLVED if is_resolved else ExceptionState.OPEN
    await exceptions.set_state(tx, exception.id, state, by=actor.name, why=resolution.reason, now=now)
    action = "exception.resolved" if state is ExceptionState.RESOLVED else "exception.noted"
    await _note(tx, decided, action, resolution)
    return await _get(tx, exception.id)


def is_resolved_by(kind: ExceptionKind, resolution: Resolution) -> bool:
    """Whether this resolution ends the exception: not while shillings are missing in the ledger. A note moves none, and
    neither does the statement that an absent payment was paid. Pure."""
    match resolution.action:
        case Action.NOTE:
            return kind in RESOLVED_BY_NOTE
        case Action.RESOLVE:
            is_paid = resolution.terms["outcome"] == ResolvedOutcome.COMPLETED
            return not (kind is ExceptionKind.OURS_ONLY and is_paid)
    return True


async def _wait(
    tx: Tx, exception: ReconciliationException, resolution: Resolution, act: Act, *, actor: Actor
) -> ReconciliationException:
    proposal = Proposal(
        id=resolution.id,
        action=act,
        subject=exception.id,
        amount=resolution.amount,
        terms=decide.encode(ActionTerms(action=resolution.action, terms=resolution.terms)),
        reason=resolution.reason,
        requested_by=resolution.requested_by,
        requested_at=resolution.requested_at,
    )
    details = _details(exception, resolution)
    await decide.propose(tx, proposal, "exception.proposed", details, actor=actor, family=resolutions.ACTS)
    await exceptions.set_state(tx, exception.id, ExceptionState.PROPOSED, now=resolution.requested_at)
    return await _get(tx, exception.id)


async def _require(
    tx: Tx,
    exception: ReconciliationException,
    action: Action,
    terms: Mapping[str, str],
    reason: str,
    actor: Actor,
) -> None:
    require_operator(actor)
    if not typed_reason.is_within(reason, typed_reason.EVIDENCE):
        raise Invalid(code=ExceptionRefusal.REASON)
    if exception.state is ExceptionState.PROPOSED:
        raise Conflict(code=ExceptionRefusal.PROPOSED)
    if action is Action.UNDO:
        return
    if exception.state is ExceptionState.RESOLVED:
        raise Conflict(code=ExceptionRefusal.RESOLVED, by=exception.resolved_by)
    if action not in ACTIONS[exception.kind]:
        allowed = sorted(ACTIONS[exception.kind])
        raise Invalid(code=ExceptionRefusal.ACTION, kind=exception.kind, action=action, allowed=allowed)
    match action:
        case Action.MATCH:
            payment = await apply_action.find_payment(tx, _term(terms, "payment", ExceptionRefusal.NEEDS_PAYMENT))
            apply_action.require_direction(exception, payment)
            apply_action.require_own_amount(exception, payment)
            await apply_action.require_no_line(tx, payment)
            await apply_action.require_payment_of_line(tx, exception, payment)
        case Action.BOOK:
            apply_action.account_of(dict(terms))
        case Action.ADOPT if exception.line_cents:
            raise Invalid(code=AdoptRefusal.CENTS)
        case Action.ADOPT:
            _term(terms, "merchant", ExceptionRefusal.NEEDS_MERCHANT)
            await fee_of_lost(tx, await find_lost_request(tx, exception, terms))
        case Action.RESOLVE if terms.get("outcome") not in (ResolvedOutcome.COMPLETED, ResolvedOutcome.FAILED):
            raise Invalid(code=ExceptionRefusal.OUTCOME)


def _term(terms: Mapping[str, str], name: str, code: ExceptionRefusal) -> str:
    if not terms.get(name):
        raise Invalid(code=code)
    return terms[name]


async def _act_of(tx: Tx, exception: ReconciliationException, resolution: Resolution) -> Act:
    """The act of `act_rules.py` that this resolution is. The moved amount counts, not the amount at stake."""
    match resolution.action:
        case Action.NOTE:
            return Act.NOTE
        case Action.MATCH:
            return Act.MATCH_LINE
        case Action.ADOPT:
            return Act.ADOPT_LINE
        case Action.UNDO:
            return Act.UNDO_OF_TWO if (await _find_undone(tx, resolution)).took_two else Act.UNDO
        case Action.BOOK:
            return Act.BOOK_PAYOUT_LINE if exception.is_payout else Act.BOOK_LINE
    raise AssertionError(resolution.action)


def _counted(exception: ReconciliationException, resolution: Resolution) -> int:
    """The amount that counts for the operator's limit. Booking the rest of a line makes the whole line its payment's,
    so all of it counts."""
    is_match = resolution.action is Action.BOOK and exception.has_followed
    return max(resolution.amount, abs(exception.line_amount or 0)) if is_match else resolution.amount


def _seen(resolution: Resolution) -> str:
    """The fingerprint of the proposal about the exception's payment that belongs to this resolution."""
    return resolve.fingerprint_of(resolution.requested_by, _finding(resolution))


def _finding(resolution: Resolution) -> OperatorFinding:
    return OperatorFinding(
        ResolvedOutcome(resolution.terms["outcome"]),
        resolution.reason,
        is_waived=resolution.terms.get("waive") == "yes",
        is_despite_waiting=resolution.terms.get("despite_waiting") == "yes",
    )


def _is_done(resolution: Resolution) -> bool:
    is_approved = bool(resolution.is_approved) and resolution.undone_by is None
    return is_approved and resolution.action is not Action.UNDO


async def _lock(tx: Tx, exception_id: str, actor: Actor) -> ReconciliationException:
    """Lock an exception, and keep matching and other operators from deciding about it until the commit."""
    await matching.lock_for_decision(tx)
    await moved_alone.lock(tx, actor.name)
    exception = await exceptions.lock(tx, exception_id)
    if exception is None:
        raise NoSuchException(exception_id)
    return exception


async def _get(tx: Conn, exception_id: str) -> ReconciliationException:
    exception = await exceptions.get(tx, exception_id)
    assert exception is not None
    return exception


async def _find_undone(tx: Tx, undo: Resolution) -> Resolution:
    [found] = [each for each in await resolutions.find(tx, undo.exception_id) if each.id == undo.terms["resolution"]]
    return found


def _details(exception: ReconciliationException, resolution: Resolution) -> dict[str, Any]:
    return {
        "exception": exception.id,
        "kind": exception.kind,
        "channel": exception.channel,
        "amount": exception.amount,
        "moved": resolution.amount,
        "receipt": exception.receipt,
        "payment": exception.transaction_id,
        "step": resolution.action,
        "terms": resolution.terms,
        "reason": resolution.reason,
        "booking": resolution.booking_id,
    }


async def _note(tx: Tx, decided: DecidedAction, what: str, resolution: Resolution) -> None:
    details = _details(decided.exception, resolution) | {"proposed_by": resolution.requested_by}
    details |= audit_log.alone(decided.is_alone)
    await audit_log.append(tx, decided.actor, what, now=decided.now, **details)
