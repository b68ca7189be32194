"""Our bank accounts: how their files are written and read, which days their statements cover, and the bank's balance
beside the ledger's."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from http import HTTPStatus
from typing import NamedTuple

from starlette.responses import Response

from malipo.approvals.act_rules import Act
from malipo.bank import add_payer_account
from malipo.bank.balance import BankBalance, find_balance
from malipo.bank.payer_account import FileFormat, PayerAccount
from malipo.bank.store import lines, payer_accounts
from malipo.bank_evidence.coverage import Days, stretches
from malipo.bank_evidence.store import coverage
from malipo.dashboard import form_errors, render
from malipo.dashboard.forms import Form
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.operator.waiting_acts import WaitingAct, find_waiting
from malipo.db import Conn
from malipo.errors import Refusal
from malipo.validation.typed_values import amount_of

PATH = "/operator/bank"
_TYPED = ("number", "bic", "name", "format", "oneSum", "urgentAbove", "payoutLayout", "statementLayout")
_ONE_SUM = {"": None, "yes": True, "no": False}
_MOST_STRETCHES = 5
_DAY = timedelta(days=1)


class OurAccount(NamedTuple):
    account: PayerAccount
    covered: Sequence[Days]  # the latest stretches of days without a gap, the newest first


class _Page(NamedTuple):
    accounts: list[OurAccount]
    balance: BankBalance
    exceptions: int
    waiting: list[WaitingAct]


async def show(request: OperatorRequest) -> Response:
    return await page(request)


async def add(request: OperatorRequest) -> Response:
    form = await request.form()
    above = amount_of(form.text("urgentAbove")) if form.text("urgentAbove") else None
    if isinstance(above, str):
        errors = {"urgentAbove": form_errors.sentence(request.words, "amount_invalid")}
        return await page(request, status=HTTPStatus.BAD_REQUEST, values=_typed(form), errors=errors)
    account = PayerAccount(
        bic=form.text("bic").upper(),
        number=form.text("number"),
        name=form.text("name"),
        format=FileFormat.CSV if form.text("format") == FileFormat.CSV else FileFormat.PAIN001,
        payout_layout=form.text("payoutLayout"),
        statement_layout=form.text("statementLayout"),
        books_one_sum=_ONE_SUM.get(form.text("oneSum")),
        urgent_above=above,
    )
    try:
        await request.parts.queries.write(
            lambda tx: add_payer_account.propose(tx, account, actor=request.actor, now=request.parts.clock())
        )
    except Refusal as refusal:
        problem, status = form_errors.of_refusal(request.words, refusal), form_errors.status_of(refusal)
        return await page(request, status=status, problem=problem, values=_typed(form))
    return request.go(PATH, "case-proposed")


def _typed(form: Form) -> dict[str, str]:
    return {name: form.text(name) for name in _TYPED}


async def page(
    request: OperatorRequest,
    *,
    status: HTTPStatus = HTTPStatus.OK,
    problem: str | None = None,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
) -> Response:
    async def find(connection: Conn) -> _Page:
        days = await coverage.find(connection)
        return _Page(
            [
                OurAccount(each, stretches(days.get(each.id, []))[::-1][:_MOST_STRETCHES])
                for each in await payer_accounts.find_all(connection)
            ],
            await find_balance(connection),
            len(await lines.find_open_exceptions(connection)),
            await find_waiting(connection, request, [Act.ADD_PAYER_ACCOUNT]),
        )

    found = await request.parts.queries.read_snapshot(find)
    change = request.http.query_params.get("change", "")
    known = next((each.account for each in found.accounts if each.account.id == change), None)
    return render.page(
        request,
        "operator/bank/accounts.html",
        status=status,
        problem=problem,
        errors=errors or {},
        values=values or _values_of(known),
        is_change=known is not None,
        accounts=found.accounts,
        balance=found.balance,
        exceptions=found.exceptions,
        waiting=found.waiting,
        formats=list(FileFormat),
    )


def _values_of(account: PayerAccount | None) -> dict[str, str]:
    if account is None:
        return dict.fromkeys(_TYPED, "")
    return {
        "number": account.number,
        "bic": account.bic,
        "name": account.name,
        "format": account.format,
        "oneSum": {None: "", True: "yes", False: "no"}[account.books_one_sum],
        "urgentAbove": "" if account.urgent_above is None else f"{account.urgent_above:,}",
        "payoutLayout": account.payout_layout,
        "statementLayout": account.statement_layout,
    }
