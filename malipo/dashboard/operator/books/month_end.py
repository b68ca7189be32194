"""/operator/books/month: what is missing or open at the end of a month, and its archive."""

from collections.abc import AsyncIterator

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.responses import Response

from malipo.books import store
from malipo.books.read_journal import Period
from malipo.dashboard import form_errors, render
from malipo.dashboard.operator.books.own_snapshot import download, read
from malipo.dashboard.operator.books_words import archive_words
from malipo.dashboard.operator.request import OperatorRequest
from malipo.db import Conn
from malipo.errors import Invalid, Problem, Refusal
from malipo.month_end import checklist
from malipo.month_end.archive import archive_pieces, file_name, find_key
from malipo.month_end.checklist import MonthEnd, MonthPoint, require_archivable
from malipo.month_end.month import Month, month_before, parse_month
from malipo.operators.roles import Right
from malipo.words.say import say

PATH = "/operator/books/month"

# Where an operator does something about it.
_WHERE = {
    MonthPoint.NOT_CLOSED: "/operator/close",
    MonthPoint.NETWORK_STATEMENT: "/operator/statements",
    MonthPoint.CLOSED_WITHOUT: "/operator/close",
    MonthPoint.ACCEPTED: "/operator/close",
    MonthPoint.DIFFERS: "/operator/ledger",
    MonthPoint.INVOICES: "/operator/books/invoices",
    MonthPoint.BUYERS: "/operator/merchants",
    MonthPoint.SHORT: "/operator/books/safeguarding",
    MonthPoint.UNEXPLAINED: "/operator/books/safeguarding",
    MonthPoint.PAYMENTS: "/operator",
    MonthPoint.EXCEPTIONS: "/operator/exceptions",
    MonthPoint.SUSPENSE: "/operator/books/suspense",
    MonthPoint.BANK_STATEMENT: "/operator/bank/statements",
    MonthPoint.BANK_UNEXPLAINED: "/operator/bank/exceptions",
    MonthPoint.BANK_OURS_ONLY: "/operator/bank/exceptions",
    MonthPoint.BANK_LINES: "/operator/bank/exceptions",
    MonthPoint.BANK_LATER: "/operator/bank/statements",
    MonthPoint.SETTLEMENTS: "/operator/settlements",
    MonthPoint.UNANSWERED: "/operator/bank",
    MonthPoint.PROPOSALS: "/operator/waiting",
}
_WHERE_OF_READERS = {MonthPoint.PROPOSALS: "/operator/bookings"}  # The page of waiting acts is for deciders.


async def show(request: OperatorRequest) -> Response:
    return await _page(request, _typed(request))


async def send_archive(request: OperatorRequest) -> Response:
    month = parse_month(request.http.path_params["month"])

    async def ready(connection: Conn) -> tuple[Period, Ed25519PrivateKey]:
        period = await require_archivable(connection, month)
        return period, await find_key(connection, period, request.parts.encryption)

    try:
        period, key = await read(request, ready)
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await _page(request, month, status=form_errors.status_of(refusal), problem=problem)

    async def pieces(connection: Conn) -> AsyncIterator[bytes]:
        words = archive_words(period, await store.find_names(connection), request.parts.settings.company_name)
        async for piece in archive_pieces(connection, month, words, period, key):
            yield piece

    return await download(request, pieces, name=file_name(month), media_type="application/zip")


def _typed(request: OperatorRequest) -> Month:
    try:
        return parse_month(request.http.query_params.get("month", ""))
    except Invalid:
        return month_before(request.parts.clock())


async def _page(request: OperatorRequest, month: Month, *, status: int = 200, problem: str | None = None) -> Response:
    now = request.parts.clock()
    found = await read(request, lambda connection: checklist.find(connection, month, now=now))

    def said(problems: object) -> list[tuple[str, str | None]]:
        assert isinstance(problems, list)
        return [(say(each, request.words), where(each, may_act=request.may(Right.ACT))) for each in problems]

    return render.page(
        request,
        "operator/books/month.html",
        status=status,
        problem=problem,
        month=month,
        found=found,
        missing=said(list(found.missing)),
        open=said(list(found.open)),
        archive=f"{PATH}/{month}.zip" if found.period is not None else None,
        is_next_over=month < month_before(now),
        invoicing=f"malipo invoices issue {month}" if _lacks_invoices(found) else None,
        command=f"malipo books month {month} --archive {file_name(month)}",
    )


def _lacks_invoices(found: MonthEnd) -> bool:
    return any(each.code is MonthPoint.INVOICES for each in found.missing)


def where(problem: Problem, *, may_act: bool) -> str | None:
    point = MonthPoint(problem.code)
    return _WHERE.get(point) if may_act else _WHERE_OF_READERS.get(point, _WHERE.get(point))
