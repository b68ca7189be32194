"""The SQL of the links that stop a bank account."""

from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx


class StopLink(NamedTuple):
    merchant_id: str
    bank_account_id: str
    email: str  # to which it was sent
    name: str


async def insert(
    tx: Tx, link_hash: bytes, stop: StopLink, *, message_id: str, now: datetime, expires_at: datetime
) -> None:
    await tx.execute(
        """
        INSERT INTO stop_links (hash, merchant_id, bank_account_id, email, name, message_id, created_at, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        link_hash,
        *stop,
        message_id,
        now,
        expires_at,
    )


async def find(connection: Conn, link_hash: bytes, *, now: datetime) -> StopLink | None:
    row = await connection.fetchrow(
        """
        SELECT merchant_id, bank_account_id, email, name FROM stop_links
        WHERE hash = $1 AND used_at IS NULL AND expires_at > $2
        """,
        link_hash,
        now,
    )
    return None if row is None else StopLink(*row.values())


async def use(tx: Tx, link_hash: bytes, *, now: datetime) -> StopLink | None:
    """Use up all links to the same address for the same account. None if this one no longer works."""
    rows = await tx.fetch(
        """
        UPDATE stop_links SET used_at = $2
        WHERE used_at IS NULL AND hash IN (
            SELECT o.hash FROM stop_links l JOIN stop_links o USING (bank_account_id, email)
            WHERE l.hash = $1 AND l.used_at IS NULL AND l.expires_at > $2 AND o.used_at IS NULL
            ORDER BY o.hash FOR UPDATE OF o)
        RETURNING hash, merchant_id, bank_account_id, email, name
        """,
        link_hash,
        now,
    )
    used = {bytes(link): StopLink(*of) for link, *of in (row.values() for row in rows)}
    return used.get(link_hash)
