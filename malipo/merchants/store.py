"""The merchants' SQL."""

from collections.abc import Collection, Sequence
from datetime import datetime

from malipo.db import Conn, Tx
from malipo.merchants.keys import KnownKey, NewKey, hash_of


async def insert(tx: Tx, merchant_id: str, name: str, *, now: datetime) -> None:
    await tx.execute("INSERT INTO merchants (id, name, created_at) VALUES ($1, $2, $3)", merchant_id, name, now)


async def exists(connection: Conn, merchant_id: str) -> bool:
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM merchants WHERE id = $1)", merchant_id))


async def find_by_name(connection: Conn, name: str) -> list[str]:
    rows = await connection.fetch("SELECT id FROM merchants WHERE name = $1 ORDER BY id", name)
    return [row["id"] for row in rows]


async def set_active(tx: Tx, merchant_id: str, *, is_active: bool) -> bool:
    done = await tx.execute("UPDATE merchants SET is_active = $2 WHERE id = $1", merchant_id, is_active)
    return done == "UPDATE 1"


async def insert_key(tx: Tx, key: NewKey) -> None:
    await tx.execute(
        """
        INSERT INTO api_keys (id, merchant_id, name, hash, prefix, last4, environment, permissions, ip_allowlist,
                              created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
        """,
        key.id,
        key.merchant_id,
        key.name,
        hash_of(key.text.encode()),
        key.prefix,
        key.last4,
        key.environment,
        list(key.permissions),
        list(key.ip_allowlist),
        key.created_at,
        key.expires_at,
    )


async def find_keys(tx: Tx, hashes: Collection[bytes]) -> dict[bytes, KnownKey]:
    """The keys that have these hashes, with what their merchants are."""
    rows = await tx.fetch(
        """
        SELECT k.hash, k.id, k.merchant_id, m.is_active, k.permissions, k.ip_allowlist, k.expires_at, k.revoked_at,
               k.last_used_at
        FROM api_keys k JOIN merchants m ON m.id = k.merchant_id
        WHERE k.hash = ANY($1)
        """,
        list(hashes),
    )
    return {
        row["hash"]: KnownKey(
            id=row["id"],
            merchant_id=row["merchant_id"],
            merchant_is_active=row["is_active"],
            permissions=frozenset(row["permissions"]),
            ip_allowlist=row["ip_allowlist"],
            expires_at=row["expires_at"],
            revoked_at=row["revoked_at"],
            last_used_at=row["last_used_at"],
        )
        for row in rows
    }


async def touch_keys(tx: Tx, key_ids: Sequence[str], *, now: datetime) -> None:
    """Note that these keys were used. Whoever finds a row taken leaves it: the other notes the same moment."""
    await tx.execute(
        """
        UPDATE api_keys SET last_used_at = $2
        WHERE id IN (SELECT id FROM api_keys WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED)
        """,
        key_ids,
        now,
    )
