"""A spreadsheet of payouts is sent. It becomes a draft, which the next page shows; nothing is paid by it."""

import asyncio
import re
import tempfile
from http import HTTPStatus
from pathlib import Path

from starlette.responses import Response

from malipo import ids
from malipo.dashboard import form_errors, render
from malipo.dashboard.file_upload import receive_upload
from malipo.dashboard.merchant.batches.line_names import look_up_lines
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.errors import Invalid
from malipo.http.client_disconnect import while_connected
from malipo.payments.batches.spreadsheet.draft import BatchDraft, Edits
from malipo.payments.batches.spreadsheet.read_sheet import (
    MOST_FILE_BYTES,
    MOST_LINES,
    NoLines,
    PayoutSheet,
    TooManyLines,
    read_sheet,
)
from malipo.payments.batches.store import drafts
from malipo.table_files import limits
from malipo.table_files.csv_export import csv_lines
from malipo.table_files.reader_queue import FilesBeingRead, OwnFileBeingRead, ReadingTurns
from malipo.table_files.rows import LimitMet, NotATable

PATH = "/dashboard/batches"
NEW = f"{PATH}/new"
DRAFTS = f"{PATH}/drafts"
_MOST_MEGABYTES = MOST_FILE_BYTES // 1024**2
_MOST_NAME = 100
# The limits in the sentences.
_NUMBERS = {
    "lines": f"{MOST_LINES:,}",
    "megabytes": str(_MOST_MEGABYTES),
    "unpacked": str(limits.PAYOUTS.unpacked_bytes // 1024**2),
    "rows": f"{limits.PAYOUTS.rows:,}",
}

SENTENCES = {
    "no_file": "Choose a file.",
    "not_a_table": "This file cannot be read. Open it in your spreadsheet program, and save it as XLSX or CSV.",
    "no_lines": "This file has no lines. Put the payouts on its first sheet, one row each.",
    "too_many_lines": "This file has more than {lines} lines. Split it into several files.",
    "too_large": "The file is larger than {megabytes} MB. Keep only the sheet with the payouts, without pictures.",
    # By the limit that it met when it was read.
    "memory": "This file needs too much memory to be read. Keep only the sheet with the payouts, and save it as CSV.",
    "seconds": "This file takes too long to be read. Keep only the sheet with the payouts, and save it as CSV.",
    "unpacked_bytes": "Unpacked, this file is larger than {unpacked} MB. Keep only the sheet with the payouts.",
    "rows": "There are lines below row {rows} of this file. Put the payouts at its top.",
    "columns": "This file has too many columns. Keep only those of the payouts.",
    "cells": "This file has too many cells. Keep only those of the payouts.",
    "characters": "There is too much text in this file. Keep only the columns of the payouts.",
}
# The template for people without a file of their own. It has the headers of the API.
SAMPLES: tuple[tuple[str | int, ...], ...] = (
    ("recipientName", "recipientPhone", "channel", "amount", "description", "orderReference"),
    ("Asha Juma", "0754000100", "M-Pesa", 450000, "Salary", "E-001"),
    ("Baraka Mushi", "0655000100", "Tigo Pesa", 380000, "Salary", "E-002"),
    ("Celina Mrema", "0682000100", "Airtel Money", 512500, "Salary", "E-003"),
    ("Daudi Komba", "0621000100", "HaloPesa", 295000, "Salary", "E-004"),
)


class SpreadsheetTooLarge(Invalid):
    def __init__(self) -> None:
        super().__init__(SENTENCES["too_large"])


async def show(request: MerchantRequest) -> Response:
    return _form(request)


async def sample(request: MerchantRequest) -> Response:
    """A file to fill in. A number that begins with its zero is a text, and stays one."""
    headers = SECURITY_HEADERS | {"Content-Disposition": 'attachment; filename="payouts.csv"'}
    return Response(csv_lines(SAMPLES), media_type="text/csv; charset=utf-8", headers=headers)


async def take(request: MerchantRequest) -> Response:
    try:
        upload = await receive_upload(request, most_file_bytes=MOST_FILE_BYTES, too_large=SpreadsheetTooLarge())
    except SpreadsheetTooLarge:
        return _form(request, "too_large", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if not upload.content:
        return _form(request, "no_file", HTTPStatus.BAD_REQUEST)
    filename = safe_name(upload.filename)
    try:
        sheet = await _read(request, upload.content)
    except OwnFileBeingRead as busy:
        return _busy(request, busy, HTTPStatus.TOO_MANY_REQUESTS)
    except FilesBeingRead as busy:
        return _busy(request, busy, HTTPStatus.SERVICE_UNAVAILABLE)
    except LimitMet as met:
        return _form(request, met.limit, HTTPStatus.BAD_REQUEST)
    except NotATable:
        return _form(request, "not_a_table", HTTPStatus.BAD_REQUEST)
    except NoLines:
        return _form(request, "no_lines", HTTPStatus.BAD_REQUEST)
    except TooManyLines:
        return _form(request, "too_many_lines", HTTPStatus.BAD_REQUEST)
    now = request.parts.clock()
    draft = BatchDraft(
        id=ids.mint("drf_", now),
        merchant_id=request.merchant_id,
        person=request.person.email,
        filename=filename,
        sheet=sheet,
        edits=Edits(),
        created_at=now,
    )
    await request.parts.queries.write(lambda tx: drafts.insert(tx, draft))
    await look_up_lines(request, draft)
    return request.go(f"{DRAFTS}/{draft.id}")


async def _read(request: MerchantRequest, content: bytes) -> PayoutSheet:
    """Read the file in the merchant's turn. Stops if the browser disconnects."""
    turns = ReadingTurns(request.parts.settings.data_dir)
    with tempfile.TemporaryDirectory(prefix="malipo-") as folder:
        path = Path(folder) / "sheet"
        await asyncio.to_thread(path.write_bytes, content)
        return await while_connected(request.http, turns.read(request.merchant_id, lambda: read_sheet(path)))


def _busy(request: MerchantRequest, busy: OwnFileBeingRead | FilesBeingRead, status: HTTPStatus) -> Response:
    response = _page(request, form_errors.SENTENCES[busy.spoken], status)
    response.headers["Retry-After"] = str(busy.retry_after_seconds)
    return response


def _form(request: MerchantRequest, problem: str | None = None, status: HTTPStatus = HTTPStatus.OK) -> Response:
    return _page(request, None if problem is None else SENTENCES[problem], status)


def _page(request: MerchantRequest, sentence: str | None, status: HTTPStatus) -> Response:
    return render.page(
        request,
        "merchant/batches/new.html",
        status=status,
        problem=None if sentence is None else request.words(sentence, **_NUMBERS),
        most_lines=MOST_LINES,
        most_megabytes=_MOST_MEGABYTES,
    )


def safe_name(sent: str) -> str:
    """The name of the uploaded file, safe to show on a page."""
    name = re.split(r"[/\\]", sent)[-1]
    return "".join(each for each in name if each.isprintable()).strip()[-_MOST_NAME:] or "payouts"
