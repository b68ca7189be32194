"""Payout files: gathered by one operator and approved by another, downloaded, voided, and which of their transfers the
bank has refused."""

import asyncio
from collections.abc import Mapping
from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo.approvals.act_rules import Act
from malipo.bank import add_payer_account, gather_payout_file, void_payout_file
from malipo.bank.gather_payout_file import MOST_LINES, Download
from malipo.bank.payer_account import PayerAccount
from malipo.bank.payout_file import FileLine, FileRefusal, PayoutFile
from malipo.bank.store import payer_accounts
from malipo.bank.store import payout_files as store
from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.bank.our_accounts import PATH as BANK
from malipo.dashboard.operator.own_connection import write_apart
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.waiting_acts import WaitingAct, find_waiting
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.dashboard.urls import id_in
from malipo.db import Conn
from malipo.errors import Conflict, Refusal
from malipo.merchants.store import merchants
from malipo.settlement.settlement import Settlement, SettlementStatus
from malipo.settlement.store import settlements
from malipo.validation.typed_values import amount_of

PATH = f"{BANK}/files"
_MOST = 100
_LOOKS, _LOOK_SECONDS = 20, 0.5
_ACTS = (Act.APPROVE_PAYOUT_FILE, Act.VOID_PAYOUT_FILE, Act.REFUSE_TRANSFERS)
_MEDIA = {"xml": "application/xml", "csv": "text/csv; charset=utf-8"}


class _List(NamedTuple):
    files: list[PayoutFile]
    accounts: list[PayerAccount]
    requested: list[Settlement]  # in a file that is not approved, or in none


class _Page(NamedTuple):
    file: PayoutFile
    account: PayerAccount
    lines: list[FileLine]
    statuses: dict[str, SettlementStatus]
    names: dict[str, str]
    stopped: list[Settlement]  # that it sends to bank accounts which were stopped since
    was_asked_for: bool
    ended_unseen: str | None  # the bank has the file, but our books record no download of it
    waiting: list[WaitingAct]


async def show_all(request: OperatorRequest) -> Response:
    return await list_page(request)


async def list_page(
    request: OperatorRequest,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
) -> Response:
    async def find(connection: Conn) -> _List:
        return _List(
            await store.find(connection, limit=_MOST),
            await payer_accounts.find_all(connection),
            await settlements.find_latest(connection, status=SettlementStatus.REQUESTED, limit=10_000),
        )

    found = await request.parts.queries.read_snapshot(find)
    due = [each for each in found.requested if not each.is_in_file]
    return render.page(
        request,
        "operator/bank/files.html",
        status=status,
        problem=problem,
        values=values or {},
        files=found.files,
        accounts=found.accounts,
        numbers={each.id: each.number for each in found.accounts},
        due=len(due),
        due_amount=sum(each.net_amount for each in due),
        most=MOST_LINES,
    )


async def gather_file(request: OperatorRequest) -> Response:
    form = await request.form()
    most = amount_of(form.text("most") or str(MOST_LINES))
    if isinstance(most, str) or most < 1:
        problem = form_errors.sentence(request.words, "amount_invalid")
        return await list_page(request, status=HTTPStatus.BAD_REQUEST, problem=problem, values=form.values())
    try:
        found = await write_apart(
            request,
            lambda tx: gather_payout_file.gather(
                tx, form.text("account"), limit=most, actor=request.actor, now=request.parts.clock()
            ),
        )
    except Refusal as refusal:
        problem, status = form_errors.of_refusal(request.words, refusal), form_errors.status_of(refusal)
        return await list_page(request, status=status, problem=problem, values=form.values())
    return request.go(f"{PATH}/{found.file.id}", "file-gathered")


async def show(request: OperatorRequest) -> Response:
    return await page(request, id_in(request, "file"))


async def download(request: OperatorRequest) -> Response:
    """Download the file. This is a form and not a link, because the audit log records who downloaded it."""
    await request.form()
    id_ = id_in(request, "file")
    try:
        found = await _once_marked(request, id_)
    except Refusal as refusal:
        return await _refused(request, id_, refusal)
    headers = SECURITY_HEADERS | {"Content-Disposition": f'attachment; filename="{found.name}"'}
    return Response(found.content, media_type=_MEDIA[found.name.rpartition(".")[2]], headers=headers)


async def _once_marked(request: OperatorRequest, file_id: str) -> Download:
    """A worker notes in its mark that somebody has asked for the file, about three seconds later."""
    now = request.parts.clock()
    for _ in range(_LOOKS):
        found: Download | None = await request.parts.queries.write(
            lambda tx: gather_payout_file.download(tx, file_id, actor=request.actor, now=now)
        )
        if found is not None:
            return found
        await asyncio.sleep(_LOOK_SECONDS)
    raise Conflict(code=FileRefusal.NOT_MARKED)


async def propose_void(request: OperatorRequest) -> Response:
    form = await request.form()
    id_, now = id_in(request, "file"), request.parts.clock()
    why, reason = form.text("why"), " ".join(form.text("reason").split())
    try:
        await request.parts.queries.write(
            lambda tx: void_payout_file.propose(
                tx,
                id_,
                is_refused=why == "refused",
                is_unseen=why == "not-downloaded",
                reason=reason,
                actor=request.actor,
                now=now,
            )
        )
    except Refusal as refusal:
        return await _refused(request, id_, refusal, form.values())
    return request.go(f"{PATH}/{id_}", "case-proposed")


async def propose_refusal(request: OperatorRequest) -> Response:
    form = await request.form()
    id_, now = id_in(request, "file"), request.parts.clock()
    reason = " ".join(form.text("reason").split())
    chosen = form.all("transfer") or form.text("transfers").split()
    try:
        await request.parts.queries.write(
            lambda tx: void_payout_file.propose_refusal(tx, id_, chosen, reason=reason, actor=request.actor, now=now)
        )
    except Refusal as refusal:
        return await _refused(request, id_, refusal, form.values())
    return request.go(f"{PATH}/{id_}", "case-proposed")


async def _refused(
    request: OperatorRequest, file_id: str, refusal: Refusal, values: Mapping[str, str] | None = None
) -> Response:
    problem, status = form_errors.of_refusal(request.words, refusal), form_errors.status_of(refusal)
    return await page(request, file_id, status=status, problem=problem, values=values)


async def page(
    request: OperatorRequest,
    file_id: str,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
) -> Response:
    async def find(connection: Conn) -> _Page:
        file = await gather_payout_file.get_file(connection, file_id)
        lines = await store.find_lines(connection, file.id, all_=True)
        of_lines = await settlements.find(connection, [each.settlement_id for each in lines])
        return _Page(
            file,
            await add_payer_account.find(connection, file.payer_account_id),
            lines,
            {each.id: each.status for each in of_lines},
            await merchants.find_names(connection, [each.merchant_id for each in lines]),
            await gather_payout_file.find_stopped(connection, file),
            await store.was_asked_for(connection, file.id),
            await gather_payout_file.find_ended_unseen(connection, file),
            await find_waiting(connection, request, _ACTS, file.id),
        )

    found = await request.parts.queries.read_snapshot(find)
    is_open = [each.settlement_id for each in found.lines if found.statuses[each.settlement_id] == "SENT"]
    return render.page(
        request,
        "operator/bank/file.html",
        status=status,
        problem=problem,
        values=values or {},
        file=found.file,
        payer=found.account,
        lines=found.lines,
        statuses=found.statuses,
        names=found.names,
        handed_in=found.ended_unseen and _say_handed_in(request, found.file, found.ended_unseen),
        stopped=[_say_stopped(request, found.file, each.reference) for each in found.stopped],
        was_asked_for=found.was_asked_for,
        waiting=found.waiting,
        open_lines=[each for each in found.lines if each.settlement_id in is_open and each.left_at is None],
    )


def _say_handed_in(request: OperatorRequest, file: PayoutFile, name: str) -> str:
    return form_errors.of_refusal(request.words, Conflict(code=FileRefusal.HANDED_IN, file=file.id, name=name))


def _say_stopped(request: OperatorRequest, file: PayoutFile, name: str) -> str:
    return form_errors.of_refusal(request.words, Conflict(code=FileRefusal.ACCOUNT_STOPPED, file=file.id, name=name))
