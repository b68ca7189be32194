"""Rows that a newer version has written: a finding that they explain is marked as unknown, not as wrong. It only reads.

After a rollback to this version the database keeps those rows. A new step, account, event or kind comes with a
migration, so nothing is searched while the database has no migration that this version lacks.
"""

import dataclasses
from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from malipo.db import Conn
from malipo.db.key_range import EVERYTHING, KeyRange
from malipo.db.schema import migrations
from malipo.ledger import bookings, house_bookings
from malipo.ledger.accounts import HOUSE, Account, Step
from malipo.ledger.check import LedgerFinding
from malipo.networks.connector import Channel
from malipo.outbox.event import Event
from malipo.payments.transaction import Status, Type

# These do not depend on the steps of moves, so a newer version never explains a difference there.
_NEVER_NEWER = ("wallet", "statement lines", "number of a statement line", "balance after a statement line")
_HOUSE = f"'{HOUSE}'::text COLLATE \"C\""


class _Words(NamedTuple):
    """A column, the values of it that this version knows, and the key of its rows."""

    table: str
    column: str
    known: type[StrEnum]
    merchant: str = "merchant_id"
    cause: str = "id"


_WORDS = (
    _Words("moves", "step", Step, cause="cause_id"),
    _Words("moves", "source", Account, cause="cause_id"),
    _Words("moves", "target", Account, cause="cause_id"),
    _Words("events", "event", Event, cause="transaction_id"),
    _Words("transactions", "type", Type),
    _Words("transactions", "status", Status),
    _Words("transactions", "channel", Channel),
    _Words("bookings", "kind", bookings.BookingKind),
    _Words("house_bookings", "kind", house_bookings.HouseBookingKind, merchant=_HOUSE),
)


async def find_newer_schema(connection: Conn) -> int | None:
    """The number of the database's last migration, if this version does not have it."""
    row = await connection.fetchrow("SELECT max(number) FROM schema_migrations")
    assert row is not None
    return row[0] if row[0] is not None and row[0] > migrations()[-1].number else None


async def mark(
    connection: Conn, found: list[LedgerFinding], within: KeyRange = EVERYTHING, *, lists_words: bool = False
) -> list[LedgerFinding]:
    """The findings; those that rows of a newer version explain are marked with the schema of that version. With
    `lists_words`, also a finding for each value in the range that this version does not know."""
    schema = await find_newer_schema(connection)
    if schema is None:
        return found
    newer = await _find_newer(connection, {_id_in(each) for each in found if _may_be_newer(each)}, within)
    marked = [
        dataclasses.replace(each, newer_schema=schema) if _may_be_newer(each) and _id_in(each) in newer else each
        for each in found
    ]
    return marked + (await _list_words(connection, schema, within) if lists_words else [])


def _may_be_newer(finding: LedgerFinding) -> bool:
    return finding.what not in _NEVER_NEWER


def _id_in(finding: LedgerFinding) -> str:
    """The id of the payment, booking or merchant of a finding."""
    return finding.where.partition(" ")[0]


def _unknown_rows(within: KeyRange) -> str:
    """Merchant, cause and value of the rows with a value that this version does not know."""
    return " UNION ALL ".join(
        f"""
        SELECT {each.merchant} AS merchant_id, {each.cause} AS cause_id,
               '{each.table}.{each.column} ' || {each.column} AS word
        FROM {each.table}
        WHERE {each.column} NOT IN ({", ".join(f"'{word}'" for word in each.known)})
          AND {within.holds(each.merchant, each.cause)}
        """
        for each in _WORDS
    )


async def _find_newer(connection: Conn, ids: Collection[str], within: KeyRange) -> set[str]:
    if not ids:
        return set()
    rows = await connection.fetch(
        f"""
        SELECT DISTINCT named.id FROM ({_unknown_rows(within)}) AS unknown
        JOIN unnest(${len(within.values) + 1}::text[]) AS named (id)
          ON named.id IN (unknown.merchant_id, unknown.cause_id)
        """,
        *within.values,
        list(ids),
    )
    return {row["id"] for row in rows}


async def _list_words(connection: Conn, schema: int, within: KeyRange) -> list[LedgerFinding]:
    rows = await connection.fetch(
        f"""
        SELECT word, count(*) AS number, min(cause_id) AS example FROM ({_unknown_rows(within)}) AS unknown
        GROUP BY 1 ORDER BY 1
        """,
        *within.values,
    )
    return [
        LedgerFinding(
            f"this version does not know {row['word']} ({row['number']} rows)", row["example"], None, None, schema
        )
        for row in rows
    ]
