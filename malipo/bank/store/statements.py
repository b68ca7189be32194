"""Statements of our bank accounts, and their lines."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from malipo.bank.statement import EntryKey, EntryNames, KnownStatement, NewLine, StoredStatement
from malipo.bank_evidence.which_count import COUNTS, MAY_COUNT, StatementState
from malipo.db import Conn, Tx

_STATEMENT = ", ".join(StoredStatement.__struct_fields__)
_ENTRY = "b.booked_on, b.entry_reference, b.entry_cents, b.nth"
_IS_ALONE = f"""
    NOT EXISTS (
        SELECT FROM bank_statement_lines o JOIN bank_statements f ON f.id = o.statement_id AND {COUNTS}
        WHERE o.line_id = s.line_id AND o.statement_id <> $1)
"""


async def insert(tx: Tx, statement: StoredStatement) -> None:
    columns = msgspec.structs.asdict(statement)
    places = ", ".join(f"${number}" for number in range(1, len(columns) + 1))
    await tx.execute(
        f"INSERT INTO bank_statements ({_STATEMENT}) VALUES ({places})",
        *({**columns, "problems": list(statement.problems)}[name] for name in StoredStatement.__struct_fields__),
    )


async def set_amount(tx: Tx, statement_id: str, *, state: StatementState, new_count: int, amount: int) -> None:
    await tx.execute(
        "UPDATE bank_statements SET state = $2, new_count = $3, amount = $4 WHERE id = $1",
        statement_id,
        state,
        new_count,
        amount,
    )


async def set_state(tx: Tx, statement_id: str, state: StatementState, *, by: str, now: datetime) -> None:
    await tx.execute(
        "UPDATE bank_statements SET state = $2, decided_by = $3, decided_at = $4 WHERE id = $1",
        statement_id,
        state,
        by,
        now,
    )


async def get(connection: Conn, statement_id: str) -> StoredStatement | None:
    row = await connection.fetchrow(f"SELECT {_STATEMENT} FROM bank_statements WHERE id = $1", statement_id)
    return None if row is None else _statement(dict(row))


async def find(connection: Conn, *, limit: int = 100) -> list[StoredStatement]:
    """The newest."""
    rows = await connection.fetch(f"SELECT {_STATEMENT} FROM bank_statements ORDER BY id DESC LIMIT $1", limit)
    return [_statement(dict(row)) for row in rows]


async def find_counting(connection: Conn, payer_account_id: str) -> list[StoredStatement]:
    """The statements of an account that count, or will when they are approved; by their days."""
    rows = await connection.fetch(
        f"""
        SELECT {_STATEMENT} FROM bank_statements f WHERE payer_account_id = $1 AND {MAY_COUNT}
        ORDER BY begins_on, ends_on, id
        """,
        payer_account_id,
    )
    return [_statement(dict(row)) for row in rows]


async def find_taken(connection: Conn) -> list[StoredStatement]:
    rows = await connection.fetch(
        f"SELECT {_STATEMENT} FROM bank_statements f WHERE {COUNTS} ORDER BY payer_account_id, begins_on, id"
    )
    return [_statement(dict(row)) for row in rows]


async def with_entries(connection: Conn, statement: StoredStatement) -> KnownStatement:
    rows = await connection.fetch(
        f"""
        SELECT {_ENTRY}, array_agg(b.key) FILTER (WHERE b.key <> '') AS keys,
               array_agg(b.message_id) FILTER (WHERE b.message_id <> '') AS messages, count(*) AS parts
        FROM bank_statement_lines s JOIN bank_lines b ON b.id = s.line_id
        WHERE s.statement_id = $1 GROUP BY {_ENTRY}
        """,
        statement.id,
    )
    entries = {
        EntryKey(*entry): EntryNames(frozenset(keys or ()), frozenset(messages or ()), parts)
        for *entry, keys, messages, parts in map(tuple, rows)
    }
    return KnownStatement(statement, entries)


async def forget_lines(tx: Tx, statement_id: str) -> None:
    """Set apart the lines that only this statement has, which does not count any more. They stay as evidence; an equal
    line of a later statement is a new line."""
    await tx.execute(
        f"""
        UPDATE bank_lines b SET nth = -1 - (b.id % 2000000000)::integer
        FROM bank_statement_lines s
        WHERE s.line_id = b.id AND s.statement_id = $1 AND b.nth >= 0 AND NOT EXISTS (
            SELECT FROM bank_statement_lines o JOIN bank_statements f ON f.id = o.statement_id AND {MAY_COUNT}
            WHERE o.line_id = b.id)
        """,
        statement_id,
    )


async def put_lines(tx: Tx, statement_id: str, payer_account_id: str, lines: Sequence[NewLine]) -> int:
    """Insert the lines of new entries, and note that the statement has these and those that are known. Returns how many
    are new."""
    rows = [
        {
            "booked_on": each.entry.booked_on,
            "entry_reference": each.entry.reference,
            "entry_cents": each.entry.cents,
            "nth": each.entry.nth,
            "part": each.part,
            "cents": each.cents,
            "reference": each.reference,
            "key": each.key,
            "message_id": each.message_id,
            "reason": each.reason,
            "is_reversal": each.is_reversal,
            "details": each.details,
        }
        for each in lines
    ]
    return int(
        await tx.fetchval(
            f"""
            WITH n AS MATERIALIZED (
                SELECT * FROM json_to_recordset($3) AS n (
                    booked_on date, entry_reference text, entry_cents bigint, nth integer, part integer, cents bigint,
                    reference text, key text, message_id text, reason text, is_reversal boolean, details text)
            ), known AS MATERIALIZED (
                SELECT b.* FROM bank_lines b WHERE b.payer_account_id = $2 AND ({_ENTRY}) IN (
                    SELECT booked_on, entry_reference, entry_cents, nth FROM n)
            ), added AS (
                INSERT INTO bank_lines (payer_account_id, booked_on, entry_reference, entry_cents, nth, part, cents,
                                        reference, key, message_id, reason, is_reversal, details)
                SELECT $2, n.* FROM n WHERE NOT EXISTS (
                    SELECT FROM known b WHERE ({_ENTRY}) = (n.booked_on, n.entry_reference, n.entry_cents, n.nth))
                RETURNING id
            ), noted AS (
                INSERT INTO bank_statement_lines (statement_id, line_id)
                SELECT $1, id FROM known UNION ALL SELECT $1, id FROM added
            )
            SELECT count(*) FROM added
            """,
            statement_id,
            payer_account_id,
            msgspec.json.encode(rows).decode(),
        )
    )


async def count_effects_alone(connection: Conn, statement_id: str) -> int:
    """How many lines that only this statement has have ended a settlement, or were booked by operators."""
    return int(
        await connection.fetchval(
            f"""
            SELECT count(DISTINCT m.line_id) FROM bank_statement_lines s JOIN bank_line_matches m USING (line_id)
            WHERE s.statement_id = $1 AND m.meaning <> 'booking' AND {_IS_ALONE}
            """,
            statement_id,
        )
    )


async def delete_bookings_alone(tx: Tx, statement_id: str) -> None:
    """The bookings of lines that only this statement has have no line again."""
    await tx.execute(
        f"""
        DELETE FROM bank_line_matches m USING bank_statement_lines s
        WHERE s.line_id = m.line_id AND s.statement_id = $1 AND m.meaning = 'booking' AND {_IS_ALONE}
        """,
        statement_id,
    )


def _statement(columns: dict[str, Any]) -> StoredStatement:
    return msgspec.convert({**columns, "problems": tuple(columns["problems"])}, StoredStatement)
