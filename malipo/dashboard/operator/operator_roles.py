"""Operators, with their roles; and roles that wait for a second operator.

A role is proposed at the command line (`malipo operators role`). The rules are those of
`malipo/approvals/role_approval.py`.
"""

from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo.approvals import decide, role_approval
from malipo.approvals.act_rules import Act
from malipo.approvals.role_approval import RoleTerms
from malipo.approvals.store import Proposal
from malipo.dashboard import form_errors, render
from malipo.dashboard.language import Translator
from malipo.dashboard.operator.proposal_pages import is_alone, may_be_alone
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn, Tx
from malipo.errors import Refusal
from malipo.operators import store as operators
from malipo.operators.roles import Role
from malipo.operators.store import ListedOperator

PATH = "/operator/operators"

_ROLES = {Role.MANAGER: "Manager", Role.SUPPORT: "Support", Role.AUDITOR: "Auditor"}
_MAY = {
    Role.MANAGER: "Does everything; what is large or risky takes two of them.",
    Role.SUPPORT: "Reads merchants, payments and deliveries, and sends webhooks again.",
    Role.AUDITOR: "Reads every page and report, and changes nothing.",
}
SENTENCES = [*_ROLES.values(), *_MAY.values()]


class WaitingRole(NamedTuple):
    proposal: Proposal
    before: str
    role: str
    seen: str
    is_mine: bool
    is_about_me: bool


def role_words(words: Translator) -> dict[Role, str]:
    return {role: words(name) for role, name in _ROLES.items()}


async def show(request: OperatorRequest) -> Response:
    return await _page(request)


async def approve(request: OperatorRequest) -> Response:
    form = await request.form()
    seen = form.text("seen")

    async def act(tx: Tx) -> None:
        await role_approval.approve(
            tx,
            form.text("name"),
            actor=request.actor,
            now=request.parts.clock(),
            seen=seen,
            is_single_operator=is_alone(form),
        )

    try:
        await request.parts.queries.write(act)
    except Refusal as refusal:
        return await _refused(request, refusal)
    return request.go(PATH, "role-given")


async def reject(request: OperatorRequest) -> Response:
    name = (await request.form()).text("name")
    try:
        await request.parts.queries.write(
            lambda tx: role_approval.reject(tx, name, actor=request.actor, now=request.parts.clock())
        )
    except Refusal as refusal:
        return await _refused(request, refusal)
    return request.go(PATH, "role-rejected")


async def _refused(request: OperatorRequest, refusal: Refusal) -> Response:
    problem = form_errors.of_refusal(request.words, refusal)
    return await _page(request, status=form_errors.status_of(refusal), problem=problem)


async def _page(
    request: OperatorRequest, *, status: HTTPStatus = HTTPStatus.OK, problem: str | None = None
) -> Response:
    async def find(connection: Conn) -> tuple[list[ListedOperator], list[Proposal], int]:
        found = await operators.find_operators(connection)
        return found, await role_approval.find_open(connection), await operators.count(connection)

    found, proposals, number = await request.parts.queries.read_snapshot(find)
    names = role_words(request.words)
    return render.page(
        request,
        "operator/operators.html",
        status=status,
        problem=problem,
        operators=found,
        names=names,
        explained=[(names[role], request.words(_MAY[role])) for role in Role],
        waiting=[_row(request, each, names) for each in proposals],
        may_be_alone=may_be_alone(Act.GIVE_ROLE, operators=number),
    )


def _row(request: OperatorRequest, proposal: Proposal, names: dict[Role, str]) -> WaitingRole:
    terms, me = proposal.terms_as(RoleTerms), request.actor.name
    return WaitingRole(
        proposal,
        names[terms.before],
        names[terms.role],
        decide.code_of(proposal),
        is_mine=proposal.requested_by == me,
        is_about_me=f"operator {proposal.subject}" == me,
    )
