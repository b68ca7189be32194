"""The SQL of the audit log. Entries are appended, never changed."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from malipo import ids
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Row, Tx

_encode = msgspec.json.Encoder(enc_hook=str).encode
_decode = msgspec.json.Decoder().decode


@dataclass(frozen=True, slots=True)
class Entry:
    id: str
    created_at: datetime
    actor: str
    address: str
    action: str
    merchant_id: str | None
    details: Mapping[str, Any]


async def append(
    tx: Tx, actor: Actor, action: str, *, now: datetime, merchant_id: str | None = None, **details: object
) -> None:
    """Append an entry, in the commit that does what it says. Secrets are never handed to this function."""
    await tx.execute(
        """
        INSERT INTO audit_log (id, created_at, actor, address, action, merchant_id, details)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        ids.mint("aud_", now),
        now,
        actor.name,
        actor.address,
        action,
        merchant_id,
        _encode(details).decode(),
    )


async def find(connection: Conn, *, merchant_id: str | None = None, limit: int) -> list[Entry]:
    """The latest entries, newest first."""
    rows = await connection.fetch(
        """
        SELECT id, created_at, actor, address, action, merchant_id, details FROM audit_log
        WHERE $1::text IS NULL OR merchant_id = $1 ORDER BY id DESC LIMIT $2
        """,
        merchant_id,
        limit,
    )
    return [_entry(row) for row in rows]


async def find_of_merchant(
    connection: Conn, merchant_id: str, *, kinds: Collection[str], before: str | None, limit: int
) -> list[Entry]:
    """What was done at a merchant's, of these kinds, the latest first; `before` is the last one that was seen."""
    rows = await connection.fetch(
        """
        SELECT id, created_at, actor, address, action, merchant_id, details FROM audit_log
        WHERE merchant_id = $1 AND action = ANY($2::text[]) AND ($3::text IS NULL OR id < $3)
        ORDER BY id DESC LIMIT $4
        """,
        merchant_id,
        list(kinds),
        before,
        limit,
    )
    return [_entry(row) for row in rows]


def _entry(row: Row) -> Entry:
    return Entry(
        row["id"],
        row["created_at"],
        row["actor"],
        row["address"],
        row["action"],
        row["merchant_id"],
        _decode(row["details"]),
    )
