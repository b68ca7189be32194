"""/v1/settlements: request, read and cancel settlements to the bank, and their reports."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from enum import StrEnum
from tempfile import TemporaryDirectory, TemporaryFile
from typing import IO

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of
from malipo.api.request_credentials import header_of
from malipo.api.responses import pagination, replayed, success
from malipo.api.shown_after_commit import read_after_commit, require_changed
from malipo.api.urls import id_in
from malipo.db import Conn
from malipo.merchants.check_api_key import Caller
from malipo.payments import idempotency
from malipo.settlement import report as reports
from malipo.settlement import settlement_json
from malipo.settlement.bank_account import BankAccount
from malipo.settlement.cancel import SettlementCancellation
from malipo.settlement.fee_and_minimum import LARGEST_AMOUNT
from malipo.settlement.report import Report, ReportLine
from malipo.settlement.report_workbook import ReportWorkbook
from malipo.settlement.settlement import NoSuchSettlement, Settlement, SettlementStatus
from malipo.settlement.settlement_request import settlement_request_of
from malipo.settlement.store import bank_accounts, report_lines, settlements
from malipo.table_files.csv_export import csv_lines
from malipo.validation.fields import Fields

_XLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
_CHUNK = 64 * 1024
_LONGEST_WAIT = 60.0  # seconds, for the workbook before

Accounts = dict[bank_accounts.Key, BankAccount]


class ReportForm(StrEnum):
    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"


async def create(parts: ApiParts, caller: Caller, request: Request) -> Response:
    settlement_request = settlement_request_of(
        Fields(await object_of(request)),
        caller.merchant_id,
        key=header_of(request, idempotency.HEADER),
        largest=LARGEST_AMOUNT,
        created_by=caller.key_id,
        now=parts.clock(),
        is_key_required=caller.requires_idempotency_key,
    )
    result = await parts.settlements.create(settlement_request)
    headers = replayed(result.settlement.status) if result.is_replay else None
    accounts = await parts.queries.read(lambda connection: _accounts_of(connection, [result.settlement]))
    shown = settlement_json.created(result.settlement, _account(result.settlement, accounts))
    return success({"settlement": shown}, status=201, headers=headers)


async def list_(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(request.query_params)
    status = fields.choice("status", SettlementStatus)
    page, limit = fields.page(), fields.limit()
    fields.check()

    async def find(connection: Conn) -> tuple[int, list[Settlement], Accounts]:
        total, found = await settlements.find_page(
            connection, caller.merchant_id, status=status, page=page, limit=limit
        )
        return total, found, await _accounts_of(connection, found)

    total, found, accounts = await parts.queries.read_snapshot(find)
    shown = [settlement_json.shown(each, _account(each, accounts)) for each in found]
    return success({"settlements": shown, "pagination": pagination(total, page=page, limit=limit)})


async def retrieve(parts: ApiParts, caller: Caller, request: Request) -> Response:
    return _shown(*await _find(parts, caller, id_in(request, NoSuchSettlement)))


async def cancel(parts: ApiParts, caller: Caller, request: Request) -> Response:
    cancellation = SettlementCancellation(caller.merchant_id, id_in(request, NoSuchSettlement), caller.key_id)
    cancelled = await parts.settlements.cancel(cancellation)
    found, accounts = await read_after_commit(_find(parts, caller, cancelled.id))
    require_changed(found.status is SettlementStatus.CANCELLED)
    return _shown(found, accounts)


async def report(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(request.query_params)
    form = fields.choice("format", ReportForm) or ReportForm.JSON
    page, limit = fields.page(), fields.limit()
    fields.check()
    settlement_id = id_in(request, NoSuchSettlement)

    async def find(connection: Conn) -> tuple[Report | None, list[ReportLine]]:
        settlement = await settlements.get(connection, caller.merchant_id, settlement_id)
        found = None if settlement is None else await report_lines.find_report(connection, settlement)
        if found is None or form is not ReportForm.JSON:
            return found, []
        return found, await report_lines.page(connection, found, page=page, limit=limit)

    found, lines = await parts.queries.read_snapshot(find)
    if found is None:
        raise NoSuchSettlement  # or the wallet bore nothing of it
    headers = {"Content-Disposition": f'attachment; filename="{found.settlement.id}.{form}"'}
    match form:
        case ReportForm.CSV:
            return StreamingResponse(_csv(parts, found), media_type="text/csv; charset=utf-8", headers=headers)
        case ReportForm.XLSX:
            return await _workbook(parts, found, headers)
    entries = [dict(zip(reports.COLUMNS, reports.row_of(line), strict=True)) for line in lines]
    shown = {"report": reports.view(found), "entries": entries}
    return success(shown | {"pagination": pagination(found.line_count, page=page, limit=limit)})


async def _csv(parts: ApiParts, found: Report) -> AsyncIterator[str]:
    yield csv_lines([reports.COLUMNS])
    async for lines in report_lines.stream(parts.queries.read_part, found):
        yield csv_lines(reports.row_of(line) for line in lines)


async def _workbook(parts: ApiParts, found: Report, headers: dict[str, str]) -> Response:
    """It is written first, one at a time in each process, in a thread, and then sent."""
    file: IO[bytes] = TemporaryFile()  # noqa: SIM115  # Nobody else finds it, and it is gone when nobody has it open.
    async with parts.workbook_turns.taken(seconds=_LONGEST_WAIT):
        with TemporaryDirectory(prefix="malipo-") as folder:
            book = await asyncio.to_thread(ReportWorkbook, found, file, folder)
            async for lines in report_lines.stream(parts.queries.read_part, found):
                await asyncio.to_thread(book.add, lines)
            await asyncio.to_thread(book.close)
    length = {"Content-Length": str(file.tell())}
    file.seek(0)
    return StreamingResponse(_chunks(file), media_type=_XLSX, headers=headers | length)


def _chunks(file: IO[bytes]) -> Iterator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk


async def _find(parts: ApiParts, caller: Caller, settlement_id: str) -> tuple[Settlement, Accounts]:
    async def find(connection: Conn) -> tuple[Settlement | None, Accounts]:
        found = await settlements.get(connection, caller.merchant_id, settlement_id)
        return found, await _accounts_of(connection, [] if found is None else [found])

    found, accounts = await parts.queries.read_snapshot(find)
    if found is None:
        raise NoSuchSettlement
    return found, accounts


def _shown(found: Settlement, accounts: Accounts) -> Response:
    return success({"settlement": settlement_json.shown(found, _account(found, accounts))})


async def _accounts_of(connection: Conn, found: list[Settlement]) -> Accounts:
    keys = {(each.merchant_id, each.bank_account_id) for each in found if each.bank_account_id is not None}
    return await bank_accounts.find(connection, keys)


def _account(settlement: Settlement, accounts: Accounts) -> BankAccount | None:
    if settlement.bank_account_id is None:
        return None
    return accounts[settlement.merchant_id, settlement.bank_account_id]
