"""/operator/books: the trial balance of a period, and the files of the journal to take away."""

from collections.abc import Mapping
from datetime import timedelta
from typing import NamedTuple

from starlette.responses import Response

from malipo.books import store
from malipo.books.chart import AccountType, Division, SubAccount, chart_account
from malipo.books.read_journal import Period
from malipo.books.trial_balance import TrialBalance, find_trial_balance
from malipo.books.write_journal import FORMATS, VOUCHERS
from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.books.own_snapshot import read
from malipo.dashboard.operator.books.typed_period import TypedPeriod
from malipo.dashboard.operator.books_words import account_names, part_names
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn
from malipo.words import books as words

PATH = "/operator/books"


class BalanceRow(NamedTuple):
    account: SubAccount
    name: str
    type: AccountType
    of: str  # the name of a merchant or a channel
    opening: int  # debits above zero
    closing: int

    @property
    def change(self) -> int:
        return self.closing - self.opening


class PeriodBalances(NamedTuple):
    opening: TrialBalance
    closing: TrialBalance
    names: Mapping[str, str]


async def show(request: OperatorRequest) -> Response:
    query = request.http.query_params
    typed = TypedPeriod(query, request.parts.clock())
    is_by_merchant = query.get("by") == "merchant"

    async def find(connection: Conn) -> PeriodBalances:
        return await find_balances(connection, typed.period)

    rows, found = [], None
    if typed.is_right:
        found = await read(request, find)
        rows = _rows(request, found, is_by_merchant=is_by_merchant)
    return render.page(
        request,
        "operator/books/trial_balance.html",
        status=200 if typed.is_right else 400,
        typed=typed.typed,
        period=typed.period,
        query=typed.query,
        problems=form_errors.in_words(request.words, typed.fields),
        rows=rows,
        is_by_merchant=is_by_merchant,
        types={str(type_): request.words(name) for type_, name in words.TYPES.items()},
        debits=sum(max(each.closing, 0) for each in rows),
        is_closed=found is not None and found.closing.is_closed,
        differing=[] if found is None else sorted(found.closing.differing),
        formats=list(FORMATS),
        vouchers=list(VOUCHERS),
    )


async def find_balances(connection: Conn, period: Period) -> PeriodBalances:
    return PeriodBalances(
        await find_trial_balance(connection, period.first - timedelta(days=1)),
        await find_trial_balance(connection, period.last),
        await store.find_names(connection),
    )


def _rows(request: OperatorRequest, found: PeriodBalances, *, is_by_merchant: bool) -> list[BalanceRow]:
    opening, closing = (each.shown(is_by_merchant=is_by_merchant) for each in (found.opening, found.closing))
    names, parts = account_names(request.words), part_names(found.names, request.words)
    rows = [
        BalanceRow(
            account,
            names[account.account],
            chart_account(account.account).type,
            parts.get(account.of, account.of),
            opening.get(account, 0),
            closing.get(account, 0),
        )
        for account in sorted(opening.keys() | closing.keys())
    ]
    # A divided account has a line of its own only where it has no part.
    divided = {each.account.account for each in rows if each.account.of}
    return [
        each
        for each in rows
        if each.account.of
        or each.account.account not in divided
        or chart_account(each.account.account).division is Division.WHOLE
        or each.opening
        or each.closing
    ]
