"""The page of one settlement: its progress, its report with the wallet lines that belong to it, and cancelling it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import IO, NamedTuple

from starlette.responses import Response, StreamingResponse

from malipo.bank_evidence.banking_days import BankingDays
from malipo.bank_evidence.store import holidays
from malipo.dashboard import form_errors, render
from malipo.dashboard.merchant import workbook_file
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.merchant.settlements.new_settlement import arrives_by
from malipo.dashboard.merchant.settlements.settlement_list import PATH, noon
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.dashboard.urls import id_in, number_in
from malipo.db import Conn
from malipo.errors import Missing, Refusal, Unavailable
from malipo.restore.installation import IntakeClosed
from malipo.settlement import report as reports
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.cancel import SettlementCancellation
from malipo.settlement.report import Report, ReportLine
from malipo.settlement.report_workbook import ReportWorkbook
from malipo.settlement.settlement import NoSuchSettlement, Settlement
from malipo.settlement.store import bank_accounts, report_lines, settlements
from malipo.table_files.csv_export import csv_lines

PER_PAGE = 50
_IN_DOUBT = "We do not know whether this was done. Look at it again."
SENTENCES = (_IN_DOUBT,)


class SettlementData(NamedTuple):
    settlement: Settlement
    account: BankAccount | None
    report: Report | None  # None: its wallet bore nothing of it
    lines: Sequence[ReportLine]
    banking_days: BankingDays


async def show(request: MerchantRequest) -> Response:
    return await _page(request)


async def confirm_cancel(request: MerchantRequest) -> Response:
    found = await _find(request)
    if not found.settlement.is_cancellable:
        return request.go(f"{PATH}/{found.settlement.id}")
    return render.page(
        request, "merchant/settlements/cancel.html", settlement=found.settlement, bank_account=found.account
    )


async def cancel(request: MerchantRequest) -> Response:
    await request.form()
    cancellation = SettlementCancellation(request.merchant_id, id_in(request), request.person.email, request.actor)
    try:
        settlement = await request.parts.settlements.cancel(cancellation)
    except IntakeClosed as closed:
        return await _page(request, problem=form_errors.sentence(request.words, closed.code), status=503)
    except Unavailable:
        return await _page(request, problem=request.words(_IN_DOUBT), status=503)
    except Missing:
        raise
    except Refusal as refusal:
        problem = form_errors.of_refusal(request.words, refusal)
        return await _page(request, problem=problem, status=form_errors.status_of(refusal))
    return request.go(f"{PATH}/{settlement.id}", "settlement-cancelled")


async def send_csv(request: MerchantRequest) -> Response:
    report = await _report(request)
    headers = SECURITY_HEADERS | _named(report, "csv")
    return StreamingResponse(_csv(request, report), media_type="text/csv; charset=utf-8", headers=headers)


async def send_xlsx(request: MerchantRequest) -> Response:
    report = await _report(request)

    async def write(file: IO[bytes], folder: str) -> None:
        book = await asyncio.to_thread(ReportWorkbook, report, file, folder, request.words)
        async for lines in report_lines.stream(request.parts.queries.read_part, report):
            await workbook_file.check_connected(request)
            await asyncio.to_thread(book.add, lines)
        await asyncio.to_thread(book.close)

    return await workbook_file.answer(request, SECURITY_HEADERS | _named(report, "xlsx"), write)


async def _csv(request: MerchantRequest, report: Report) -> AsyncIterator[str]:
    """As the API gives it."""
    yield csv_lines([reports.COLUMNS])
    async for lines in report_lines.stream(request.parts.queries.read_part, report):
        yield csv_lines(reports.row_of(line) for line in lines)


def _named(report: Report, ending: str) -> dict[str, str]:
    return {"Content-Disposition": f'attachment; filename="{report.settlement.reference}.{ending}"'}


async def _report(request: MerchantRequest) -> Report:
    found = (await _find(request, limit=0)).report
    if found is None:
        raise NoSuchSettlement
    return found


async def _find(request: MerchantRequest, *, limit: int = PER_PAGE) -> SettlementData:
    settlement_id, page = id_in(request), number_in(request, "page", 1)

    async def find(connection: Conn) -> SettlementData:
        settlement = await settlements.get(connection, request.merchant_id, settlement_id)
        if settlement is None:
            raise NoSuchSettlement
        account_id = settlement.bank_account_id
        account = account_id and await bank_accounts.get(connection, settlement.merchant_id, account_id)
        report = await report_lines.find_report(connection, settlement)
        lines = await report_lines.page(connection, report, page=page, limit=limit) if report and limit else []
        banking_days = await holidays.find_banking_days(connection)
        return SettlementData(settlement, account or None, report, lines, banking_days)

    return await request.parts.queries.read_snapshot(find)


async def _page(request: MerchantRequest, *, problem: str | None = None, status: int = 200) -> Response:
    found, page = await _find(request), number_in(request, "page", 1)
    settlement, report = found.settlement, found.report
    path = f"{PATH}/{settlement.id}"
    return render.page(
        request,
        "merchant/settlements/detail.html",
        status=status,
        settlement=settlement,
        bank_account=found.account,
        report=report,
        lines=found.lines,
        arrives_by=request.words.day(arrives_by(settlement.sent_at or settlement.created_at, found.banking_days)),
        booked_on=None if settlement.booked_on is None else request.words.day(noon(settlement.booked_on)),
        return_booked_on=(
            None if settlement.return_booked_on is None else request.words.day(noon(settlement.return_booked_on))
        ),
        newer=f"{path}?page={page - 1}#lines" if page > 1 else None,
        older=f"{path}?page={page + 1}#lines" if report and page * PER_PAGE < report.line_count else None,
        problem=problem,
    )
