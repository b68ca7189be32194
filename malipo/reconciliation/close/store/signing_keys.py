"""The SQL of the keys that sign closes."""

from datetime import datetime

from malipo.db import Conn, Tx


async def find_all(connection: Conn) -> list[tuple[str, bytes]]:
    """Ids and encrypted secrets, the oldest first."""
    rows = await connection.fetch("SELECT id, secret FROM close_signing_keys ORDER BY id")
    return [(row["id"], row["secret"]) for row in rows]


async def find_public(connection: Conn) -> dict[str, bytes]:
    """The public keys by their ids, the oldest first."""
    rows = await connection.fetch("SELECT id, public_key FROM close_signing_keys ORDER BY id")
    return {row["id"]: row["public_key"] for row in rows}


async def insert(tx: Tx, key_id: str, secret: bytes, public_key: bytes, *, now: datetime) -> None:
    await tx.execute("INSERT INTO close_signing_keys VALUES ($1, $2, $3, $4)", key_id, secret, public_key, now)


async def set_secret(tx: Tx, key_id: str, secret: bytes) -> None:
    await tx.execute("UPDATE close_signing_keys SET secret = $2 WHERE id = $1", key_id, secret)
