"""The audit log: what operators, merchants' people and malipo itself have done, with filters, and as CSV."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
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
from malipo.dashboard.merchant import audit_log as merchants_log
from malipo.dashboard.merchant.audit_log import values_of
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
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
_YEARS = range(2000, 2100)


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


def asked_in(query: Mapping[str, str]) -> AuditLogQuery:
    typed = {name: value for name in FILTERS if (value := query.get(name, "").strip())}
    fields = Fields(typed)
    for name in ("action", "actor", "merchant"):
        fields.text(name, most=_MOST_TYPED)
    first, last = _day(fields, "from", time.min), _day(fields, "to", time.max)
    if first is not None and last is not None and first > last:
        fields.wrong("to", "range_invalid", "from is after to.")
    return AuditLogQuery(typed, first, last, fields)


async def show(request: OperatorRequest) -> Response:
    asked = asked_in(request.http.query_params)
    is_right = asked.fields.problem is None
    before = key_in(request)

    async def find(connection: Conn) -> tuple[AuditLogPage, Mapping[str, str]]:
        names = await _names(connection)
        if not is_right:
            return AuditLogPage([]), names
        return await store.find_page(connection, _wanted(asked, names), before=before, limit=_PER_PAGE), names

    page, names = await request.parts.queries.read_snapshot(find, is_search=bool(asked.typed))
    return render.page(
        request,
        "operator/audit_log.html",
        status=200 if is_right else 400,
        rows=[_row(request.words, each, names) for each in page.entries],
        is_cut=page.is_cut,
        looked_through=f"{MOST_LOOKED_THROUGH:,}",
        typed=asked.typed,
        problems=form_errors.in_words(request.words, asked.fields),
        actions=[
            (each, each) for each in sorted({*ACTIONS, *([asked.typed["action"]] if "action" in asked.typed else [])})
        ],
        older=asked.link(before=page.older) if page.older else None,
        newest=asked.link() if before else None,
        csv=asked.link(f"{PATH}.csv"),
    )


async def download(request: OperatorRequest) -> Response:
    asked = asked_in(request.http.query_params)
    asked.fields.check()
    names = await request.parts.queries.read(_names)
    headers = SECURITY_HEADERS | {"Content-Disposition": 'attachment; filename="audit-log.csv"'}
    pieces = _csv(request, _wanted(asked, names))
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


async def _names(connection: Conn) -> Mapping[str, str]:
    return {each.id: each.name for each in await merchants.find_all(connection)}


def _wanted(asked: AuditLogQuery, names: Mapping[str, str]) -> AuditLogFilter:
    merchant = asked.typed.get("merchant")
    return AuditLogFilter(
        action=asked.typed.get("action"),
        actor=asked.typed.get("actor"),
        merchant_ids=None if merchant is None else _merchants_of(merchant, names),
        first=asked.first,
        last=asked.last,
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
    """One detail for a reader; what is empty is left out."""
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


def _day(fields: Fields, name: str, at: time) -> datetime | None:
    text = fields.text(name, most=10)
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        day = date.min
    if day is not None and day.year not in _YEARS:
        fields.wrong(name, "date_invalid", f"{name} must be a date, such as 2026-11-15.")
        return None
    return None if day is None else datetime.combine(day, at, ZONE)


# The actions of the audit log as sentences for operators. Those about a merchant's own people are the merchants'.


SENTENCES = {
    "merchant.created": "Opened the account of a merchant",
    "merchant.activated": "Made a merchant active again",
    "merchant.deactivated": "Stopped a merchant",
    "operator.added": "Added the operator {name}",
    "operator.logged_in": "Logged in as an operator",
    "operator.logged_out": "Logged out as an operator",
    "operator.password_set": "Set the password of the operator {name}",
    "operator.vouched_for": "Vouched for the operator {name}",
    "payment.contradicted": "A network took back its word about a payment",
    "payment.resolution_proposed": "Proposed how a payment of {amount} has ended",
    "payment.resolution_rejected": "Rejected what was proposed about a payment of {amount}",
    "payment.resolved": "Decided how a payment of {amount} has ended",
    "wallet.top_up": "Put {amount} into a wallet",
    "wallet.top_up_proposed": "Proposed to put {amount} into a wallet",
    "wallet.top_up_rejected": "Rejected a top-up of {amount}",
    "wallet.settlement": "Sent {amount} from a wallet to the merchant's bank",
    "wallet.settlement_proposed": "Proposed to send {amount} from a wallet to the merchant's bank",
    "wallet.settlement_rejected": "Rejected a settlement of {amount}",
    "operator.limits_changed": "The service began with other limits: an operator moves {amount} alone in 24 hours",
    "installation.fenced": "Found the database restored from a backup: nothing is sent",
    "installation.released": "Let sending begin again",
    "installation.release_proposed": "Proposed that sending begins again",
    "installation.release_rejected": "Rejected that sending begins again",
    "installation.held": "Held payments: {reason}",
    "installation.hold_ended": "Let held payments go",
    "ledger.checked": "Checked the ledger: {findings} findings",
    "secrets.rotated": "Encrypted the secrets with a new key",
    "statement.imported": "Imported the statement {name}: {lines} lines",
    "statement.matched": "Had the lines of statements matched with payments",
    "statement.lines_unbooked": "Took lines out of a booking of fees or sweeps: they may be payments of ours",
    "statement.effects_proposed": "What a file alone would do waits for a second operator: {amount}",
    "statement.effects_approved": "Approved what a file alone does: {amount}",
    "statement.effects_rejected": "Rejected what a file alone would do: {amount}",
    "statement.withdraw_proposed": "Proposed to withdraw the statement {name}: {reason}",
    "statement.withdraw_rejected": "Rejected that the statement {name} is withdrawn",
    "statement.withdrawn": "Withdrew the statement {name}: {reason}",
    "statement.undo_proposed": "Proposed to undo a booking of {amount} of the statement {name}: {reason}",
    "statement.undo_rejected": "Rejected that a booking of {amount} of the statement {name} is undone",
    "statement.booking_undone": "Undid a booking of {amount} of the statement {name}: {reason}",
    "statement.charge_set": "Said what {channel} charges for a payment",
    "float.read": "Saw {amount} at {channel}",
    "float.from_bank": "Booked {amount} from the bank to {channel}",
    "float.from_bank_proposed": "Proposed to book {amount} from the bank to {channel}",
    "float.from_bank_rejected": "Rejected a transfer of {amount} from the bank to {channel}",
    "float.to_bank": "Booked {amount} from {channel} to the bank",
    "float.to_bank_proposed": "Proposed to book {amount} from {channel} to the bank",
    "float.to_bank_rejected": "Rejected a transfer of {amount} from {channel} to the bank",
    "exception.proposed": "Proposed what to do about an exception of {amount}",
    "exception.resolved": "Resolved an exception of {amount}",
    "exception.noted": "Wrote down what was found out about an exception of {amount}",
    "exception.rejected": "Rejected what was proposed about an exception of {amount}",
    "exception.undone": "Undid what was done about an exception of {amount}",
    "day.closed": "Closed the day {day}",
    "day.close_proposed": "Proposed to close the day {day} although it does not add up",
    "day.close_rejected": "Rejected to close the day {day} as it was",
    "statement_profile.saved": "Saved the layout {name} of a statement",
    "statement_profile.words": "Said what words of the status mean in the layout {name}",
    "statement_profile.aggregator": "Said whose account the layout {name} is of",
}

ACTIONS = {**merchants_log.SENTENCES, **SENTENCES}


def sentence_of(words: Translator, entry: AuditLogEntry) -> str:
    """An action without a sentence is shown by its name."""
    sentence = ACTIONS.get(entry.action)
    return entry.action if sentence is None else words(sentence).format_map(values_of(words, entry))
