"""Files of the archive about what people decided in the month, and what was open at its end: as rows of CSV."""

from collections.abc import AsyncIterator, Iterable, Mapping

from malipo.db import Conn
from malipo.month_end import casework_store as store
from malipo.month_end.bank_reconciliation import BankReconciliation
from malipo.month_end.cells import Cell, cell, money
from malipo.month_end.month import Month
from malipo.table_files.csv_export import csv_lines

_EXCEPTION = (
    *("id", "kind", "channel", "account", "amount", "lineDay", "receipt", "reference", "merchantId", "merchant"),
    *("foundAt", "state", "resolvedAt", "resolvedBy", "why"),
)
_DECISION = (
    *("id", "act", "subject", "merchantId", "amount", "reason", "terms", "requestedBy", "requestedAt", "state"),
    *("decidedBy", "decidedAt"),
)
_SUSPENSE = (
    *("cause", "kind", "amount", "since", "days", "merchantId", "merchant", "channel", "reference", "receipt"),
    *("evidence", "releasedTo"),
)
_AUDIT_LOG = ("at", "actor", "address", "osUser", "action", "merchantId", "details", "id")
RECONCILIATION = ("row", "account", "day", "cents", "reference", "subject", "merchantId")


def files_of(connection: Conn, month: Month, names: Mapping[str, str]) -> dict[str, AsyncIterator[bytes]]:
    """`names` of merchants, by their ids."""
    return {
        "exceptions.csv": _exceptions(connection, month, names),
        "decisions.csv": _decisions(connection, month),
        "suspense.csv": _suspense(connection, month, names),
        "audit-log.csv": _audit_log(connection, month),
    }


async def _exceptions(connection: Conn, month: Month, names: Mapping[str, str]) -> AsyncIterator[bytes]:
    yield csv_lines([_EXCEPTION]).encode()
    async for row in store.exceptions_of(connection, month):
        about = (cell(row["line_day"]), cell(row["receipt"]), cell(row["reference"]), cell(row["merchant_id"]))
        cells: tuple[Cell, ...] = (
            *(row["id"], row["kind"], row["channel"], row["account"], money(row["amount"], row["cents"])),
            *(*about, names.get(row["merchant_id"] or "", ""), cell(row["found_at"])),
            "open" if row["resolved_at"] is None else "resolved",
            *(cell(row[name]) for name in ("resolved_at", "resolved_by", "why")),
        )
        yield csv_lines([cells]).encode()


async def _decisions(connection: Conn, month: Month) -> AsyncIterator[bytes]:
    yield csv_lines([_DECISION]).encode()
    async for row in store.decisions_of(connection, month):
        state = {None: "open", True: "approved", False: "rejected"}[row["is_approved"]]
        names = ("id", "action", "subject", "merchant_id", "amount", "reason", "terms", "requested_by", "requested_at")
        decided = (cell(row["decided_by"]), cell(row["decided_at"]))
        yield csv_lines([(*(cell(row[name]) for name in names), state, *decided)]).encode()


async def _suspense(connection: Conn, month: Month, names: Mapping[str, str]) -> AsyncIterator[bytes]:
    yield csv_lines([_SUSPENSE]).encode()
    for row in await store.suspense_at(connection, month):
        days = (month.last - row["since"]).days
        cells: tuple[Cell, ...] = (
            *(row["cause"], row["kind"], row["amount"], cell(row["since"]), max(days, 0), row["merchant_id"]),
            names.get(row["merchant_id"], ""),
            *(row[name] for name in ("channel", "reference", "receipt", "evidence", "released_to")),
        )
        yield csv_lines([cells]).encode()


async def _audit_log(connection: Conn, month: Month) -> AsyncIterator[bytes]:
    yield csv_lines([_AUDIT_LOG]).encode()
    async for row in store.audit_log_of(connection, month.begins, month.ends):
        yield csv_lines([tuple(cell(each) for each in row.values())]).encode()


def rows_of(found: BankReconciliation) -> Iterable[tuple[Cell, ...]]:
    """What the bank says, less each row between, is what the books say."""
    for account, cents in found.accounts:
        yield ("bank", account, "", cents, "", "", "")
    yield ("before", "", "", found.before, "", "", "")
    for each in found.items:
        about = (each.reference, each.subject, each.merchant_id)
        yield (each.kind, each.account, cell(each.day), each.cents, *about)
    yield ("cents", "", "", found.cents, "", "", "")
    yield ("unexplained", "", "", found.unexplained, "", "", "")
    yield ("books", "", "", found.ledger, "", "", "")
