"""The list of transactions as a workbook, with its filters and in the reader's language, in constant memory."""

import asyncio
from typing import IO

from starlette.responses import Response

from malipo.clock import ZONE
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant import transaction_list, workbook_file
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.transaction_csv import headers_of
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.payments.listing import keyset_pagination
from malipo.payments.transaction import Status, Transaction, Type
from malipo.table_files.xlsx_export import MOST_ROWS, Cell, RowStyle, Sheet, Workbook

_STATUSES = {
    Status.PENDING: "Pending",
    Status.PROCESSING: "Processing",
    Status.COMPLETED: "Completed",
    Status.FAILED: "Failed",
    Status.CANCELLED: "Cancelled",
}
_KINDS = {Type.COLLECTION: "Collection", Type.DISBURSEMENT: "Payout"}
_REFUND = "Refund"
SENTENCES = (*_STATUSES.values(), *_KINDS.values(), _REFUND)
_NOTHING_MOVED = (Status.FAILED, Status.CANCELLED)
_WIDTHS = (20, 14, 14, 26, 17, 14, 14, 12, 14, 22, 24, 24, 34, 32)


async def send(request: MerchantRequest) -> Response:
    query = transaction_list.query_in(request.http.query_params)
    query.fields.check()
    wanted = await transaction_list.filter_of(request, query)

    async def write(file: IO[bytes], folder: str) -> None:
        book = await asyncio.to_thread(TransactionBook, request.words, file, folder)
        async for piece in keyset_pagination.stream(request.parts.queries.read_part, request.merchant_id, wanted):
            await workbook_file.check_connected(request)
            await asyncio.to_thread(book.add, piece)
        await asyncio.to_thread(book.close)

    return await workbook_file.answer(request, headers_of(request, query, "xlsx"), write)


class TransactionBook:
    """The rows, newest first, as in the list. FAILED and CANCELLED payments are grey and show no fee, because no money
    moved."""

    def __init__(self, words: Translator, file: IO[bytes], folder: str, *, most_rows: int = MOST_ROWS) -> None:
        self._words = words
        self._most_rows = most_rows
        self._book = Workbook(file, folder)
        self._sheets = 0
        self._sheet = self._next_sheet()

    def add(self, transactions: list[Transaction]) -> None:
        if self._sheet.row_count + len(transactions) > self._most_rows:
            self._sheet = self._next_sheet()
        for each in transactions:
            self._sheet.add(self._cells(each), RowStyle.SOFT if each.status in _NOTHING_MOVED else RowStyle.PLAIN)

    def close(self) -> None:
        self._book.close()

    def _next_sheet(self) -> Sheet:
        words = self._words
        self._sheets += 1
        name = words("Transactions")
        sheet = self._book.sheet(name if self._sheets == 1 else f"{name} {self._sheets}", _WIDTHS)
        head = [
            words("When"),
            words("What"),
            words("Status"),
            words("Name"),
            words("Phone number"),
            words("Network"),
            words("Amount"),
            words("Fee"),
            words("Net"),
            words("The network's receipt"),
            words("Order reference"),
            words("Reference"),
            words("Why it failed"),
            words("Id"),
        ]
        sheet.add(head, RowStyle.HEADER)
        sheet.keep_header_in_view()
        return sheet

    def _cells(self, each: Transaction) -> list[Cell]:
        has_moved = each.status not in _NOTHING_MOVED
        return [
            each.created_at.astimezone(ZONE).replace(microsecond=0),
            self._words(_REFUND if each.refund_of else _KINDS[each.type]),
            self._words(_STATUSES[each.status]),
            each.name or None,
            each.phone,
            PROFILES[each.channel].name,
            each.amount,
            each.fee if has_moved else 0,
            each.net_amount if has_moved else 0,
            each.provider_reference,
            each.order_reference,
            each.reference,
            self._words(each.failure_reason) if each.failure_reason else None,
            each.id,
        ]
