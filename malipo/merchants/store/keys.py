"""API keys."""

from collections.abc import Collection, Sequence
from datetime import datetime

from malipo.db import Conn, Row, Tx
from malipo.merchants.keys import Environment, KnownKey, NewKey, StoredKey, hash_of

_COLUMNS = """
    id, merchant_id, name, prefix, last4, environment, permissions, ip_allowlist, created_at, expires_at, last_used_at
"""


async def insert(tx: Tx, key: NewKey) -> None:
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


async def find_by_hashes(tx: Tx, hashes: Collection[bytes]) -> dict[bytes, KnownKey]:
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


async def find_all(connection: Conn, merchant_id: str) -> list[StoredKey]:
    """Every key of a merchant that was not revoked, oldest first."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM api_keys WHERE merchant_id = $1 AND revoked_at IS NULL ORDER BY id", merchant_id
    )
    return [_stored(row) for row in rows]


async def lock_all(tx: Tx, merchant_id: str) -> int:
    """How many keys the merchant has. Whoever makes another one waits until we commit."""
    await tx.execute("SELECT FROM merchants WHERE id = $1 FOR UPDATE", merchant_id)
    count = await tx.fetchval(
        "SELECT count(*) FROM api_keys WHERE merchant_id = $1 AND revoked_at IS NULL", merchant_id
    )
    return int(count)


async def revoke(tx: Tx, merchant_id: str, key_id: str, *, now: datetime) -> bool:
    """Whether there was such a key, and it was good until now."""
    done = await tx.execute(
        "UPDATE api_keys SET revoked_at = $3 WHERE merchant_id = $1 AND id = $2 AND revoked_at IS NULL",
        merchant_id,
        key_id,
        now,
    )
    return done == "UPDATE 1"


def _stored(row: Row) -> StoredKey:
    return StoredKey(
        id=row["id"],
        merchant_id=row["merchant_id"],
        name=row["name"],
        prefix=row["prefix"],
        last4=row["last4"],
        environment=Environment(row["environment"]),
        permissions=tuple(row["permissions"]),
        ip_allowlist=tuple(row["ip_allowlist"]),
        created_at=row["created_at"],
        expires_at=row["expires_at"],
        last_used_at=row["last_used_at"],
    )


async def touch(tx: Tx, key_ids: Sequence[str], *, now: datetime) -> None:
    """Note that these keys were used. Whoever finds a row taken leaves it: the other notes the same moment."""
    await tx.execute(
        """
        UPDATE api_keys SET last_used_at = $2
        WHERE id IN (SELECT id FROM api_keys WHERE id = ANY($1) ORDER BY id FOR UPDATE SKIP LOCKED)
        """,
        key_ids,
        now,
    )
