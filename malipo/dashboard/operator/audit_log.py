"""The audit log: what operators, merchants' people and malipo itself have done, with filters, and as CSV."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

import msgspec
from starlette.responses import Response, StreamingResponse

from malipo import clock, money
from malipo.audit_log import store
from malipo.audit_log.store import MOST_LOOKED_THROUGH, AuditLogEntry, AuditLogFilter, AuditLogPage
from malipo.clock import ZONE
from malipo.dashboard import form_errors, render
from malipo.dashboard.language import Translator
from malipo.dashboard.operator.audit_log_sentences import ACTIONS, sentence_of
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.dashboard.typed_days import begin_of, end_of, first_and_last
from malipo.dashboard.urls import key_in
from malipo.db import Conn
from malipo.merchants.store import merchants
from malipo.table_files.csv_export import csv_lines
from malipo.validation.fields import Fields

PATH = "/operator/audit"
FILTERS = ("action", "actor", "merchant", "from", "to")
COLUMNS = ("date", "time", "actor", "address", "osUser", "action", "merchantId", "details", "createdAt", "id")

_PER_PAGE = 50
_PIECE = 1000
_MOST_TYPED = 100


@dataclass(frozen=True, slots=True)
class AuditLogQuery:
    """The filters: as they were typed, as days of Dar es Salaam, and what is wrong with them."""

    typed: Mapping[str, str]
    first: datetime | None
    last: datetime | None
    fields: Fields

    def link(self, path: str = PATH, **more: str) -> str:
        values = dict(self.typed) | more
        return f"{path}?{urlencode(values)}" if values else path


class AuditLogRow(NamedTuple):
    entry: AuditLogEntry
    sentence: str
    merchant: str | None
    details: list[tuple[str, str]]


def query_in(query: Mapping[str, str]) -> AuditLogQuery:
    typed = {name: value for name in FILTERS if (value := query.get(name, "").strip())}
    fields = Fields(typed)
    for name in ("action", "actor", "merchant"):
        fields.text(name, most=_MOST_TYPED)
    first, last = first_and_last(fields)
    return AuditLogQuery(typed, begin_of(first), end_of(last), fields)


async def show(request: OperatorRequest) -> Response:
    log_query = query_in(request.http.query_params)
    is_right = log_query.fields.problem is None
    before = key_in(request)

    async def find(connection: Conn) -> tuple[AuditLogPage, Mapping[str, str]]:
        names = await merchants.find_names(connection)
        if not is_right:
            return AuditLogPage([]), names
        return await store.find_page(connection, _wanted(log_query, names), before=before, limit=_PER_PAGE), names

    page, names = await request.parts.queries.read_snapshot(find, is_search=bool(log_query.typed))
    return render.page(
        request,
        "operator/audit_log.html",
        status=200 if is_right else 400,
        rows=[_row(request.words, each, names) for each in page.entries],
        is_cut=page.is_cut,
        looked_through=f"{MOST_LOOKED_THROUGH:,}",
        typed=log_query.typed,
        problems=form_errors.in_words(request.words, log_query.fields),
        actions=[
            (each, each)
            for each in sorted({*ACTIONS, *([log_query.typed["action"]] if "action" in log_query.typed else [])})
        ],
        older=log_query.link(before=page.older) if page.older else None,
        newest=log_query.link() if before else None,
        csv=log_query.link(f"{PATH}.csv"),
    )


async def download(request: OperatorRequest) -> Response:
    log_query = query_in(request.http.query_params)
    log_query.fields.check()
    names = await request.parts.queries.read(merchants.find_names)
    headers = SECURITY_HEADERS | {"Content-Disposition": 'attachment; filename="audit-log.csv"'}
    pieces = _csv(request, _wanted(log_query, names))
    return StreamingResponse(pieces, media_type="text/csv; charset=utf-8", headers=headers)


async def _csv(request: OperatorRequest, wanted: AuditLogFilter) -> AsyncIterator[str]:
    """Piece by piece, however many entries there are."""
    yield csv_lines([COLUMNS])
    before: str | None = None
    while True:
        page: AuditLogPage = await request.parts.queries.read_part(
            lambda connection: store.find_page(connection, wanted, before=before, limit=_PIECE)  # noqa: B023
        )
        yield csv_lines(row_of(each) for each in page.entries)
        if page.older is None:
            return
        before = page.older


def row_of(entry: AuditLogEntry) -> tuple[str, ...]:
    """An entry under COLUMNS."""
    local = entry.created_at.astimezone(ZONE)
    return (
        f"{local:%Y-%m-%d}",
        f"{local:%H:%M:%S}",
        entry.actor,
        entry.address,
        entry.os_user or "",
        entry.action,
        entry.merchant_id or "",
        msgspec.json.encode(entry.details).decode(),
        clock.iso(entry.created_at),
        entry.id,
    )


def _wanted(log_query: AuditLogQuery, names: Mapping[str, str]) -> AuditLogFilter:
    merchant = log_query.typed.get("merchant")
    return AuditLogFilter(
        action=log_query.typed.get("action"),
        actor=log_query.typed.get("actor"),
        merchant_ids=None if merchant is None else _merchants_of(merchant, names),
        first=log_query.first,
        last=log_query.last,
    )


def _merchants_of(typed: str, names: Mapping[str, str]) -> list[str]:
    """By id, or by part of the name."""
    if typed in names:
        return [typed]
    return [id_ for id_, name in names.items() if typed.casefold() in name.casefold()]


def _row(words: Translator, entry: AuditLogEntry, names: Mapping[str, str]) -> AuditLogRow:
    merchant = None if entry.merchant_id is None else names.get(entry.merchant_id, "")
    details = [(name, shown) for name, value in entry.details.items() if (shown := _shown(name, value))]
    return AuditLogRow(entry, sentence_of(words, entry), merchant, details)


def _shown(name: str, value: Any) -> str:
    """One detail as text. An empty detail is omitted."""
    if value is None or value == "" or value == []:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return money.display(value) if name == "amount" or name.endswith("_amount") else f"{value:,}"
    if isinstance(value, list):
        return ", ".join(shown for each in value if (shown := _shown("", each)))
    if isinstance(value, dict):
        return ", ".join(f"{key}: {_shown(key, each)}" for key, each in value.items())
    return str(value)
