"""The invoices of a merchant's fees, the newest first; each with its lines, and as a PDF. All lines as CSV."""

from starlette.responses import Response

from malipo import clock
from malipo.dashboard import render
from malipo.dashboard.file_names import attachment
from malipo.dashboard.invoice_words import COLUMNS, document_words, line_of, rows_of, title_of
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.dashboard.urls import number_in
from malipo.db import Conn
from malipo.errors import Missing
from malipo.invoices.document_words import note_of
from malipo.invoices.invoice import Invoice, can_be_number
from malipo.invoices.issue_invoices import PATH
from malipo.invoices.store import invoices as store
from malipo.invoices.tax import percent
from malipo.table_files.csv_export import csv_lines

PER_PAGE = 24


async def show(request: MerchantRequest) -> Response:
    page = number_in(request, "page", 1)
    found = await request.parts.queries.read_snapshot(
        lambda connection: store.find_latest(
            connection, merchant_id=request.merchant_id, limit=PER_PAGE + 1, offset=(page - 1) * PER_PAGE
        )
    )
    return render.page(
        request,
        "merchant/invoices/list.html",
        invoices=[(each, title_of(each, request.words)) for each in found[:PER_PAGE]],
        newer=f"{PATH}?page={page - 1}" if page > 1 else None,
        older=f"{PATH}?page={page + 1}" if len(found) > PER_PAGE else None,
        csv=f"{PATH}.csv",
    )


async def show_one(request: MerchantRequest) -> Response:
    invoice = await _find(request)
    return render.page(
        request,
        "merchant/invoices/detail.html",
        invoice=invoice,
        title=title_of(invoice, request.words),
        lines=[(each, line_of(each, request.words), percent(each.rate)) for each in invoice.lines],
        rates=[(percent(rate), vat) for rate, vat in invoice.vat_by_rate.items()],
        note=request.words(note_of(invoice)),
        pdf=f"{PATH}/{invoice.number}/pdf",
    )


async def send_pdf(request: MerchantRequest) -> Response:
    from malipo.invoices.pdf import pdf_of  # It takes a tenth of a second, and few processes ever need it.

    invoice = await _find(request)
    headers = SECURITY_HEADERS | {"Content-Disposition": f'attachment; filename="{invoice.number}.pdf"'}
    content = pdf_of(invoice, document_words(invoice, request.words))
    return Response(content, media_type="application/pdf", headers=headers)


async def send_csv(request: MerchantRequest) -> Response:
    async def lines(connection: Conn) -> str:
        found = [each async for each in store.read_latest(connection, merchant_id=request.merchant_id)]
        return csv_lines([COLUMNS, *(row for each in found for row in rows_of(each))])

    content = await request.parts.queries.read_snapshot(lines)
    today = clock.day_of(request.parts.clock())
    named = attachment("invoices", "csv", business=request.business, first=None, last=None, today=today)
    return Response(content, media_type="text/csv; charset=utf-8", headers=SECURITY_HEADERS | named)


async def _find(request: MerchantRequest) -> Invoice:
    number = request.http.path_params["id"]
    invoice = None
    if can_be_number(number):
        invoice = await request.parts.queries.read_snapshot(
            lambda connection: store.find(connection, number, merchant_id=request.merchant_id)
        )
    if invoice is None:
        raise Missing("There is no invoice with this number.")
    return invoice
