"""Bank accounts of merchants: those that wait for verification, and one, which is verified by two operators, and
rejected or stopped by one."""

from collections.abc import Awaitable, Callable, Mapping
from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo import typed_reason
from malipo.approvals.act_rules import Act
from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.settlements.settlement_acts import acts_of
from malipo.dashboard.operator.waiting_acts import WaitingAct, find_waiting
from malipo.dashboard.urls import id_in
from malipo.db import Conn, Tx
from malipo.errors import Missing, Refusal
from malipo.merchants.store import merchants
from malipo.messages import notify_of_bank_accounts
from malipo.messages.store.messages import Notices
from malipo.settlement import manage_bank_accounts, operator_acts
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.settlement import Settlement, SettlementRefusal
from malipo.settlement.store import bank_accounts, settlements
from malipo.words.say import SENTENCES as REFUSALS

PATH = "/operator/bank-accounts"
_MOST = 200


class _Page(NamedTuple):
    bank_account: BankAccount
    merchant: str
    others: list[BankAccount]  # of the same merchant
    to_stopped: list[Settlement]  # in approved files to it, and it was stopped
    waiting: list[WaitingAct]
    notices: Notices  # to its owners, that it was added


async def show_all(request: OperatorRequest) -> Response:
    async def find(connection: Conn) -> tuple[list[BankAccount], list[BankAccount], dict[str, str], set[str]]:
        unverified = await bank_accounts.find_unverified(connection)
        latest = await bank_accounts.find_latest(connection, limit=_MOST)
        names = await merchants.find_names(connection, [each.merchant_id for each in (*unverified, *latest)])
        waiting = await find_waiting(connection, request, [Act.VERIFY_BANK_ACCOUNT])
        return unverified, latest, names, {each.proposal.subject for each in waiting}

    unverified, latest, names, proposed = await request.parts.queries.read_snapshot(find)
    now = request.parts.clock()
    shown = {each.id for each in unverified}
    return render.page(
        request,
        "operator/settlements/bank_accounts.html",
        unverified=unverified,
        others=[(each, each.status(now)) for each in latest if each.id not in shown],
        names=names,
        proposed=proposed,
        now=now,
    )


async def show(request: OperatorRequest) -> Response:
    return await page(request, id_in(request))


async def verify(request: OperatorRequest) -> Response:
    form = await request.form()
    id_, now = id_in(request), request.parts.clock()
    evidence = " ".join(form.text("evidence").split())
    try:
        await request.parts.queries.write(
            lambda tx: acts_of(request).verify(tx, id_, evidence, actor=request.actor, now=now)
        )
    except Refusal as refusal:
        return await _refused(request, id_, refusal, form.values())
    return request.go(f"{PATH}/{id_}", "case-proposed")


async def reject(request: OperatorRequest) -> Response:
    async def act(tx: Tx, account_id: str, reason: str) -> None:
        now = request.parts.clock()
        await operator_acts.reject_account(tx, account_id, reason, actor=request.actor, now=now)

    return await _for_a_reason(request, act, "bank-account-rejected")


async def stop(request: OperatorRequest) -> Response:
    async def act(tx: Tx, account_id: str, reason: str) -> None:
        now = request.parts.clock()
        await manage_bank_accounts.stop(tx, account_id, reason=reason, actor=request.actor, now=now)

    return await _for_a_reason(request, act, "bank-account-stopped-for")


async def _for_a_reason(
    request: OperatorRequest, act: Callable[[Tx, str, str], Awaitable[None]], notice: str
) -> Response:
    form = await request.form()
    id_, reason = id_in(request), " ".join(form.text("reason").split())
    if not typed_reason.is_within(reason, typed_reason.EVIDENCE):
        problem = request.words(REFUSALS[SettlementRefusal.EVIDENCE])
        return await page(request, id_, status=HTTPStatus.BAD_REQUEST, problem=problem, values=form.values())
    try:
        await request.parts.queries.write(lambda tx: act(tx, id_, reason))
    except Refusal as refusal:
        return await _refused(request, id_, refusal, form.values())
    return request.go(f"{PATH}/{id_}", notice)


async def _refused(request: OperatorRequest, account_id: str, refusal: Refusal, values: Mapping[str, str]) -> Response:
    problem, status = form_errors.of_refusal(request.words, refusal), form_errors.status_of(refusal)
    return await page(request, account_id, status=status, problem=problem, values=values)


async def page(
    request: OperatorRequest,
    account_id: str,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
) -> Response:
    async def find(connection: Conn) -> _Page:
        account = await bank_accounts.get_with_id(connection, account_id)
        if account is None:
            raise Missing("There is no bank account with this id.")
        others = await bank_accounts.find_of(connection, account.merchant_id)
        return _Page(
            account,
            await merchants.name_of(connection, account.merchant_id),
            [each for each in others if each.id != account.id],
            [each for each in await settlements.find_to_stopped(connection) if each.bank_account_id == account.id],
            await find_waiting(connection, request, [Act.VERIFY_BANK_ACCOUNT], account.id),
            await notify_of_bank_accounts.count_notices_of_added(connection, account.id),
        )

    found, now = await request.parts.queries.read_snapshot(find), request.parts.clock()
    return render.page(
        request,
        "operator/settlements/bank_account.html",
        status=status,
        problem=problem,
        values=values or {},
        bank_account=found.bank_account,
        state=found.bank_account.status(now),
        merchant=found.merchant,
        others=[(each, each.status(now)) for each in found.others],
        to_stopped=found.to_stopped,
        waiting=found.waiting,
        notices=found.notices,
        wait_hours=request.parts.settings.bank_account_wait_hours,
        now=now,
    )
