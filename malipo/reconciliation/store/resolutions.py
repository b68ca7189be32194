"""The SQL of what operators decide about exceptions."""

from datetime import datetime

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.reconciliation.exception import Resolution

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(dict[str, str]).decode

_COLUMNS = """
    id, exception_id, action, terms, reason, amount, requested_by, requested_at, decided_by, decided_at, is_approved,
    booking_id, undone_by
"""


async def insert(tx: Tx, resolution: Resolution) -> None:
    await tx.execute(
        """
        INSERT INTO exception_resolutions (id, exception_id, action, terms, reason, amount, requested_by, requested_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        resolution.id,
        resolution.exception_id,
        resolution.action,
        _encode(resolution.terms).decode(),
        resolution.reason,
        resolution.amount,
        resolution.requested_by,
        resolution.requested_at,
    )


async def end(
    tx: Tx, resolution_id: str, *, by: str, is_approved: bool, booking_id: str | None = None, now: datetime
) -> None:
    await tx.execute(
        """
        UPDATE exception_resolutions SET decided_by = $2, decided_at = $3, is_approved = $4, booking_id = $5
        WHERE id = $1
        """,
        resolution_id,
        by,
        now,
        is_approved,
        booking_id,
    )


async def set_undone(tx: Tx, resolution_id: str, *, by: str) -> None:
    await tx.execute("UPDATE exception_resolutions SET undone_by = $2 WHERE id = $1", resolution_id, by)


async def find(connection: Conn, exception_id: str) -> list[Resolution]:
    """All that was ever proposed about it, the oldest first."""
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM exception_resolutions WHERE exception_id = $1 ORDER BY id", exception_id
    )
    return [_resolution(row) for row in rows]


async def find_open(connection: Conn) -> list[Resolution]:
    """Those that wait for another operator, the oldest first."""
    rows = await connection.fetch(f"SELECT {_COLUMNS} FROM exception_resolutions WHERE decided_at IS NULL ORDER BY id")
    return [_resolution(row) for row in rows]


def _resolution(row: Row) -> Resolution:
    return msgspec.convert(dict(row) | {"terms": _decode(row["terms"])}, Resolution)
