"""Operators and their sessions."""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Row, Tx
from malipo.operators.roles import Role

_COLUMNS = "id, name, password_hash, role"


class Operator(NamedTuple):
    id: str
    name: str
    password_hash: str | None
    role: Role = Role.MANAGER


class OperatorSession(NamedTuple):
    id: str
    operator: Operator
    confirmed_at: datetime  # when the password was last typed, and the code where there is a second factor
    last_used_at: datetime
    has_second_factor: bool = False
    has_alerts: bool = False  # about log-ins from a new place


async def find_operator(connection: Conn, name: str) -> Operator | None:
    return _operator(await connection.fetchrow(f"SELECT {_COLUMNS} FROM operators WHERE name = $1", name))


async def find_by_id(connection: Conn, operator_id: str) -> Operator | None:
    return _operator(await connection.fetchrow(f"SELECT {_COLUMNS} FROM operators WHERE id = $1", operator_id))


async def lock_operator(tx: Tx, name: str) -> Operator | None:
    """The role does not change before the commit."""
    sql = f"SELECT {_COLUMNS} FROM operators WHERE name = $1 FOR NO KEY UPDATE"
    return _operator(await tx.fetchrow(sql, name))


def _operator(row: Row | None) -> Operator | None:
    return None if row is None else Operator(row["id"], row["name"], row["password_hash"], Role(row["role"]))


async def set_role(tx: Tx, operator_id: str, role: Role) -> None:
    await tx.execute("UPDATE operators SET role = $2 WHERE id = $1", operator_id, role)


class Addressee(NamedTuple):
    name: str
    email: str | None


async def find_address(connection: Conn, operator_id: str) -> str | None:
    found: str | None = await connection.fetchval("SELECT email FROM operators WHERE id = $1", operator_id)
    return found


async def lock_address(tx: Tx, operator_id: str) -> Addressee:
    """It does not change before the commit."""
    row = await tx.fetchrow("SELECT name, email FROM operators WHERE id = $1 FOR NO KEY UPDATE", operator_id)
    assert row is not None, "operators are never deleted"
    return Addressee(*row.values())


async def set_address(tx: Tx, operator_id: str, email: str | None) -> None:
    await tx.execute("UPDATE operators SET email = $2 WHERE id = $1", operator_id, email)


async def lock_password_hash(tx: Tx, operator_id: str) -> str | None:
    """It does not change before the commit."""
    sql = "SELECT password_hash FROM operators WHERE id = $1 FOR NO KEY UPDATE"
    found: str | None = await tx.fetchval(sql, operator_id)
    return found


async def set_password(tx: Tx, operator_id: str, password_hash: str) -> None:
    await tx.execute("UPDATE operators SET password_hash = $2 WHERE id = $1", operator_id, password_hash)


async def insert(
    tx: Tx,
    session_id: str,
    operator_id: str,
    *,
    now: datetime,
    confirmed_at: datetime,
    expires_at: datetime,
    address: str,
    user_agent: str = "",
) -> None:
    await tx.execute(
        """
        INSERT INTO operator_sessions
            (id, operator_id, created_at, last_used_at, confirmed_at, expires_at, address, user_agent)
        VALUES ($1, $2, $3, $3, $4, $5, $6, $7)
        """,
        session_id,
        operator_id,
        now,
        confirmed_at,
        expires_at,
        address,
        user_agent,
    )


async def get_live(connection: Conn, session_id: str, *, now: datetime) -> OperatorSession | None:
    """The session, with whose it is, unless it has ended."""
    row = await connection.fetchrow(
        """
        SELECT o.id, o.name, o.password_hash, o.role, s.confirmed_at, s.last_used_at,
               EXISTS (SELECT FROM second_factors f WHERE f.account_id = o.id) AS has_second_factor,
               EXISTS (SELECT FROM new_place_alerts a WHERE a.account_id = o.id AND a.read_at IS NULL) AS has_alerts
        FROM operator_sessions s JOIN operators o ON o.id = s.operator_id
        WHERE s.id = $1 AND s.ended_at IS NULL AND s.expires_at > $2
        """,
        session_id,
        now,
    )
    if row is None:
        return None
    operator = _operator(row)
    assert operator is not None
    return OperatorSession(
        session_id,
        operator,
        row["confirmed_at"],
        row["last_used_at"],
        row["has_second_factor"],
        row["has_alerts"],
    )


async def confirm(tx: Tx, session_id: str, *, now: datetime) -> None:
    """The password was typed again."""
    await tx.execute("UPDATE operator_sessions SET confirmed_at = $2, last_used_at = $2 WHERE id = $1", session_id, now)


async def touch(tx: Tx, session_id: str, *, now: datetime) -> None:
    await tx.execute("UPDATE operator_sessions SET last_used_at = $2 WHERE id = $1", session_id, now)


async def expires_at(connection: Conn, session_id: str) -> datetime | None:
    found: datetime | None = await connection.fetchval(
        "SELECT expires_at FROM operator_sessions WHERE id = $1", session_id
    )
    return found


async def end(tx: Tx, session_id: str, *, now: datetime) -> None:
    await tx.execute("UPDATE operator_sessions SET ended_at = $2 WHERE id = $1 AND ended_at IS NULL", session_id, now)


async def end_all(tx: Tx, operator_id: str, *, now: datetime) -> None:
    await tx.execute(
        "UPDATE operator_sessions SET ended_at = $2 WHERE operator_id = $1 AND ended_at IS NULL", operator_id, now
    )


@dataclass(frozen=True, slots=True)
class LiveOperatorSession:
    id: str
    created_at: datetime
    last_used_at: datetime
    address: str
    user_agent: str


async def find_sessions(connection: Conn, operator_id: str, *, now: datetime, most: int) -> list[LiveOperatorSession]:
    """The sessions of an operator that have not ended, the latest first."""
    rows = await connection.fetch(
        """
        SELECT id, created_at, last_used_at, address, user_agent FROM operator_sessions
        WHERE operator_id = $1 AND ended_at IS NULL AND expires_at > $2 ORDER BY created_at DESC, id DESC LIMIT $3
        """,
        operator_id,
        now,
        most,
    )
    return [LiveOperatorSession(*row.values()) for row in rows]


async def count_live(connection: Conn, operator_id: str, *, now: datetime) -> int:
    return int(
        await connection.fetchval(
            "SELECT count(*) FROM operator_sessions WHERE operator_id = $1 AND ended_at IS NULL AND expires_at > $2",
            operator_id,
            now,
        )
    )


async def end_session(tx: Tx, operator_id: str, session_id: str, *, now: datetime) -> bool:
    """Whether it was theirs, and had not ended."""
    done = await tx.execute(
        """
        UPDATE operator_sessions SET ended_at = $3
        WHERE operator_id = $1 AND id = $2 AND ended_at IS NULL AND expires_at > $3
        """,
        operator_id,
        session_id,
        now,
    )
    return done == "UPDATE 1"


async def end_others(tx: Tx, operator_id: str, kept_id: str, *, now: datetime) -> int:
    """End all sessions of an operator but one. Returns their number."""
    done = await tx.execute(
        """
        UPDATE operator_sessions SET ended_at = $3
        WHERE operator_id = $1 AND id <> $2 AND ended_at IS NULL AND expires_at > $3
        """,
        operator_id,
        kept_id,
        now,
    )
    return int(done.removeprefix("UPDATE "))


async def end_everybodys(tx: Tx, *, now: datetime) -> None:
    await tx.execute("UPDATE operator_sessions SET ended_at = $1 WHERE ended_at IS NULL", now)


async def count(connection: Conn) -> int:
    """The number of operators who may approve something: of an auditor nobody gets a second vote."""
    return int(await connection.fetchval("SELECT count(*) FROM operators WHERE role = $1", Role.MANAGER))


async def has_any_password(connection: Conn) -> bool:
    """Whether any operator can log in."""
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM operators WHERE password_hash IS NOT NULL)"))


async def insert_operator(tx: Tx, operator_id: str, name: str, *, now: datetime, role: Role = Role.MANAGER) -> bool:
    """Whether the name was new."""
    done = await tx.execute(
        "INSERT INTO operators (id, name, created_at, role) VALUES ($1, $2, $3, $4) ON CONFLICT (name) DO NOTHING",
        operator_id,
        name,
        now,
        role,
    )
    return done == "INSERT 0 1"


class ListedOperator(NamedTuple):
    name: str
    role: Role
    created_at: datetime
    has_password: bool
    has_second_factor: bool


async def find_operators(connection: Conn) -> list[ListedOperator]:
    rows = await connection.fetch(
        """
        SELECT name, role, created_at, password_hash IS NOT NULL AS has_password,
               EXISTS (SELECT FROM second_factors f WHERE f.account_id = o.id) AS has_second_factor
        FROM operators o ORDER BY name
        """
    )
    return [ListedOperator(*{**row, "role": Role(row["role"])}.values()) for row in rows]
