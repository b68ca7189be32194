"""Resolves a case: one operator proposes an outcome, another approves or rejects it. The rules are those of
`payments/cases/resolution.py`.

Each form contains a code of what its page showed, and is refused if that has changed since.
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.responses import Response

from malipo import typed_reason
from malipo.approvals import moved_alone
from malipo.dashboard import form_errors
from malipo.dashboard.forms import Form
from malipo.dashboard.operator import cases as pages
from malipo.dashboard.operator import resolution_effects
from malipo.dashboard.operator.proposal_pages import is_alone
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.networks.routing import unconnected_routes
from malipo.outbox.event import EVENTS_TOPIC
from malipo.payments.cases import cancel_unsent, resolve
from malipo.payments.cases.resolution import NoSuchCase, OperatorFinding, ResolutionResult, ResolvedOutcome
from malipo.payments.store import cases
from malipo.payments.store.cases import Case
from malipo.reconciliation.exceptions.approve_case import approve_case
from malipo.restore.installation import IntakeClosed

Act = Callable[[Tx], Awaitable[ResolutionResult | None]]

_FOUND = (ResolvedOutcome.COMPLETED, ResolvedOutcome.FAILED, ResolvedOutcome.SEND)  # a form of its own cancels
_MOST_REFERENCE = 100
_OUTCOME = "Say what became of the money."
_WAITING = (
    "Its network has it and has not decided, so it may still be paid. Tick the box below if you know for certain "
    "that it will not be."
)
_EVIDENCE = "Say how you know it, in 10 to 1,000 characters."

SENTENCES = [_OUTCOME, _WAITING, _EVIDENCE]


async def propose(request: OperatorRequest) -> Response:
    form = await request.form()
    evidence = " ".join(form.text("evidence").split())
    if errors := mistakes(request, form, evidence):
        return await pages.page(request, status=HTTPStatus.BAD_REQUEST, values=form.values(), errors=errors)

    async def act(tx: Tx) -> ResolutionResult:
        status, said = form.text("status"), form.text("said")
        return await propose_one(request, tx, payment, form, evidence, status=status, said=said)

    payment = pages.payment_in(request)
    return await _done(request, form, act, "case-proposed")


async def propose_one(
    request: OperatorRequest, tx: Tx, payment: str, form: Form, evidence: str, *, status: str, said: str
) -> ResolutionResult:
    """Propose the form's finding about one payment, if the payment still is as it was shown."""
    await moved_alone.lock(tx, request.actor.name)
    case = await cases.lock(tx, payment)
    if case is None:
        raise NoSuchCase(payment)
    if (case.transaction.status, resolution_effects.said_of(case)) != (status, said):
        raise Conflict(form_errors.CHANGED)
    finding = _finding(case, form, evidence)
    if (
        resolution_effects.is_waiting(case)
        and finding.outcome is ResolvedOutcome.FAILED
        and not finding.is_despite_waiting
    ):
        raise Conflict(_WAITING)
    return await resolve.propose(
        tx,
        payment,
        finding,
        actor=request.actor,
        approval_amount=request.parts.settings.booking_approval_amount,
        now=request.parts.clock(),
        follow_up_seconds=_first_query_after_end(request),
    )


def _finding(case: Case, form: Form, evidence: str) -> OperatorFinding:
    outcome, is_waived = resolution_effects.finding_of(case, form.text("outcome"))
    return OperatorFinding(
        outcome,
        evidence,
        form.text("providerReference") or None,
        is_despite_waiting=form.text("despiteWaiting") == "yes",
        is_waived=is_waived,
    )


async def approve(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx) -> ResolutionResult:
        payment, proposal = pages.payment_in(request), form.text("proposal")
        seen = form.text("seen")
        return await approve_one(request, tx, payment, proposal=proposal, seen=seen, is_alone=is_alone(form))

    return await _done(request, form, act, "case-settled")


async def approve_one(
    request: OperatorRequest, tx: Tx, payment: str, *, proposal: str, seen: str, is_alone: bool
) -> ResolutionResult:
    await _require_proposed(tx, payment, proposal)
    return await approve_case(
        tx,
        payment,
        actor=request.actor,
        now=request.parts.clock(),
        follow_up_seconds=_first_query_after_end(request),
        seen=seen,
        is_single_operator=is_alone,
    )


async def reject(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx) -> ResolutionResult:
        return await reject_one(request, tx, pages.payment_in(request), proposal=form.text("proposal"))

    return await _done(request, form, act, "case-rejected")


async def reject_one(request: OperatorRequest, tx: Tx, payment: str, *, proposal: str) -> ResolutionResult:
    await _require_proposed(tx, payment, proposal)
    return await resolve.reject(tx, payment, actor=request.actor, now=request.parts.clock())


async def cancel(request: OperatorRequest) -> Response:
    """Cancel an unsent payout of a deactivated merchant, which only operators can, or of a channel not connected."""
    form = await request.form()

    async def act(tx: Tx) -> ResolutionResult | None:
        done = await cancel_unsent.cancel(
            tx,
            pages.payment_in(request),
            actor=request.actor,
            now=request.parts.clock(),
            unconnected=unconnected_routes(request.parts.networks.routes),
        )
        return None if done.is_done else done

    return await _done(request, form, act, "case-proposed")


async def _require_proposed(tx: Tx, payment: str, shown: str) -> None:
    """Refuse if what was shown is no longer what is proposed."""
    case = await cases.lock(tx, payment)
    if case is None:
        raise NoSuchCase(payment)
    proposal = await cases.find_proposal(tx, case.transaction)
    if proposal is None or proposal.id != shown:
        raise Conflict(form_errors.CHANGED)


def _first_query_after_end(request: OperatorRequest) -> float:
    """Seconds until the network is queried again about a payment that operators end as FAILED."""
    return request.parts.settings.follow_up_seconds[0]


def mistakes(request: OperatorRequest, form: Form, evidence: str) -> dict[str, str]:
    words, wrong = request.words, {}
    reference = form.text("providerReference")
    if form.text("outcome") not in (*_FOUND, resolution_effects.WAIVED):
        wrong["outcome"] = words(_OUTCOME)
    if not typed_reason.is_within(evidence, typed_reason.EVIDENCE):
        wrong["evidence"] = words(_EVIDENCE)
    if len(reference) > _MOST_REFERENCE or not reference.isprintable():
        wrong["providerReference"] = form_errors.sentence(words, "text_too_long", {"most": _MOST_REFERENCE})
    return wrong


async def _done(request: OperatorRequest, form: Form, act: Act, notice: str) -> Response:
    try:
        resolved = await request.parts.queries.write(act)
    except NoSuchCase:
        raise
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await pages.page(request, status=form_errors.status_of(refusal), problem=problem, values=form.values())
    except IntakeClosed as closed:
        problem = form_errors.sentence(request.words, closed.code)
        return await pages.page(request, status=HTTPStatus.SERVICE_UNAVAILABLE, problem=problem, values=form.values())
    if resolved is None or resolved.is_done:
        request.parts.notifier.notify(EVENTS_TOPIC)
    if resolved is None:
        notice = "payment-cancelled"
    elif resolved.is_done:
        notice = "case-settled"
    return request.go(f"/operator/cases/{pages.payment_in(request)}", notice)
