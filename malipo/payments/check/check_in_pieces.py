"""The ledger check in pieces: each is a short transaction of its own, so that none holds back vacuum for long.

A piece is a range of an index. The rows that are compared in a piece were written in one commit, or do not change any
more. So payments that arrive meanwhile do not look like differences.
"""

from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any, NamedTuple

from malipo.db import Conn
from malipo.db.key_range import KeyRange
from malipo.ledger import check as ledger_check
from malipo.ledger import check_wallets_in_pieces
from malipo.ledger.check import LedgerFinding
from malipo.ledger.check_settlements import wrong_settlements
from malipo.payments.check import newer_rows
from malipo.payments.check import transactions as transactions_check


class CheckSubject(StrEnum):
    """What a piece compares, in the order of a check."""

    LINES = "lines"
    WALLETS = "wallets"
    PAYMENTS = "payments"
    KEYS = "keys"
    MERCHANTS = "merchants"
    PROPOSALS = "proposals"
    FILES = "files"


class CheckPosition(NamedTuple):
    """The position where a check continues: after a key of its subject."""

    subject: CheckSubject
    after: tuple[Any, ...]


class _Ranges(NamedTuple):
    """How a subject is cut into pieces: the key before the first one, and a query for the last key of the next
    piece."""

    start: tuple[Any, ...]
    find_end: str | None


def _end_in(table: str, *key: str, condition: str = "true") -> str:
    columns = ", ".join(key)
    after = ", ".join(f"${place}" for place in range(2, len(key) + 2))
    return f"""
        SELECT {columns} FROM {table} WHERE ({columns}) > ({after}) AND {condition}
        ORDER BY {columns} OFFSET $1::bigint - 1 LIMIT 1
    """


# A piece has merchants with so many events together, or one merchant with more: totals and rollups are sums of all.
_MERCHANTS = """
    SELECT merchant_id FROM (
        SELECT merchant_id, row_number() OVER merchants AS place, sum(last_number) OVER merchants AS events
        FROM feeds WHERE merchant_id > $2 WINDOW merchants AS (ORDER BY merchant_id) ORDER BY merchant_id LIMIT 500
    ) AS next_ones
    WHERE place = 1 OR events <= $1::bigint ORDER BY merchant_id DESC LIMIT 1
"""
# A piece has files with so many lines together, or one file with more: its charges are sums of all lines.
_FILES = """
    SELECT id FROM (
        SELECT id, row_number() OVER files AS place, sum(line_count) OVER files AS lines
        FROM statement_files WHERE id > $2 WINDOW files AS (ORDER BY id) ORDER BY id LIMIT 500
    ) AS next_ones
    WHERE place = 1 OR lines <= $1::bigint ORDER BY id DESC LIMIT 1
"""
_RANGES = {
    CheckSubject.LINES: _Ranges(
        ("", 0), _end_in("moves", "merchant_id", "statement_line", condition="statement_line IS NOT NULL")
    ),
    CheckSubject.WALLETS: _Ranges(("",), _end_in("wallets", "merchant_id")),
    CheckSubject.PAYMENTS: _Ranges(("", ""), _end_in("transactions", "merchant_id", "id")),
    CheckSubject.KEYS: _Ranges(("", "", ""), _end_in("idempotency_keys", "merchant_id", "route", "key")),
    CheckSubject.MERCHANTS: _Ranges(("",), _MERCHANTS),
    CheckSubject.PROPOSALS: _Ranges((), None),
    CheckSubject.FILES: _Ranges(("",), _FILES),
}

_WITH_WORDS = (CheckSubject.WALLETS, CheckSubject.PAYMENTS, CheckSubject.MERCHANTS)

# Rows of a piece, which takes a fraction of a second.
ROWS = 10_000
START = CheckPosition(CheckSubject.LINES, _RANGES[CheckSubject.LINES].start)


async def check_piece(
    connection: Conn, place: CheckPosition, *, rows: int = ROWS
) -> tuple[list[LedgerFinding], CheckPosition | None]:
    """The differences in the piece at this position, and the next position. `connection` is in a snapshot."""
    await check_wallets_in_pieces.prepare(connection)
    find_end = _RANGES[place.subject].find_end
    end = None if find_end is None else await connection.fetchrow(find_end, rows, *place.after)
    within = KeyRange(place.after, () if end is None else tuple(end))
    found = await _CHECKS[place.subject](connection, within)
    if place.subject in _WITH_WORDS:
        # The other subjects have other keys than merchants and payments, and no rows of a newer version.
        lists_words = place.subject is CheckSubject.PAYMENTS
        found = await newer_rows.mark(connection, found, within, lists_words=lists_words)
    return found, _next_subject(place.subject) if end is None else CheckPosition(place.subject, within.last)


def _next_subject(subject: CheckSubject) -> CheckPosition | None:
    subjects = list(CheckSubject)
    later = subjects[subjects.index(subject) + 1 :]
    return CheckPosition(later[0], _RANGES[later[0]].start) if later else None


async def _check_payments(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Compare payments, and bookings and settlements, which cause moves as payments do."""
    return [
        *await transactions_check.check_payments(connection, within),
        *await ledger_check.wrong_bookings(connection, within),
        *await wrong_settlements(connection, within),
    ]


async def _check_merchants(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    return [
        *await transactions_check.check_merchants(connection, within),
        *await ledger_check.wrong_line_counts(connection, within),
    ]


async def _check_proposals(connection: Conn, within: KeyRange) -> list[LedgerFinding]:
    """Compare proposals, and house bookings that undo others. There are few of both."""
    return [
        *await ledger_check.wrong_proposals(connection),
        *await ledger_check.wrong_undos(connection),
        *await ledger_check.wrong_releases(connection),
        *await ledger_check.wrong_invoices(connection),
        *await ledger_check.wrong_cents(connection),
    ]


_CHECKS: dict[CheckSubject, Callable[[Conn, KeyRange], Awaitable[list[LedgerFinding]]]] = {
    CheckSubject.LINES: check_wallets_in_pieces.check_lines,
    CheckSubject.WALLETS: check_wallets_in_pieces.check_wallets,
    CheckSubject.PAYMENTS: _check_payments,
    CheckSubject.KEYS: transactions_check.lost_keys,
    CheckSubject.MERCHANTS: _check_merchants,
    CheckSubject.PROPOSALS: _check_proposals,
    CheckSubject.FILES: ledger_check.wrong_cents_of_files,
}
