"""The wallet: its balance, and its statement on the screen, as CSV and for printing.

Lines are numbered without gaps and never change, so pages go by number, and a page that was printed stays true.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from urllib.parse import urlencode

from starlette.responses import Response, StreamingResponse

from malipo.clock import ZONE
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant.date_presets import presets
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.db import Conn
from malipo.ledger.accounts import Wallet
from malipo.ledger.statement import WalletLine, WalletLineFilter, csv_of
from malipo.ledger.store import statement, wallets
from malipo.validation.fields import Fields

PATH = "/dashboard/wallet"
PER_PAGE = 50
MOST_ON_PAPER = 2000
_YEARS = range(2000, 2100)
_MOMENT = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class WalletQuery:
    """The chosen days: as they were typed, as days of Dar es Salaam, and what is wrong with them."""

    typed: Mapping[str, str]
    first: date | None
    last: date | None
    fields: Fields

    @property
    def wanted(self) -> WalletLineFilter:
        return WalletLineFilter(
            first=datetime.combine(self.first, time.min, ZONE) if self.first else None,
            last=datetime.combine(self.last, time.max, ZONE) if self.last else None,
        )

    def link(self, path: str = PATH, **more: object) -> str:
        values = dict(self.typed) | more
        return f"{path}?{urlencode(values)}" if values else path


def asked_in(query: Mapping[str, str]) -> WalletQuery:
    typed = {name: value for name in ("from", "to") if (value := query.get(name, "").strip())}
    fields = Fields(typed)
    first, last = (_day(fields, name) for name in ("from", "to"))
    if first is not None and last is not None and first > last:
        fields.wrong("to", "range_invalid", "from is after to.")
    return WalletQuery(typed, first, last, fields)


async def show(request: MerchantRequest) -> Response:
    asked = asked_in(request.http.query_params)
    is_right = asked.fields.problem is None
    before = _number_in(request.http.query_params.get("before", ""))
    wanted = asked.wanted if is_right else None
    wallet, updated_at, lines = await request.parts.queries.read_snapshot(
        lambda connection: _page(connection, request.merchant_id, wanted, before)
    )
    return render.page(
        request,
        "merchant/wallet.html",
        status=200 if is_right else 400,
        is_paper=False,
        wallet=wallet,
        updated_at=updated_at,
        lines=lines[:PER_PAGE],
        typed=asked.typed,
        problems=form_errors.in_words(request.words, asked.fields),
        older=asked.link(before=lines[PER_PAGE - 1].number) if len(lines) > PER_PAGE else None,
        newer=_newer(asked, wallet, before),
        presets=[
            (name, f"{PATH}?{urlencode({'from': first, 'to': last})}", dict(asked.typed) == {"from": first, "to": last})
            for name, first, last in presets(request.parts.clock().astimezone(ZONE).date())
        ],
        csv=asked.link(f"{PATH}.csv"),
        paper=asked.link(f"{PATH}/print"),
    )


async def _page(
    connection: Conn, merchant_id: str, wanted: WalletLineFilter | None, before: int | None
) -> tuple[Wallet, datetime, list[WalletLine]]:
    """One line more than a page has tells that there is an older page."""
    wallet, updated_at = await wallets.get(connection, merchant_id)
    if wanted is None:
        return wallet, updated_at, []
    lines = await statement.before(connection, merchant_id, wanted, number=before, limit=PER_PAGE + 1)
    return wallet, updated_at, lines


def _newer(asked: WalletQuery, wallet: Wallet, before: int | None) -> str | None:
    """The page above begins a page's length higher up, since no number is left out."""
    if before is None:
        return None
    above = before + PER_PAGE
    return asked.link(before=above) if above <= wallet.statement_lines else asked.link()


async def download(request: MerchantRequest) -> Response:
    """The same file as the API gives."""
    asked = asked_in(request.http.query_params)
    asked.fields.check()
    pieces = statement.stream(request.parts.queries.read_part, request.merchant_id, asked.wanted)
    headers = SECURITY_HEADERS | {"Content-Disposition": 'attachment; filename="statement.csv"'}
    return StreamingResponse(csv_of(pieces), media_type="text/csv; charset=utf-8", headers=headers)


@dataclass(frozen=True, slots=True)
class PrintedStatement:
    """A statement as a bank prints it: oldest first, from one balance to another. Pure."""

    lines: Sequence[WalletLine]
    opening: int
    is_cut: bool = False  # there are more lines than fit

    @property
    def came(self) -> int:
        return sum(line.change for line in self.lines if line.change > 0)

    @property
    def went(self) -> int:
        return -sum(line.change for line in self.lines if line.change < 0)

    @property
    def closing(self) -> int:
        return self.lines[-1].balance if self.lines else self.opening


async def show_paper(request: MerchantRequest) -> Response:
    """Without days: this month so far."""
    asked = asked_in(request.http.query_params)
    asked.fields.check()
    now = request.parts.clock()
    today = now.astimezone(ZONE).date()
    last = asked.last or max(today, asked.first or today)
    first = asked.first or last.replace(day=1)
    days = WalletQuery({"from": first.isoformat(), "to": last.isoformat()}, first, last, asked.fields)
    sheet = await request.parts.queries.read_snapshot(
        lambda connection: _sheet(connection, request.merchant_id, days.wanted), may_lag=True
    )
    return render.page(
        request,
        "merchant/wallet.html",
        is_paper=True,
        sheet=sheet,
        first=days.wanted.first,
        last=days.wanted.last,
        now=now,
        day=request.words.day,
        merchant_id=request.merchant_id,
        most=f"{MOST_ON_PAPER:,}",
        csv=days.link(f"{PATH}.csv"),
        back=days.link(),
    )


async def _sheet(connection: Conn, merchant_id: str, wanted: WalletLineFilter) -> PrintedStatement:
    lines = await statement.before(connection, merchant_id, wanted, limit=MOST_ON_PAPER + 1)
    if len(lines) > MOST_ON_PAPER:
        return PrintedStatement((), 0, is_cut=True)
    if lines:
        return PrintedStatement(lines[::-1], lines[-1].balance - lines[-1].change)
    assert wanted.first is not None
    earlier = await statement.before(connection, merchant_id, WalletLineFilter(last=wanted.first - _MOMENT), limit=1)
    return PrintedStatement((), earlier[0].balance if earlier else 0)


def _day(fields: Fields, name: str) -> date | None:
    text = fields.text(name, most=10)
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        day = date.min
    if day is not None and day.year not in _YEARS:
        fields.wrong(name, "date_invalid", f"{name} must be a date, such as 2026-11-15.")
        return None
    return day


def _number_in(text: str) -> int | None:
    """The line that a page ends before; what cannot be one is as good as none."""
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 15 else None
