"""Decides several cases at once: proposes one finding for all of them, or approves or rejects the proposals of others.

Each case is a commit of its own, by the same use case and rules as on its own page, and the page shows the result of
each. So a case that is refused, or that has changed since, does not stop the others.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.operator import cases as pages
from malipo.dashboard.operator import resolve_case
from malipo.dashboard.operator.cases import Dossier
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.resolution_effects import is_waiting, said_of
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.outbox.event import EVENTS_TOPIC
from malipo.payments.cases.resolution import NoSuchCase, ResolutionResult, resembles_adopted
from malipo.payments.transaction import Status
from malipo.restore.installation import IntakeClosed

PATH = "/operator/cases/chosen"
MOST_CHOSEN = 50

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
_DONE, _PROPOSED, _REJECTED = (
    "Settled.",
    "Proposed: another operator must approve it.",
    "Rejected: nothing has changed.",
)
_CHOOSE = "Choose at least one case."
SENTENCES = [_DONE, _PROPOSED, _REJECTED, _CHOOSE]


class CaseResult(NamedTuple):
    reference: str
    outcome: str  # done, waits or refused
    sentence: str


class ChosenCase(NamedTuple):
    dossier: Dossier
    row: pages.CaseRow
    said: str
    is_mine: bool  # the proposal


Act = Callable[[Tx, str, Sequence[str]], Awaitable[ResolutionResult]]


async def show(request: OperatorRequest) -> Response:
    chosen = _references(request.http.query_params.getlist("payment"))
    return await _page(request, chosen) if chosen else request.go("/operator")


async def propose(request: OperatorRequest) -> Response:
    form = await request.form()
    evidence = " ".join(form.text("evidence").split())
    if errors := resolve_case.mistakes(request, form, evidence):
        return await _page(request, _named(form), status=HTTPStatus.BAD_REQUEST, form=form, errors=errors)

    async def act(tx: Tx, payment: str, shown: Sequence[str]) -> ResolutionResult:
        status, said = [*shown, "", ""][:2]
        return await resolve_case.propose_one(request, tx, payment, form, evidence, status=status, said=said)

    return await _decide(request, form, act, _PROPOSED)


async def approve(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx, payment: str, shown: Sequence[str]) -> ResolutionResult:
        proposal, seen = [*shown, "", ""][:2]
        return await resolve_case.approve_one(request, tx, payment, proposal=proposal, seen=seen, is_alone=False)

    return await _decide(request, form, act, _PROPOSED)


async def reject(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx, payment: str, shown: Sequence[str]) -> ResolutionResult:
        return await resolve_case.reject_one(request, tx, payment, proposal=[*shown, ""][0])

    return await _decide(request, form, act, _REJECTED)


async def _decide(request: OperatorRequest, form: Form, act: Act, not_done: str) -> Response:
    """The form names each case with what was shown of it: `REFERENCE what was shown`."""
    named = form.all("case")[:MOST_CHOSEN]
    results = [await _one(request, act, not_done, each) for each in dict.fromkeys(named)]
    if not results:
        return await _page(request, [], status=HTTPStatus.BAD_REQUEST, problem=request.words(_CHOOSE))
    if any(each.outcome == "done" for each in results):
        request.parts.notifier.notify(EVENTS_TOPIC)
    is_refused = any(each.outcome == "refused" for each in results)
    status = HTTPStatus.CONFLICT if is_refused else HTTPStatus.OK
    return await _page(request, _named(form), status=status, results=results)


async def _one(request: OperatorRequest, act: Act, not_done: str, named: str) -> CaseResult:
    reference, *shown = named.split(" ")
    words = request.words
    try:
        if not _NAME.fullmatch(reference):
            raise Conflict(form_errors.CHANGED)
        resolved = await request.parts.queries.write(lambda tx: act(tx, reference, shown))
    except Refusal as refusal:
        return CaseResult(reference, "refused", form_errors.of_refusal(words, refusal))
    except IntakeClosed as closed:
        return CaseResult(reference, "refused", form_errors.sentence(words, closed.code))
    if resolved.is_done:
        return CaseResult(reference, "done", words(_DONE))
    return CaseResult(reference, "waits", words(not_done))


def _named(form: Form) -> list[str]:
    return _references([each.partition(" ")[0] for each in form.all("case")])


def _references(values: Sequence[str]) -> list[str]:
    return [each for each in dict.fromkeys(values) if _NAME.fullmatch(each)][:MOST_CHOSEN]


async def _page(
    request: OperatorRequest,
    chosen: Sequence[str],
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    results: Sequence[CaseResult] = (),
    form: Form | None = None,
    errors: dict[str, str] | None = None,
) -> Response:
    found = [each for name in chosen if (each := await _find(request, name)) is not None]
    proposed = [each for each in found if each.dossier.proposal is not None and each.dossier.case.proposed]
    open_ = [each for each in found if each not in proposed and _may_propose(each)]
    return render.page(
        request,
        "operator/cases_chosen.html",
        status=status,
        problem=problem,
        results=results,
        proposed=[each for each in proposed if not each.is_mine],
        mine=[each for each in proposed if each.is_mine],
        open=open_,
        others=[each for each in found if each not in proposed and each not in open_],
        has_waiting=any(is_waiting(each.dossier.case) for each in open_),
        has_payout=any(each.dossier.case.transaction.type == "DISBURSEMENT" for each in open_),
        values={} if form is None else form.values(),
        errors=errors or {},
    )


async def _find(request: OperatorRequest, reference: str) -> ChosenCase | None:
    try:
        dossier = await request.parts.queries.read_snapshot(lambda connection: pages.read(connection, reference))
    except NoSuchCase:
        return None
    row = pages.row_of(request, dossier.case, dossier.merchant)
    is_mine = dossier.proposal is not None and dossier.proposal.requested_by == request.actor.name
    return ChosenCase(dossier, row, said_of(dossier.case), is_mine)


def _may_propose(chosen: ChosenCase) -> bool:
    """Whether it may be proposed here: the network has the payment and has not ended it. Other cases have other
    choices, on their own pages."""
    case = chosen.dossier.case
    is_open = case.transaction.status is Status.PROCESSING and not case.is_sending
    return is_open and chosen.dossier.proposal is None and not resembles_adopted(case)
