"""The wallet: its balance, and its statement on the screen and for printing. As a file: `wallet_statement_file.py`.

Lines are numbered without gaps and their amounts never change, so pages go by number, and a printed page stays true.
"""

from datetime import datetime
from typing import NamedTuple
from urllib.parse import urlencode

from starlette.responses import Response

from malipo.clock import ZONE
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant.date_presets import presets
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.wallet_statement_days import StatementDays, days_in
from malipo.dashboard.merchant.wallet_statement_words import group_sentence, line_sentence
from malipo.db import Conn
from malipo.ledger.period_statement import PeriodLine, PeriodSums
from malipo.ledger.store import period_statement, wallets
from malipo.ledger.store.period_statement import Period
from malipo.ledger.wallet import Wallet
from malipo.settlement.store import settlements

PATH = "/dashboard/wallet"
PER_PAGE = 50
MOST_ON_PAPER = 2000


class _Page(NamedTuple):
    wallet: Wallet
    updated_at: datetime
    period: Period
    lines: list[PeriodLine]
    on_its_way: int = 0  # to the bank
    sums: PeriodSums | None = None  # of the days that were chosen, if their lines are not too many


async def show(request: MerchantRequest) -> Response:
    wanted = days_in(request.http.query_params)
    is_right = wanted.fields.problem is None
    before = _number_in(request.http.query_params.get("before", ""))
    found = await request.parts.queries.read_snapshot(
        lambda connection: _page(connection, request.merchant_id, wanted if is_right else None, before)
    )
    lines = found.lines
    return render.page(
        request,
        "merchant/wallet.html",
        status=200 if is_right else 400,
        is_paper=False,
        wallet=found.wallet,
        on_its_way=found.on_its_way,
        updated_at=found.updated_at,
        lines=lines[:PER_PAGE],
        kind=line_sentence,
        sums=found.sums,
        typed=wanted.typed,
        problems=form_errors.in_words(request.words, wanted.fields),
        older=wanted.link(PATH, before=lines[PER_PAGE - 1].number) if len(lines) > PER_PAGE else None,
        newer=_newer(wanted, found.period, before),
        presets=[
            (
                name,
                f"{PATH}?{urlencode({'from': first, 'to': last})}",
                dict(wanted.typed) == {"from": first, "to": last},
            )
            for name, first, last in presets(request.parts.clock().astimezone(ZONE).date())
        ],
        csv=wanted.link(f"{PATH}.csv"),
        xlsx=wanted.link(f"{PATH}.xlsx"),
        paper=wanted.link(f"{PATH}/print"),
    )


async def _page(connection: Conn, merchant_id: str, wanted: StatementDays | None, before: int | None) -> _Page:
    """Read one line more than a page has: if it exists, there is an older page."""
    wallet, updated_at = await wallets.get(connection, merchant_id)
    if wanted is None:
        return _Page(wallet, updated_at, Period(0, 0, 0), [], await settlements.sum_open(connection, merchant_id))
    first, last = wanted.bounds
    period = await period_statement.find(connection, merchant_id, first=first, last=last)
    lines = await period_statement.newest_of(connection, merchant_id, period, before=before, limit=PER_PAGE + 1)
    on_its_way = await settlements.sum_open(connection, merchant_id)
    return _Page(wallet, updated_at, period, lines, on_its_way, await _sums(connection, merchant_id, wanted, period))


async def _sums(connection: Conn, merchant_id: str, wanted: StatementDays, period: Period) -> PeriodSums | None:
    if not wanted.typed or period.line_count > MOST_ON_PAPER:
        return None
    sums = PeriodSums(period.opening)
    sums.add((await period_statement.newest_of(connection, merchant_id, period, limit=MOST_ON_PAPER))[::-1])
    return sums


def _newer(wanted: StatementDays, period: Period, before: int | None) -> str | None:
    """The page above begins a page's length higher up, since no number is left out."""
    if before is None:
        return None
    above = before + PER_PAGE
    return wanted.link(PATH, before=above) if above <= period.last else wanted.link(PATH)


async def show_paper(request: MerchantRequest) -> Response:
    """As a bank prints it: oldest first, from one balance to another. Without days: this month so far."""
    wanted = days_in(request.http.query_params)
    wanted.fields.check()
    now = request.parts.clock()
    today = now.astimezone(ZONE).date()
    last = wanted.last or max(today, wanted.first or today)
    first = wanted.first or last.replace(day=1)
    days = StatementDays({"from": first.isoformat(), "to": last.isoformat()}, first, last, wanted.fields)
    period, lines = await request.parts.queries.read_snapshot(
        lambda connection: _printed(connection, request.merchant_id, days), may_lag=True
    )
    sums = PeriodSums(period.opening)
    sums.add(lines)
    begins, ends = days.bounds
    return render.page(
        request,
        "merchant/wallet.html",
        is_paper=True,
        is_cut=period.line_count > MOST_ON_PAPER,
        lines=lines,
        sums=sums,
        kind=line_sentence,
        group=group_sentence,
        first=begins,
        last=ends,
        now=now,
        day=request.words.day,
        merchant_id=request.merchant_id,
        most=f"{MOST_ON_PAPER:,}",
        xlsx=days.link(f"{PATH}.xlsx"),
        back=days.link(PATH),
    )


async def _printed(connection: Conn, merchant_id: str, days: StatementDays) -> tuple[Period, list[PeriodLine]]:
    """No lines, if they are too many for paper."""
    first, last = days.bounds
    period = await period_statement.find(connection, merchant_id, first=first, last=last)
    if period.line_count > MOST_ON_PAPER:
        return period, []
    newest = await period_statement.newest_of(connection, merchant_id, period, limit=MOST_ON_PAPER)
    return period, newest[::-1]


def _number_in(text: str) -> int | None:
    """The line before which a page ends; None if the text cannot be a number."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None
