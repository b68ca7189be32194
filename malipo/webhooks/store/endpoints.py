"""SQL of webhook endpoints."""

from collections.abc import Collection, Sequence
from datetime import datetime

from malipo.db import Conn, Row, Tx
from malipo.webhooks.endpoint import Endpoint

_COLUMNS = """
    id, merchant_id, url, events, is_active, secret, created_at, next_secret, rotation_ends_at, failing_since,
    disabled_at, disabled_reason
"""


def from_row(row: Row) -> Endpoint:
    return Endpoint(**{name: row[name] for name in Endpoint.__slots__})


async def lock_all(tx: Tx, merchant_id: str) -> int:
    """Lock the merchant's endpoints, and return their number. A transaction that adds one waits for this commit."""
    await tx.execute("SELECT FROM merchants WHERE id = $1 FOR UPDATE", merchant_id)
    count = await tx.fetchval(
        "SELECT count(*) FROM webhook_endpoints WHERE merchant_id = $1 AND deleted_at IS NULL", merchant_id
    )
    return int(count)


async def insert(tx: Tx, endpoint: Endpoint) -> None:
    await tx.execute(
        """
        INSERT INTO webhook_endpoints (id, merchant_id, url, events, secret, created_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        endpoint.id,
        endpoint.merchant_id,
        endpoint.url,
        endpoint.events,
        endpoint.secret,
        endpoint.created_at,
    )


async def find_all(connection: Conn, merchant_id: str) -> list[Endpoint]:
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM webhook_endpoints WHERE merchant_id = $1 AND deleted_at IS NULL ORDER BY id",
        merchant_id,
    )
    return [from_row(row) for row in rows]


async def get(connection: Conn, merchant_id: str, id_: str, *, is_locked: bool = False) -> Endpoint | None:
    row = await connection.fetchrow(
        f"""
        SELECT {_COLUMNS} FROM webhook_endpoints WHERE merchant_id = $1 AND id = $2 AND deleted_at IS NULL
        {"FOR UPDATE" if is_locked else ""}
        """,
        merchant_id,
        id_,
    )
    return from_row(row) if row else None


async def find_active(connection: Conn, merchant_ids: Collection[str]) -> list[Endpoint]:
    """The enabled endpoints of these merchants."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM webhook_endpoints
        WHERE merchant_id = ANY($1::text[]) AND is_active AND deleted_at IS NULL ORDER BY id
        """,
        list(merchant_ids),
    )
    return [from_row(row) for row in rows]


async def find_active_by_id(connection: Conn, ids: Collection[str]) -> list[Endpoint]:
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM webhook_endpoints WHERE id = ANY($1::text[]) AND is_active AND deleted_at IS NULL",
        list(ids),
    )
    return [from_row(row) for row in rows]


async def update(tx: Tx, endpoint: Endpoint) -> None:
    """Write a change by the merchant. The caller has locked the endpoint."""
    await tx.execute(
        """
        UPDATE webhook_endpoints SET url = $2, events = $3, is_active = $4, secret = $5, next_secret = $6,
               rotation_ends_at = $7, failing_since = $8, disabled_at = $9, disabled_reason = $10
        WHERE id = $1
        """,
        endpoint.id,
        endpoint.url,
        endpoint.events,
        endpoint.is_active,
        endpoint.secret,
        endpoint.next_secret,
        endpoint.rotation_ends_at,
        endpoint.failing_since,
        endpoint.disabled_at,
        endpoint.disabled_reason,
    )


async def delete(tx: Tx, id_: str, *, now: datetime) -> None:
    """Delete an endpoint and its secrets. Its deliveries stay until they are pruned."""
    await tx.execute(
        """
        UPDATE webhook_endpoints
        SET deleted_at = $2, is_active = false, secret = '', next_secret = NULL, rotation_ends_at = NULL
        WHERE id = $1
        """,
        id_,
        now,
    )


async def note_success(tx: Tx, ids: Sequence[str]) -> None:
    """Clear the failing time of endpoints. Almost always there is nothing to write."""
    await tx.execute(
        """
        UPDATE webhook_endpoints SET failing_since = NULL WHERE id IN (
            SELECT id FROM webhook_endpoints WHERE id = ANY($1::text[]) AND failing_since IS NOT NULL
            ORDER BY id FOR UPDATE
        )
        """,
        ids,
    )


async def note_failure(tx: Tx, ids: Sequence[str], *, now: datetime) -> dict[str, datetime]:
    """Note a failure of endpoints. Returns since when each of them has been failing."""
    await tx.execute(
        """
        UPDATE webhook_endpoints SET failing_since = $2 WHERE id IN (
            SELECT id FROM webhook_endpoints WHERE id = ANY($1::text[]) AND failing_since IS NULL ORDER BY id FOR UPDATE
        )
        """,
        ids,
        now,
    )
    rows = await tx.fetch("SELECT id, failing_since FROM webhook_endpoints WHERE id = ANY($1::text[])", ids)
    return {row["id"]: row["failing_since"] for row in rows}


async def disable(tx: Tx, id_: str, reason: str, *, now: datetime) -> tuple[str, str] | None:
    """Disable an endpoint. Returns the id of its merchant and its address; None if it was disabled already."""
    row = await tx.fetchrow(
        """
        UPDATE webhook_endpoints SET is_active = false, disabled_at = $3, disabled_reason = $2
        WHERE id = $1 AND is_active RETURNING merchant_id, url
        """,
        id_,
        reason,
        now,
    )
    return None if row is None else (row["merchant_id"], row["url"])


async def find_encrypted(tx: Tx) -> list[tuple[str, bytes, bytes | None]]:
    """Lock all endpoints with a secret, and return their encrypted secrets."""
    rows = await tx.fetch(
        "SELECT id, secret, next_secret FROM webhook_endpoints WHERE deleted_at IS NULL ORDER BY id FOR UPDATE"
    )
    return [(row["id"], row["secret"], row["next_secret"]) for row in rows]


async def reencrypt(tx: Tx, id_: str, secret: bytes, next_secret: bytes | None) -> None:
    await tx.execute(
        "UPDATE webhook_endpoints SET secret = $2, next_secret = $3 WHERE id = $1", id_, secret, next_secret
    )
