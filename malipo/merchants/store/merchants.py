"""Merchants."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from malipo.db import Conn, Tx


@dataclass(frozen=True, slots=True)
class Merchant:
    id: str
    name: str
    is_active: bool
    created_at: datetime


async def insert(tx: Tx, merchant_id: str, name: str, *, now: datetime) -> None:
    await tx.execute("INSERT INTO merchants (id, name, created_at) VALUES ($1, $2, $3)", merchant_id, name, now)


async def exists(connection: Conn, merchant_id: str) -> bool:
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM merchants WHERE id = $1)", merchant_id))


async def lock(tx: Tx, merchant_id: str) -> None:
    """Changes of a merchant's terms run one after the other; payments go on meanwhile."""
    await tx.execute("SELECT FROM merchants WHERE id = $1 FOR NO KEY UPDATE", merchant_id)


async def is_active(connection: Conn, merchant_id: str) -> bool:
    return bool(await connection.fetchval("SELECT is_active FROM merchants WHERE id = $1", merchant_id))


async def name_of(connection: Conn, merchant_id: str) -> str:
    return str(await connection.fetchval("SELECT name FROM merchants WHERE id = $1", merchant_id))


async def find_names(connection: Conn, merchant_ids: Iterable[str | None] | None = None) -> dict[str, str]:
    """The names of these merchants, by id; without ids, of all. None among them counts as nobody."""
    if merchant_ids is None:
        rows = await connection.fetch("SELECT id, name FROM merchants")
    else:
        rows = await connection.fetch(
            "SELECT id, name FROM merchants WHERE id = ANY($1::text[])", list({*merchant_ids} - {None})
        )
    return {row["id"]: row["name"] for row in rows}


async def has_had_money(connection: Conn, merchant_id: str) -> bool:
    """Whether money was ever in its wallet, or may come into it, because it has a payment."""
    return bool(
        await connection.fetchval(
            """
            SELECT EXISTS (SELECT FROM wallets WHERE merchant_id = $1 AND statement_lines > 0)
                OR EXISTS (SELECT FROM transactions WHERE merchant_id = $1)
            """,
            merchant_id,
        )
    )


async def find_by_name(connection: Conn, name: str) -> list[str]:
    rows = await connection.fetch("SELECT id FROM merchants WHERE name = $1 ORDER BY id", name)
    return [row["id"] for row in rows]


async def set_active(tx: Tx, merchant_id: str, *, is_active: bool) -> bool:
    done = await tx.execute("UPDATE merchants SET is_active = $2 WHERE id = $1", merchant_id, is_active)
    return done == "UPDATE 1"


async def requires_second_factor(connection: Conn, merchant_id: str) -> bool:
    return bool(await connection.fetchval("SELECT requires_second_factor FROM merchants WHERE id = $1", merchant_id))


async def set_second_factor_required(tx: Tx, merchant_id: str, *, is_required: bool) -> bool:
    """Set the requirement. Returns whether that is a change."""
    done = await tx.execute(
        "UPDATE merchants SET requires_second_factor = $2 WHERE id = $1 AND requires_second_factor <> $2",
        merchant_id,
        is_required,
    )
    return done == "UPDATE 1"


async def requires_idempotency_key(connection: Conn, merchant_id: str) -> bool:
    return bool(await connection.fetchval("SELECT requires_idempotency_key FROM merchants WHERE id = $1", merchant_id))


async def set_idempotency_key_required(tx: Tx, merchant_id: str, *, is_required: bool) -> bool:
    """Set the requirement. Returns whether that is a change."""
    done = await tx.execute(
        "UPDATE merchants SET requires_idempotency_key = $2 WHERE id = $1 AND requires_idempotency_key <> $2",
        merchant_id,
        is_required,
    )
    return done == "UPDATE 1"


async def find(connection: Conn, merchant_id: str) -> Merchant | None:
    row = await connection.fetchrow("SELECT id, name, is_active, created_at FROM merchants WHERE id = $1", merchant_id)
    return None if row is None else Merchant(*row.values())


async def search(connection: Conn, text: str, *, limit: int) -> list[Merchant]:
    """By a part of the name, by the id, or by a part of the email of one of its people; the first ones by name."""
    rows = await connection.fetch(
        """
        SELECT id, name, is_active, created_at FROM merchants m
        WHERE $1 = '' OR strpos(lower(name), lower($1)) > 0 OR id = $1
            OR EXISTS (SELECT FROM people p WHERE p.merchant_id = m.id AND strpos(p.email, lower($1)) > 0)
        ORDER BY lower(name), id LIMIT $2
        """,
        text,
        limit,
    )
    return [Merchant(*row.values()) for row in rows]


async def find_all(connection: Conn) -> list[Merchant]:
    rows = await connection.fetch("SELECT id, name, is_active, created_at FROM merchants ORDER BY id")
    return [Merchant(*row.values()) for row in rows]
