"""Withdraw an import, or undo one of its bookings: proposed on its page by one operator, decided there by another.

The rules are those of `malipo/reconciliation/imports/withdraw_statement.py`. A large file takes longer than a page
may, so it has a connection of its own.
"""

from collections.abc import Awaitable, Callable
from http import HTTPStatus

from starlette.responses import Response

from malipo import typed_reason
from malipo.dashboard import form_errors
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.proposal_pages import is_alone
from malipo.dashboard.operator.reconciliation import run_import
from malipo.dashboard.operator.reconciliation import statements as pages
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.urls import id_in
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.reconciliation.exceptions.refusals import ExceptionRefusal
from malipo.reconciliation.imports.store import withdrawal_proposals as statement_proposals
from malipo.reconciliation.imports.store.withdrawal_proposals import StatementProposal
from malipo.reconciliation.imports.withdraw_statement import WithdrawStatements
from malipo.words import say

_REASON = say.SENTENCES[ExceptionRefusal.REASON]
_Act = Callable[[Tx, WithdrawStatements], Awaitable[StatementProposal]]


async def propose(request: OperatorRequest) -> Response:
    """Propose to withdraw the file; or to undo a booking of it, which is done at once if it is small."""
    form = await request.form()
    reason, booking = " ".join(form.text("reason").split()), form.text("booking")
    if not typed_reason.is_within(reason, typed_reason.EVIDENCE):
        errors = {"reason": request.words(_REASON)}
        return await pages.page(request, status=HTTPStatus.BAD_REQUEST, values=form.values(), errors=errors)

    async def act(tx: Tx, withdraw: WithdrawStatements) -> StatementProposal:
        by, now = request.actor, request.parts.clock()
        if booking:
            return await withdraw.propose_undo(tx, booking, reason=reason, actor=by, now=now)
        return await withdraw.propose_withdrawal(tx, id_in(request), reason=reason, actor=by, now=now)

    return await _done(request, form, act)


async def approve(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx, withdraw: WithdrawStatements) -> StatementProposal:
        subject = await _subject_as_seen(tx, request, form)
        return await withdraw.approve(
            tx,
            subject,
            actor=request.actor,
            now=request.parts.clock(),
            seen=form.text("seen"),
            is_single_operator=is_alone(form),
        )

    return await _done(request, form, act)


async def reject(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx, withdraw: WithdrawStatements) -> StatementProposal:
        subject = await _subject_as_seen(tx, request, form)
        return await withdraw.reject(tx, subject, actor=request.actor, now=request.parts.clock())

    return await _done(request, form, act)


async def _subject_as_seen(tx: Tx, request: OperatorRequest, form: Form) -> str:
    """Nobody decides about another proposal than the one they saw."""
    for each in await statement_proposals.find(tx, id_in(request)):
        if each.id == form.text("proposal") and each.decided_at is None:
            return each.subject
    raise Conflict(form_errors.CHANGED)


async def _done(request: OperatorRequest, form: Form, act: _Act) -> Response:
    withdraw = WithdrawStatements(request.parts.settings.booking_approval_amount)
    database = request.parts.queries.database.another(size=1)
    await database.open()
    try:
        async with database.begin() as tx:
            done = await act(tx, withdraw)
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        status = form_errors.status_of(refusal)
        return await pages.page(request, status=status, values=form.values(), problem=problem)
    finally:
        await database.close()
    if done.is_approved:
        await run_import.run_matching(request)
    notice = "proposed" if done.is_approved is None else "withdrawn" if done.is_approved else "rejected"
    if done.is_approved and done.booking_id:
        notice = "booking-undone"
    return request.go(f"{pages.PATH}/{id_in(request)}", f"statement-{notice}")
