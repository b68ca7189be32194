"""The statement of a period as a file: CSV for programs, XLSX for people. Both in constant memory, however long it is.

The first columns of the CSV are those of the API's statement, by the same names; spreadsheets of before keep them.
"""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime
from typing import IO, NamedTuple

from starlette.responses import Response, StreamingResponse

from malipo import clock
from malipo.channel import Channel
from malipo.clock import ZONE
from malipo.dashboard.file_names import attachment
from malipo.dashboard.language import Translator
from malipo.dashboard.merchant import workbook_file
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.wallet_statement_days import StatementDays, days_in
from malipo.dashboard.merchant.wallet_statement_words import group_sentence, line_sentence
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.ledger.period_statement import PeriodLine, PeriodSums, Sums
from malipo.ledger.statement import COLUMNS as API_COLUMNS
from malipo.ledger.store import period_statement
from malipo.ledger.store.period_statement import Period
from malipo.networks.channel_names_and_prefixes import PROFILES
from malipo.table_files.csv_export import PhoneCell, csv_lines
from malipo.table_files.xlsx_export import MOST_ROWS, Cell, RowStyle, Sheet, Workbook

COLUMNS = (
    *API_COLUMNS,
    "date",  # and time: of Dar es Salaam; the exact one is createdAt
    "time",
    "group",
    "gross",
    "fee",
    "setAside",
    "net",
    "name",
    "phone",
    "channel",
    "providerReference",
    "orderReference",
    "status",
    "refundOf",
)
OPENING, CLOSING = "OPENING_BALANCE", "CLOSING_BALANCE"


async def send_csv(request: MerchantRequest) -> Response:
    days, period = await _find(request)
    return StreamingResponse(
        _csv(request, days, period),
        media_type="text/csv; charset=utf-8",
        headers=_headers(request, days, "csv"),
    )


async def _find(request: MerchantRequest) -> tuple[StatementDays, Period]:
    days = days_in(request.http.query_params)
    days.fields.check()
    merchant_id, bounds = request.merchant_id, days.bounds
    period = await request.parts.queries.read_part(
        lambda connection: period_statement.find(connection, merchant_id, first=bounds[0], last=bounds[1])
    )
    return days, period


def _headers(request: MerchantRequest, days: StatementDays, ending: str) -> dict[str, str]:
    today = request.parts.clock().astimezone(ZONE).date()
    named = attachment("statement", ending, business=request.business, first=days.first, last=days.last, today=today)
    return SECURITY_HEADERS | named


async def _csv(request: MerchantRequest, days: StatementDays, period: Period) -> AsyncIterator[str]:
    sums = PeriodSums(period.opening)
    yield csv_lines([COLUMNS, balance_row(OPENING, sums.opening, str(days.first or ""))])
    async for lines in _pieces(request, period):
        sums.add(lines)
        yield csv_lines(row_of(line) for line in lines)
    yield csv_lines([balance_row(CLOSING, sums.closing, str(days.last or ""))])


def _pieces(request: MerchantRequest, period: Period) -> AsyncIterator[list[PeriodLine]]:
    return period_statement.stream(request.parts.queries.read_part, request.merchant_id, period)


def balance_row(kind: str, balance: int, day: str) -> tuple[str | int, ...]:
    filled: dict[str, str | int] = {"kind": kind, "balanceAfter": balance, "date": day}
    return tuple(filled.get(name, "") for name in COLUMNS)


def row_of(line: PeriodLine) -> tuple[str | int, ...]:
    local, payment = line.at.astimezone(ZONE), line.payment
    return (
        line.number,
        line.kind,
        line.net,
        line.balance,
        line.cause_id,
        line.reference,
        clock.iso(line.at),
        f"{local:%Y-%m-%d}",
        f"{local:%H:%M:%S}",
        line.group,
        line.gross,
        line.fee,
        line.set_aside,
        line.net,
        payment.name if payment else "",
        PhoneCell(payment.phone) if payment else "",
        payment.channel if payment else "",
        (payment.receipt or "") if payment else "",
        (payment.order_reference or "") if payment else "",
        payment.status if payment else "",
        (payment.refund_of or "") if payment else "",
    )


async def send_xlsx(request: MerchantRequest) -> Response:
    days, period = await _find(request)

    async def write(file: IO[bytes], folder: str) -> None:
        head = StatementHead(request.business, request.merchant_id, days, request.parts.clock())
        book = await asyncio.to_thread(StatementBook, request.words, head, period.opening, file, folder)
        async for lines in _pieces(request, period):
            await workbook_file.check_connected(request)
            await asyncio.to_thread(book.add, lines)
        await asyncio.to_thread(book.close)

    return await workbook_file.answer(request, _headers(request, days, "xlsx"), write)


class StatementHead(NamedTuple):
    business: str
    merchant_id: str
    days: StatementDays
    made_at: datetime


class StatementBook:
    """The lines, oldest first, from one balance to the other; and on a sheet before them the sums by group."""

    def __init__(
        self,
        words: Translator,
        head: StatementHead,
        opening: int,
        file: IO[bytes],
        folder: str,
        *,
        most_rows: int = MOST_ROWS,
    ) -> None:
        self._words = words
        self._head = head
        self._sums = PeriodSums(opening)
        self._most_rows = most_rows
        self._book = Workbook(file, folder)
        self._summary = self._book.sheet(self._words("Summary"), (52, 10, 18, 16, 18, 18))
        self._sheet = self._next_sheet(1)

    def add(self, lines: list[PeriodLine]) -> None:
        if self._sheet.row_count + len(lines) + 1 > self._most_rows:  # with the balance at the end
            self._sheet = self._next_sheet(self._sheet_number + 1)
        self._sums.add(lines)
        for line in lines:
            self._sheet.add(self._cells(line), RowStyle.SOFT if line.set_aside else RowStyle.PLAIN)

    def close(self) -> None:
        self._add_balance(self._words("Balance at the end"), self._sums.closing)
        self._summarise()
        self._book.close()

    def _next_sheet(self, number: int) -> Sheet:
        words = self._words
        self._sheet_number = number
        name = words("Statement")
        sheet = self._book.sheet(
            name if number == 1 else f"{name} {number}",
            (20, 34, 24, 26, 17, 14, 18, 22, 14, 12, 14, 14, 16, 32),
        )
        sheet.add(
            [
                words("When"),
                words("What"),
                words("Reference"),
                words("Name"),
                words("Phone number"),
                words("Network"),
                words("The network's receipt"),
                words("Order reference"),
                words("Gross"),
                words("Fee"),
                words("Set aside"),
                words("Net"),
                words("Balance"),
                words("Id"),
            ],
            RowStyle.HEADER,
        )
        sheet.keep_header_in_view()
        if number == 1:
            self._sheet = sheet
            self._add_balance(words("Balance at the beginning"), self._sums.opening)
        return sheet

    def _add_balance(self, name: str, balance: int) -> None:
        self._sheet.add([None, name, *[None] * 10, balance], RowStyle.SUM)

    def _cells(self, line: PeriodLine) -> list[Cell]:
        payment = line.payment
        return [
            line.at.astimezone(ZONE).replace(microsecond=0),
            self._words(line_sentence(line)),
            line.reference,
            payment.name if payment else None,
            payment.phone if payment else None,
            PROFILES[Channel(payment.channel)].name if payment else None,
            payment.receipt if payment else None,
            payment.order_reference if payment else None,
            line.gross,
            line.fee,
            line.set_aside,
            line.net,
            line.balance,
            line.cause_id,
        ]

    def _summarise(self) -> None:
        words, sheet, sums, head = self._words, self._summary, self._sums, self._head
        made_at = head.made_at.astimezone(ZONE)
        sheet.add([words("Statement of the wallet")], RowStyle.TITLE)
        sheet.add([f"{words('Business')}: {head.business}"])
        sheet.add([f"{words('Account')}: {head.merchant_id}"])
        sheet.add([f"{words('Days')}: {head.days.first or '…'} – {head.days.last or made_at.date()}"])
        sheet.add([f"{words('Made')}: {made_at:%Y-%m-%d %H:%M:%S}"])
        sheet.add([words("All amounts are whole Tanzanian shillings (TZS), all times are of Dar es Salaam.")])
        sheet.add([words("Net = gross − fee + set aside. Balance at the end = balance at the beginning + net.")])
        sheet.add()
        names = ("Lines", "Gross", "Fee", "Set aside", "Net")
        sheet.add([None, *(words(name) for name in names)], RowStyle.HEADER)
        sheet.add([words("Balance at the beginning"), *[None] * 4, sums.opening], RowStyle.SUM)
        for group, each in sums.by_group():
            sheet.add(
                [words(group_sentence(group)), *_sum_cells(each)], RowStyle.SOFT if each.set_aside else RowStyle.PLAIN
            )
        sheet.add([words("Total"), *_sum_cells(sums.whole)], RowStyle.SUM)
        sheet.add([words("Balance at the end"), *[None] * 4, sums.closing], RowStyle.SUM)


def _sum_cells(sums: Sums) -> list[Cell]:
    return [sums.count, sums.gross, sums.fee, sums.set_aside, sums.net]
