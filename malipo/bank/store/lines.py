"""Lines of bank statements: which have no place yet, what each is, and the exceptions."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import NamedTuple

import msgspec

from malipo import clock
from malipo.bank.line_decision import BankExceptionKind, BankLine, BookingFact
from malipo.bank_evidence.which_count import COUNTS
from malipo.db import Conn, Tx

_LINE = """
    b.id, b.payer_account_id, b.booked_on, b.cents, b.reference, b.key, b.message_id, b.reason, b.is_reversal, b.details
"""
# A line counts if a statement that counts has it. With a statement's id, as if that one counted already.
LINE_COUNTS = f"""
    EXISTS (SELECT FROM bank_statement_lines s JOIN bank_statements f ON f.id = s.statement_id
            WHERE s.line_id = b.id AND ({COUNTS} OR f.id = $1))
"""
UNMATCHED = "NOT EXISTS (SELECT FROM bank_line_matches m WHERE m.line_id = b.id)"


class Match(msgspec.Struct, frozen=True, kw_only=True):
    line_id: int
    meaning: str
    subject_id: str
    merchant_id: str | None
    amount: int  # in cents


class BankException(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    kind: BankExceptionKind
    found_at: datetime
    line: BankLine
    resolved_at: datetime | None = None
    resolved_by: str | None = None
    how: str | None = None
    owner: str | None = None  # the operator who looks after it
    due_on: date | None = None


class ShownLine(NamedTuple):
    """A line as operators are shown it."""

    id: int
    payer_account_id: str
    booked_on: date
    cents: int
    reference: str
    key: str
    details: str
    meaning: str | None
    subjects: list[str]
    exception: str | None


async def find_unmatched(connection: Conn, *, statement_id: str = "") -> list[BankLine]:
    rows = await connection.fetch(
        f"SELECT {_LINE} FROM bank_lines b WHERE {UNMATCHED} AND {LINE_COUNTS} ORDER BY b.booked_on, b.id", statement_id
    )
    return [msgspec.convert(dict(row), BankLine) for row in rows]


async def ids_of_statement(connection: Conn, statement_id: str) -> set[int]:
    rows = await connection.fetch("SELECT line_id FROM bank_statement_lines WHERE statement_id = $1", statement_id)
    return {row["line_id"] for row in rows}


async def insert_matches(tx: Tx, matches: Sequence[Match], *, by: str, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO bank_line_matches (line_id, meaning, subject_id, merchant_id, amount, matched_by, matched_at)
        SELECT m.*, $2, $3 FROM json_to_recordset($1) AS m (
            line_id bigint, meaning text, subject_id text, merchant_id text, amount bigint)
        """,
        msgspec.json.encode(matches).decode(),
        by,
        now,
    )


async def delete_house_match(tx: Tx, line_id: int) -> None:
    """The line has no place again: what was booked of it is undone."""
    await tx.execute("DELETE FROM bank_line_matches WHERE line_id = $1 AND meaning = 'house'", line_id)


async def find_payers_of_debits(connection: Conn, settlement_ids: Sequence[str]) -> dict[str, str]:
    """From which of our accounts settlements were paid, by the lines that they have."""
    rows = await connection.fetch(
        """
        SELECT m.subject_id, b.payer_account_id FROM bank_line_matches m JOIN bank_lines b ON b.id = m.line_id
        WHERE m.subject_id = ANY($1) AND m.meaning IN ('debit', 'sum')
        """,
        list(settlement_ids),
    )
    return {row["subject_id"]: row["payer_account_id"] for row in rows}


async def find_bookings(connection: Conn, *, after: date | None = None) -> list[BookingFact]:
    """Bookings that moved the bank, that are not undone, and that no line has: all, or those that were made after a
    day. Bookings of a line have theirs, and an opening balance is of the time before the first line."""
    rows = await connection.fetch(
        f"""
        SELECT id, reference, cents FROM (
            SELECT id, bank_reference AS reference, CASE kind WHEN 'top_up' THEN amount ELSE -amount END * 100 AS cents,
                   created_at AS at
            FROM bookings WHERE kind IN ('top_up', 'settlement')
            UNION ALL
            SELECT id, reference, CASE source WHEN 'bank' THEN amount ELSE -amount END * 100, booked_at
            FROM house_bookings h
            WHERE 'bank' IN (source, target) AND kind NOT IN ('undo', 'bank_line', 'rounding', 'opening_balance')
              AND NOT EXISTS (SELECT FROM house_bookings u WHERE u.reverses = h.id)
        ) AS k
        WHERE NOT EXISTS (SELECT FROM bank_line_matches m WHERE m.subject_id = k.id)
          AND ($1::date IS NULL OR {clock.day_sql("at")} > $1)
        ORDER BY id
        """,
        after,
    )
    return [msgspec.convert(dict(row), BookingFact) for row in rows]


async def put_exceptions(tx: Tx, found: Sequence[tuple[str, int, BankExceptionKind]], *, now: datetime) -> None:
    """Open an exception for each line, or open it again. The id stays the same."""
    await tx.execute(
        """
        INSERT INTO bank_exceptions (id, line_id, kind, found_at)
        SELECT e.id, e.line_id, e.kind, $2 FROM json_to_recordset($1) AS e (id text, line_id bigint, kind text)
        ON CONFLICT (line_id) DO UPDATE SET kind = excluded.kind, resolved_at = NULL, resolved_by = NULL, how = NULL
        WHERE bank_exceptions.kind <> excluded.kind OR bank_exceptions.resolved_at IS NOT NULL
        """,
        msgspec.json.encode([{"id": id_, "line_id": line_id, "kind": kind} for id_, line_id, kind in found]).decode(),
        now,
    )


async def resolve(tx: Tx, line_ids: Sequence[int], how: str, *, by: str, now: datetime) -> None:
    await tx.execute(
        """
        UPDATE bank_exceptions SET resolved_at = $3, resolved_by = $4, how = $2
        WHERE line_id = ANY($1) AND resolved_at IS NULL
        """,
        list(line_ids),
        how,
        now,
        by,
    )


async def resolve_uncounted(tx: Tx, *, by: str, now: datetime) -> None:
    """Resolve the exceptions of lines that are in no statement which counts."""
    await tx.execute(
        f"""
        UPDATE bank_exceptions e SET resolved_at = $3, resolved_by = $2, how = 'withdrawn' FROM bank_lines b
        WHERE b.id = e.line_id AND e.resolved_at IS NULL AND NOT {LINE_COUNTS}
        """,
        "",
        by,
        now,
    )


async def get_exception(connection: Conn, exception_id: str) -> BankException | None:
    found = await _find_exceptions(connection, "e.id = $1", exception_id)
    return found[0] if found else None


async def find_open_exceptions(connection: Conn) -> list[BankException]:
    return await _find_exceptions(connection, "e.resolved_at IS NULL")


async def find_open_by_ids(connection: Conn, exception_ids: Sequence[str]) -> list[BankException]:
    return await _find_exceptions(connection, "e.resolved_at IS NULL AND e.id = ANY($1)", list(exception_ids))


async def _find_exceptions(connection: Conn, condition: str, *values: object) -> list[BankException]:
    rows = await connection.fetch(
        f"""
        SELECT e.id AS exception_id, e.kind, e.found_at, e.resolved_at, e.resolved_by, e.how, a.owner, a.due_on, {_LINE}
        FROM bank_exceptions e JOIN bank_lines b ON b.id = e.line_id LEFT JOIN assignments a ON a.subject = e.id
        WHERE {condition} ORDER BY e.id
        """,
        *values,
    )
    return [
        BankException(
            id=row["exception_id"],
            kind=BankExceptionKind(row["kind"]),
            found_at=row["found_at"],
            line=msgspec.convert({name: row[name] for name in BankLine.__struct_fields__}, BankLine),
            resolved_at=row["resolved_at"],
            resolved_by=row["resolved_by"],
            how=row["how"],
            owner=row["owner"],
            due_on=row["due_on"],
        )
        for row in rows
    ]


_SHOWN = """
    SELECT b.id, b.payer_account_id, b.booked_on, b.cents, b.reference, b.key, b.details,
           (SELECT min(m.meaning) FROM bank_line_matches m WHERE m.line_id = b.id) AS meaning,
           ARRAY(SELECT m.subject_id FROM bank_line_matches m WHERE m.line_id = b.id ORDER BY 1) AS subjects,
           (SELECT e.id FROM bank_exceptions e WHERE e.line_id = b.id AND e.resolved_at IS NULL) AS exception
    FROM bank_lines b
"""


async def find_shown(connection: Conn, *, limit: int) -> list[ShownLine]:
    """The newest lines that count, with what they are."""
    rows = await connection.fetch(
        f"{_SHOWN} WHERE {LINE_COUNTS} ORDER BY b.booked_on DESC, b.id DESC LIMIT $2", "", limit
    )
    return [ShownLine(**dict(row)) for row in rows]


async def find_of_statement(connection: Conn, statement_id: str, *, after: int, limit: int) -> list[ShownLine]:
    """The lines of a statement, whether it counts or not: a part of them, in the order of their ids."""
    rows = await connection.fetch(
        f"""
        {_SHOWN} JOIN bank_statement_lines s ON s.line_id = b.id
        WHERE s.statement_id = $1 AND b.id > $2 ORDER BY b.id LIMIT $3
        """,
        statement_id,
        after,
        limit,
    )
    return [ShownLine(**dict(row)) for row in rows]


async def find_placeless(connection: Conn) -> list[int]:
    """Lines that count and that are neither matched nor an open exception: none, when matching has run."""
    rows = await connection.fetch(
        f"""
        SELECT b.id FROM bank_lines b WHERE {UNMATCHED} AND {LINE_COUNTS}
          AND NOT EXISTS (SELECT FROM bank_exceptions e WHERE e.line_id = b.id AND e.resolved_at IS NULL)
        ORDER BY 1
        """,
        "",
    )
    return [row["id"] for row in rows]
