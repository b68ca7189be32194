"""/operator/books/invoices: the invoices and credit notes of all merchants, the newest first, each as a PDF."""

from collections.abc import AsyncIterator

from starlette.responses import Response

from malipo.dashboard import render
from malipo.dashboard.invoice_words import COLUMNS, document_words, rows_of, title_of
from malipo.dashboard.operator.books.own_snapshot import download
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.dashboard.urls import number_in
from malipo.db import Conn
from malipo.errors import Conflict, Missing
from malipo.invoices.invoice import can_be_number, parse_month
from malipo.invoices.store import invoices as store
from malipo.table_files.csv_export import csv_lines

PATH = "/operator/books/invoices"
PER_PAGE = 50


async def show(request: OperatorRequest) -> Response:
    page, typed = number_in(request, "page", 1), request.http.query_params.get("month", "")
    month, problem = None, None
    if typed:
        try:
            month = parse_month(typed)
        except Conflict:
            problem = request.words("Type a month such as 2026-10.")
    found = await request.parts.queries.read_snapshot(
        lambda connection: store.find_latest(connection, month=month, limit=PER_PAGE + 1, offset=(page - 1) * PER_PAGE)
    )
    of = f"&month={month:%Y-%m}" if month else ""
    return render.page(
        request,
        "operator/books/invoices.html",
        status=400 if problem else 200,
        invoices=[(each, title_of(each, request.words)) for each in found[:PER_PAGE]],
        typed=typed,
        problem=problem,
        newer=f"{PATH}?page={page - 1}{of}" if page > 1 else None,
        older=f"{PATH}?page={page + 1}{of}" if len(found) > PER_PAGE else None,
        csv=f"{PATH}.csv?{of.removeprefix('&')}",
    )


async def send_pdf(request: OperatorRequest) -> Response:
    from malipo.invoices.pdf import pdf_of  # It takes a tenth of a second, and few processes ever need it.

    number = request.http.path_params["number"]
    invoice = None
    if can_be_number(number):
        invoice = await request.parts.queries.read_snapshot(lambda connection: store.find(connection, number))
    if invoice is None:
        raise Missing("There is no invoice with this number.")
    headers = SECURITY_HEADERS | {"Content-Disposition": f'attachment; filename="{invoice.number}.pdf"'}
    content = pdf_of(invoice, document_words(invoice, request.words))
    return Response(content, media_type="application/pdf", headers=headers)


async def send_csv(request: OperatorRequest) -> Response:
    """All lines of all documents, or of those of a month."""
    typed = request.http.query_params.get("month", "")
    month = parse_month(typed) if typed else None

    async def pieces(connection: Conn) -> AsyncIterator[str]:
        yield csv_lines([COLUMNS])
        async for each in store.read_latest(connection, month=month):
            yield csv_lines(rows_of(each))

    name = f"invoices{f'-{month:%Y-%m}' if month else ''}.csv"
    return await download(request, pieces, name=name, media_type="text/csv; charset=utf-8")
