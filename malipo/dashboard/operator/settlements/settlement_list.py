"""The settlements of all merchants, the newest first; and after a restore, their release."""

from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo.approvals.act_rules import Act
from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.settlements.settlement_acts import acts_of
from malipo.dashboard.operator.waiting_acts import WaitingAct, find_waiting
from malipo.db import Conn
from malipo.errors import Refusal
from malipo.merchants.store import merchants
from malipo.settlement import release
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.settlement import Settlement, SettlementStatus
from malipo.settlement.store import bank_accounts, settlements

PATH = "/operator/settlements"
_MOST = 200


class _Page(NamedTuple):
    found: list[Settlement]
    names: dict[str, str]
    owing: list[Settlement]
    unverified: list[BankAccount]
    is_released: bool
    why_not: Refusal | None
    waiting: list[WaitingAct]


async def show(request: OperatorRequest) -> Response:
    return await page(request)


async def propose_release(request: OperatorRequest) -> Response:
    form = await request.form()
    evidence, now = " ".join(form.text("evidence").split()), request.parts.clock()
    try:
        await request.parts.queries.write(
            lambda tx: acts_of(request).release(tx, evidence, actor=request.actor, now=now)
        )
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await page(request, status=form_errors.status_of(refusal), problem=problem, evidence=evidence)
    return request.go(PATH, "case-proposed")


async def page(
    request: OperatorRequest,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    evidence: str = "",
) -> Response:
    text = request.http.query_params.get("status", "")
    chosen = SettlementStatus(text) if text in SettlementStatus.__members__.values() else None

    async def find(connection: Conn) -> _Page:
        is_released = await release.is_released(connection)
        found = await settlements.find_latest(connection, status=chosen, limit=_MOST)
        owing = await settlements.find_owing(connection)
        return _Page(
            found,
            await merchants.find_names(connection, [each.merchant_id for each in (*found, *owing)]),
            owing,
            await bank_accounts.find_unverified(connection),
            is_released,
            None if is_released else await release.why_not_covered(connection),
            await find_waiting(connection, request, [Act.RELEASE_SETTLEMENTS]),
        )

    found = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "operator/settlements/list.html",
        status=status,
        problem=problem,
        evidence=evidence,
        settlements=found.found,
        names=found.names,
        owing=found.owing,
        unverified=len(found.unverified),
        is_released=found.is_released,
        why_not=None if found.why_not is None else form_errors.of_refusal(request.words, found.why_not),
        waiting=found.waiting,
        chosen=chosen,
        is_cut=len(found.found) == _MOST,
    )
