"""Approves or rejects proposals about our bank accounts, on the page that showed them."""

from collections.abc import Awaitable, Callable

from starlette.responses import Response

from malipo.approvals.act_rules import BANK, Act
from malipo.approvals.store import Proposal
from malipo.bank import approve as bank_approve
from malipo.bank import proposals
from malipo.bank.store import payer_accounts
from malipo.dashboard import form_errors
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.bank import exceptions, our_accounts, payout_files, statements
from malipo.dashboard.operator.own_connection import write_apart
from malipo.dashboard.operator.proposal_pages import is_alone, page_of
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Tx
from malipo.errors import Missing, Refusal

_PAGES: dict[Act, Callable[..., Awaitable[Response]]] = {
    Act.APPROVE_PAYOUT_FILE: payout_files.page,
    Act.VOID_PAYOUT_FILE: payout_files.page,
    Act.REFUSE_TRANSFERS: payout_files.page,
    Act.IMPORT_BANK_STATEMENT: statements.page,
    Act.WITHDRAW_BANK_STATEMENT: statements.page,
    Act.BOOK_BANK_LINE: exceptions.page,
    Act.MATCH_BANK_LINE: exceptions.page,
    Act.ADOPT_SETTLEMENT: exceptions.page,
}
assert {*_PAGES, Act.ADD_PAYER_ACCOUNT} == set(BANK)


async def approve(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx, name: str) -> Proposal:
        return await bank_approve.approve(
            tx,
            name,
            reference_prefix=request.parts.settings.reference_prefix,
            actor=request.actor,
            now=request.parts.clock(),
            seen=form.text("seen"),
            is_single_operator=is_alone(form),
        )

    return await _decide(request, form, act, "act-approved")


async def reject(request: OperatorRequest) -> Response:
    form = await request.form()

    async def act(tx: Tx, name: str) -> Proposal:
        return await bank_approve.reject(tx, name, actor=request.actor, now=request.parts.clock())

    return await _decide(request, form, act, "act-rejected")


async def _decide(
    request: OperatorRequest, form: Form, act: Callable[[Tx, str], Awaitable[Proposal]], notice: str
) -> Response:
    """The form contains the proposal's id, so an operator can only decide the proposal that the page showed."""
    name, found = form.text("proposal"), list[Proposal]()

    async def decide(tx: Tx) -> Proposal:
        if not name.startswith(proposals.ID_PREFIX):
            raise Missing(code=proposals.BankProposalRefusal.NOTHING_WAITS, name=name[:80])
        await payer_accounts.lock(tx)
        found.append(await proposals.lock_open(tx, name))
        return await act(tx, name)

    try:
        await write_apart(request, decide)
    except Refusal as refusal:
        return await _refused(request, found[-1] if found else None, refusal)
    return request.go(page_of(found[-1]), notice)


async def _refused(request: OperatorRequest, proposal: Proposal | None, refusal: Refusal) -> Response:
    status = form_errors.status_of(refusal)
    if proposal is None:
        return await our_accounts.page(request, status=status, problem=request.words(form_errors.CHANGED))
    problem = form_errors.of_refusal(request.words, refusal)
    if proposal.action not in _PAGES:
        return await our_accounts.page(request, status=status, problem=problem)
    return await _PAGES[proposal.action](request, proposal.subject, status=status, problem=problem)
