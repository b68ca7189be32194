"""One settlement of a merchant, as operators see it: cancelled while it is in no file, and what is owed of an adopted
one."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo.approvals.act_rules import Act
from malipo.bank.payout_file import PayoutFile
from malipo.bank.store import payout_files
from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.settlements.settlement_acts import acts_of
from malipo.dashboard.operator.settlements.settlement_list import PATH
from malipo.dashboard.operator.waiting_acts import WaitingAct, find_waiting
from malipo.dashboard.urls import id_in
from malipo.db import Conn
from malipo.errors import Missing, Refusal, Unavailable
from malipo.merchants.store import merchants
from malipo.restore.installation import IntakeClosed
from malipo.settlement import operator_acts
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.settlement import Settlement
from malipo.settlement.store import bank_accounts, settlements

_IN_DOUBT = "We do not know whether this was done. Look at it again."
SENTENCES = (_IN_DOUBT,)


class _Page(NamedTuple):
    settlement: Settlement
    merchant: str
    bank_account: BankAccount | None
    file: PayoutFile | None
    waiting: list[WaitingAct]


async def show(request: OperatorRequest) -> Response:
    return await page(request, id_in(request))


async def cancel(request: OperatorRequest) -> Response:
    await request.form()
    id_, now = id_in(request), request.parts.clock()
    try:
        await request.parts.queries.write(lambda tx: operator_acts.cancel(tx, id_, actor=request.actor, now=now))
    except IntakeClosed as closed:
        problem = form_errors.sentence(request.words, closed.code)
        return await page(request, id_, status=HTTPStatus.SERVICE_UNAVAILABLE, problem=problem)
    except Unavailable:
        return await page(request, id_, status=HTTPStatus.SERVICE_UNAVAILABLE, problem=request.words(_IN_DOUBT))
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await page(request, id_, status=form_errors.status_of(refusal), problem=problem)
    return request.go(f"{PATH}/{id_}", "settlement-cancelled-for")


async def collect(request: OperatorRequest) -> Response:
    form = await request.form()
    id_, now = id_in(request), request.parts.clock()
    evidence = " ".join(form.text("evidence").split())
    try:
        await request.parts.queries.write(
            lambda tx: acts_of(request).collect(
                tx, id_, evidence, is_waived=form.text("how") == "waive", actor=request.actor, now=now
            )
        )
    except Refusal as refusal:
        problem, status = form_errors.of_refusal(request.words, refusal), form_errors.status_of(refusal)
        return await page(request, id_, status=status, problem=problem, values=form.values())
    return request.go(f"{PATH}/{id_}", "case-proposed")


async def page(
    request: OperatorRequest,
    settlement_id: str,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
) -> Response:
    async def find(connection: Conn) -> _Page:
        found = await settlements.find(connection, [settlement_id])
        if not found:
            raise Missing("There is no settlement with this id.")
        [settlement] = found
        account_id, file_id = settlement.bank_account_id, settlement.payout_file_id
        return _Page(
            settlement,
            await merchants.name_of(connection, settlement.merchant_id),
            await bank_accounts.get_with_id(connection, account_id) if account_id else None,
            await payout_files.get(connection, file_id) if file_id else None,
            await find_waiting(connection, request, [Act.COLLECT_SETTLEMENT], settlement.id),
        )

    found = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "operator/settlements/detail.html",
        status=status,
        problem=problem,
        values=values or {},
        settlement=found.settlement,
        merchant=found.merchant,
        bank_account=found.bank_account,
        file=found.file,
        waiting=found.waiting,
    )
