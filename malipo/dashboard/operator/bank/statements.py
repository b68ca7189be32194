"""The bank's statements: imported from a file that an operator sends, after a look at how it is read; the list; and one
with its lines, which two operators can withdraw."""

import asyncio
from collections.abc import Callable, Mapping
from http import HTTPStatus
from pathlib import Path
from typing import NamedTuple

from starlette.responses import Response

from malipo.approvals.act_rules import Act
from malipo.bank import withdraw_statement
from malipo.bank.import_statement import BankImport, get_statement, import_statement
from malipo.bank.payer_account import PayerAccount
from malipo.bank.read_statement import NotImported, ReadStatement, read_file
from malipo.bank.statement import BankImportRefusal, StoredStatement, what_is_wrong
from malipo.bank.store import lines, payer_accounts
from malipo.bank.store import statements as store
from malipo.bank.store.lines import ShownLine
from malipo.bank_evidence.store import holidays
from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.bank.our_accounts import PATH as BANK
from malipo.dashboard.operator.own_connection import write_apart
from malipo.dashboard.operator.reconciliation.pending_uploads import KeptFile, KeptFiles, NotKept, safe_name
from malipo.dashboard.operator.reconciliation.receive_file import MOST_MEGABYTES, StatementFileTooLarge, receive
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.waiting_acts import WaitingAct, find_waiting
from malipo.dashboard.urls import id_in, number_in
from malipo.db import Conn, Tx
from malipo.errors import Refusal
from malipo.http.client_disconnect import while_connected
from malipo.table_files.reader_queue import ReadingTurns
from malipo.words.say import say

PATH = f"{BANK}/statements"
NEW = f"{PATH}/new"
_FOLDER = "bank-uploads"
_MOST = 100
_MOST_SHOWN = 20  # lines of a file that is not imported yet
_LINES_PER_PAGE = 100
_ACTS = (Act.IMPORT_BANK_STATEMENT, Act.WITHDRAW_BANK_STATEMENT)

SENTENCES = {
    "no_file": "Choose a file.",
    "no_account": "Choose which of our accounts it is.",
}


class BankFile(KeptFile, frozen=True):
    number: str = ""  # of our account; empty: take it from the file


class _Page(NamedTuple):
    statement: StoredStatement
    account: PayerAccount
    lines: list[ShownLine]
    waiting: list[WaitingAct]


async def show_all(request: OperatorRequest) -> Response:
    async def find(connection: Conn) -> tuple[list[StoredStatement], list[PayerAccount], list[WaitingAct]]:
        return (
            await store.find(connection, limit=_MOST),
            await payer_accounts.find_all(connection),
            await find_waiting(connection, request, _ACTS),
        )

    found, accounts, waiting = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "operator/bank/statements.html",
        statements=found,
        numbers={each.id: each.number for each in accounts},
        proposed={each.proposal.subject for each in waiting},
    )


async def show_form(request: OperatorRequest) -> Response:
    return await _form(request)


async def _form(
    request: OperatorRequest,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    accounts = await request.parts.queries.read(payer_accounts.find_all)
    return render.page(
        request,
        "operator/bank/new_statement.html",
        status=status,
        values=values or {},
        errors=errors or {},
        accounts=[(each.number, f"{each.number} · {each.bic}") for each in accounts],
        most=MOST_MEGABYTES,
    )


async def receive_upload(request: OperatorRequest) -> Response:
    """Keep the file that was sent, and go on to how it is read."""
    files = _files(request)
    try:
        received = await receive(request, files)
    except StatementFileTooLarge as refusal:
        errors = {"file": request.words(refusal.message)}
        return await _form(request, status=HTTPStatus.REQUEST_ENTITY_TOO_LARGE, errors=errors)
    accounts = await request.parts.queries.read(payer_accounts.find_all)
    number = received.form.text("number")
    errors = {} if received.size else {"file": _say(request, "no_file")}
    if number and number not in {each.number for each in accounts}:
        errors["number"] = _say(request, "no_account")
    if errors or received.upload is None:
        files.forget(received.upload or "")
        values = received.form.values()
        return await _form(request, status=HTTPStatus.BAD_REQUEST, values=values, errors=errors)
    about = BankFile(request.owner.id, safe_name(received.filename), number)
    await asyncio.to_thread(files.keep, received.upload, about)
    return request.go(f"{NEW}/{received.upload}")


def _say(request: OperatorRequest, name: str) -> str:
    return request.words(SENTENCES[name])


def _files(request: OperatorRequest) -> KeptFiles[BankFile]:
    return KeptFiles(request.parts.settings.data_dir, BankFile, folder=_FOLDER)


async def show_upload(request: OperatorRequest) -> Response:
    return await _preview(request)


async def _preview(
    request: OperatorRequest,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    refusal: Refusal | None = None,
) -> Response:
    """How the file is read, and what does not add up; or why it cannot be imported."""
    upload = request.http.path_params["bank_upload"]
    try:
        path, about = await asyncio.to_thread(_files(request).find, upload, operator_id=request.owner.id)
    except NotKept as gone:
        return await _form(request, status=HTTPStatus.NOT_FOUND, errors={"file": request.words(gone.message)})
    read: list[ReadStatement] = []
    try:
        read = await _read(request, path, about)
    except Refusal as unreadable:
        refusal = refusal or unreadable

    async def find(connection: Conn) -> list[list[str]]:
        banking_days = await holidays.find_banking_days(connection)
        counting = [await store.find_counting(connection, each.account.id) for each in read]
        wrong = [what_is_wrong(each.statement, known, banking_days) for each, known in zip(read, counting, strict=True)]
        return [[say(problem, request.words) for problem in problems] for problems in wrong]

    problems = await request.parts.queries.read_snapshot(find)
    return render.page(
        request,
        "operator/bank/statement_preview.html",
        status=status,
        upload=upload,
        about=about,
        read=[(each, wrong) for each, wrong in zip(read, problems, strict=True)],
        has_problems=any(problems),
        most=_MOST_SHOWN,
        problem=None if refusal is None else form_errors.of_refusal(request.words, refusal),
        problems=[] if refusal is None else [say(each, request.words) for each in refusal.problems],
    )


async def _read(request: OperatorRequest, path: Path, about: BankFile) -> list[ReadStatement]:
    """When it is this operator's turn, and for as long as they wait for it."""
    accounts = await request.parts.queries.read(payer_accounts.find_all)
    turns = ReadingTurns(request.parts.settings.data_dir)
    act: Callable[[], list[ReadStatement]] = lambda: read_file(path, accounts, number=about.number)  # noqa: E731
    return await while_connected(request.http, turns.read(request.owner.id, act))


async def import_(request: OperatorRequest) -> Response:
    form = await request.form()
    upload, files = request.http.path_params["bank_upload"], _files(request)
    try:
        path, about = await asyncio.to_thread(files.find, upload, operator_id=request.owner.id)
        read = await _read(request, path, about)
    except Refusal:
        return await _preview(request)

    async def act(tx: Tx) -> list[BankImport]:
        return [
            await import_statement(
                tx,
                each,
                approval_amount=request.parts.settings.booking_approval_amount,
                accepts_problems=form.text("accept") == "yes",
                actor=request.actor,
                now=request.parts.clock(),
            )
            for each in read
        ]

    try:
        done = await write_apart(request, act)
    except NotImported as refusal:
        is_known = refusal.code == BankImportRefusal.DOES_NOT_ADD_UP  # the page shows it already
        return await _preview(request, status=HTTPStatus.BAD_REQUEST, refusal=None if is_known else refusal)
    except Refusal as refusal:
        return await _preview(request, status=form_errors.status_of(refusal), refusal=refusal)
    await asyncio.to_thread(files.forget, upload)
    [first, *_] = done
    notice = "statement-repeat" if first.is_repeat else "act-waits" if first.proposal else "statement-imported"
    return request.go(f"{PATH}/{first.statement.id}", notice)


async def show(request: OperatorRequest) -> Response:
    return await page(request, id_in(request, "bank_statement"))


async def propose_withdrawal(request: OperatorRequest) -> Response:
    form = await request.form()
    id_, now = id_in(request, "bank_statement"), request.parts.clock()
    reason = " ".join(form.text("reason").split())
    try:
        await request.parts.queries.write(
            lambda tx: withdraw_statement.propose(tx, id_, reason=reason, actor=request.actor, now=now)
        )
    except Refusal as refusal:
        problem, status = form_errors.of_refusal(request.words, refusal), form_errors.status_of(refusal)
        return await page(request, id_, status=status, problem=problem, values=form.values())
    return request.go(f"{PATH}/{id_}", "case-proposed")


async def page(
    request: OperatorRequest,
    statement_id: str,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
) -> Response:
    after = number_in(request, "after", 0)

    async def find(connection: Conn) -> _Page:
        statement = await get_statement(connection, statement_id)
        accounts = {each.id: each for each in await payer_accounts.find_all(connection)}
        return _Page(
            statement,
            accounts[statement.payer_account_id],
            await lines.find_of_statement(connection, statement.id, after=after, limit=_LINES_PER_PAGE + 1),
            await find_waiting(connection, request, _ACTS, statement.id),
        )

    found = await request.parts.queries.read_snapshot(find)
    is_more = len(found.lines) > _LINES_PER_PAGE
    last = found.lines[_LINES_PER_PAGE - 1].id if is_more else 0
    return render.page(
        request,
        "operator/bank/statement.html",
        status=status,
        problem=problem,
        values=values or {},
        statement=found.statement,
        payer=found.account,
        lines=found.lines[:_LINES_PER_PAGE],
        older=f"{PATH}/{statement_id}?after={last}#lines" if is_more else None,
        waiting=found.waiting,
        may_be_withdrawn=found.statement.counts and not found.waiting,
    )
