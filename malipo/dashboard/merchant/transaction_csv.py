"""CSV export of the list of transactions, with its filters, streamed in constant memory."""

from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from malipo import clock
from malipo.clock import ZONE
from malipo.dashboard.file_names import attachment
from malipo.dashboard.merchant import transaction_list
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.transaction_list import TransactionListQuery
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.payments.listing import keyset_pagination
from malipo.payments.transaction import Status, Transaction
from malipo.table_files.csv_export import PhoneCell, csv_lines

COLUMNS = (
    "reference",
    "date",  # and time: of Dar es Salaam, for a spreadsheet; the exact one is createdAt
    "time",
    "type",
    "status",
    "channel",
    "amount",
    "fee",
    "netAmount",
    "phone",
    "name",
    "description",
    "providerReference",
    "failureCode",
    "createdAt",
    "endedAt",
    "id",
    "orderReference",  # the latest come last: spreadsheets of before keep their columns
    "refundOf",
)


async def send(request: MerchantRequest) -> Response:
    query = transaction_list.query_in(request.http.query_params)
    query.fields.check()
    wanted = await transaction_list.filter_of(request, query)
    pieces = keyset_pagination.stream(request.parts.queries.read_part, request.merchant_id, wanted)
    headers = headers_of(request, query, "csv")
    return StreamingResponse(_csv(pieces), media_type="text/csv; charset=utf-8", headers=headers)


def headers_of(request: MerchantRequest, query: TransactionListQuery, ending: str) -> dict[str, str]:
    """The headers of the download, with a file name that has the business and the days."""
    first, last = (each.astimezone(ZONE).date() if each else None for each in (query.wanted.first, query.wanted.last))
    today = request.parts.clock().astimezone(ZONE).date()
    named = attachment("transactions", ending, business=request.business, first=first, last=last, today=today)
    return SECURITY_HEADERS | named


async def _csv(pieces: AsyncIterator[list[Transaction]]) -> AsyncIterator[str]:
    yield csv_lines([COLUMNS])
    async for piece in pieces:
        yield csv_lines(row_of(each) for each in piece)


def row_of(transaction: Transaction) -> tuple[str | int, ...]:
    local = transaction.created_at.astimezone(ZONE)
    is_void = transaction.status in (Status.FAILED, Status.CANCELLED)  # nothing moved, and nothing was charged
    return (
        transaction.reference,
        f"{local:%Y-%m-%d}",
        f"{local:%H:%M:%S}",
        transaction.type,
        transaction.status,
        transaction.channel,
        transaction.amount,
        0 if is_void else transaction.fee,
        0 if is_void else transaction.net_amount,
        PhoneCell(transaction.phone),
        transaction.name,
        transaction.description,
        transaction.provider_reference or "",
        transaction.failure_code or "",
        clock.iso(transaction.created_at),
        clock.iso(transaction.ended_at) if transaction.ended_at else "",
        transaction.id,
        transaction.order_reference or "",
        transaction.refund_of or "",
    )
