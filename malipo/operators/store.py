"""Operators and their sessions."""

from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx


class Operator(NamedTuple):
    id: str
    name: str
    password_hash: str | None


class Session(NamedTuple):
    id: str
    operator: Operator


async def find_operator(connection: Conn, name: str) -> Operator | None:
    row = await connection.fetchrow("SELECT id, name, password_hash FROM operators WHERE name = $1", name)
    return None if row is None else Operator(*row.values())


async def set_password(tx: Tx, operator_id: str, password_hash: str) -> None:
    await tx.execute("UPDATE operators SET password_hash = $2 WHERE id = $1", operator_id, password_hash)


async def insert(
    tx: Tx, session_id: str, operator_id: str, *, now: datetime, expires_at: datetime, address: str
) -> None:
    await tx.execute(
        "INSERT INTO operator_sessions (id, operator_id, created_at, expires_at, address) VALUES ($1, $2, $3, $4, $5)",
        session_id,
        operator_id,
        now,
        expires_at,
        address,
    )


async def get_live(connection: Conn, session_id: str, *, now: datetime) -> Session | None:
    """The session, with whose it is, unless it has ended."""
    row = await connection.fetchrow(
        """
        SELECT o.id, o.name, o.password_hash FROM operator_sessions s JOIN operators o ON o.id = s.operator_id
        WHERE s.id = $1 AND s.ended_at IS NULL AND s.expires_at > $2
        """,
        session_id,
        now,
    )
    return None if row is None else Session(session_id, Operator(*row.values()))


async def end(tx: Tx, session_id: str, *, now: datetime) -> None:
    await tx.execute("UPDATE operator_sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL", session_id, now)


async def end_all(tx: Tx, operator_id: str, *, now: datetime) -> None:
    await tx.execute(
        "UPDATE operator_sessions SET ended_at = $2 WHERE operator_id = $1 AND ended_at IS NULL", operator_id, now
    )


async def end_everybodys(tx: Tx, *, now: datetime) -> None:
    await tx.execute("UPDATE operator_sessions SET ended_at = $1 WHERE ended_at IS NULL", now)


async def count(connection: Conn) -> int:
    """How many operators there are."""
    return int(await connection.fetchval("SELECT count(*) FROM operators"))


async def insert_operator(tx: Tx, operator_id: str, name: str, *, now: datetime) -> bool:
    """Whether the name was new."""
    done = await tx.execute(
        "INSERT INTO operators (id, name, created_at) VALUES ($1, $2, $3) ON CONFLICT (name) DO NOTHING",
        operator_id,
        name,
        now,
    )
    return done == "INSERT 0 1"


async def is_operator(connection: Conn, name: str) -> bool:
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM operators WHERE name = $1)", name))


async def find_operators(connection: Conn) -> list[tuple[str, datetime]]:
    rows = await connection.fetch("SELECT name, created_at FROM operators ORDER BY name")
    return [(row["name"], row["created_at"]) for row in rows]
