"""Approves or rejects proposals about settlements and merchants' bank accounts, on the page that showed them."""

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from malipo.approvals.act_rules import Act
from malipo.approvals.store import Proposal
from malipo.dashboard import form_errors
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.proposal_pages import is_alone, page_of
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.settlements import bank_accounts, settlement_detail, settlement_list
from malipo.dashboard.operator.settlements.settlement_acts import acts_of
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.settlement import operator_acts
from malipo.settlement.operator_acts import DecidedAct


async def approve(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx, subject: str) -> DecidedAct:
        return await acts_of(request).approve(
            tx,
            subject,
            actor=request.actor,
            now=request.parts.clock(),
            seen=form.text("seen"),
            is_single_operator=is_alone(form),
        )

    return await _decide(request, form, act, "act-approved")


async def reject(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx, subject: str) -> DecidedAct:
        return await acts_of(request).reject(tx, subject, actor=request.actor, now=request.parts.clock())

    return await _decide(request, form, act, "act-rejected")


async def _decide(
    request: OperatorRequest, form: Form, act: Callable[[Tx, str], Awaitable[DecidedAct]], notice: str
) -> Response:
    subject, found = form.text("subject"), list[Proposal]()

    async def decide(tx: Tx) -> DecidedAct:
        """Refuse a decision about another proposal than the one that the page showed."""
        proposal = await operator_acts.lock_open(tx, subject)
        if proposal.id != form.text("proposal"):
            raise Conflict(form_errors.CHANGED)
        found.append(proposal)
        return await act(tx, subject)

    try:
        await request.parts.queries.write(decide)
    except Refusal as refusal:
        return await _refused(request, found[-1] if found else None, refusal)
    return request.go(page_of(found[-1]), notice)


async def _refused(request: OperatorRequest, proposal: Proposal | None, refusal: Refusal) -> Response:
    status = form_errors.status_of(refusal)
    if proposal is None:
        return await settlement_list.page(request, status=status, problem=request.words(form_errors.CHANGED))
    problem = form_errors.of_refusal(request.words, refusal)
    match proposal.action:
        case Act.VERIFY_BANK_ACCOUNT:
            return await bank_accounts.page(request, proposal.subject, status=status, problem=problem)
        case Act.COLLECT_SETTLEMENT:
            return await settlement_detail.page(request, proposal.subject, status=status, problem=problem)
    return await settlement_list.page(request, status=status, problem=problem)
