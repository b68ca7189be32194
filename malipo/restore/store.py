"""The SQL of releases: proposed by one operator, approved by another, or rejected."""

from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx


class Release(NamedTuple):
    id: str
    epoch: int
    channel: str | None
    type: str | None
    evidence: str
    requested_by: str
    requested_at: datetime


async def find_release(tx: Tx, epoch: int, channel: str | None, type_: str | None) -> Release | None:
    """What is proposed, and not approved yet."""
    row = await tx.fetchrow(
        """
        SELECT id, epoch, channel, type, evidence, requested_by, requested_at FROM restore_releases
        WHERE epoch = $1 AND channel IS NOT DISTINCT FROM $2 AND type IS NOT DISTINCT FROM $3 AND approved_at IS NULL
        FOR UPDATE
        """,
        epoch,
        channel,
        type_,
    )
    return None if row is None else Release(*row.values())


async def insert_release(tx: Tx, release: Release) -> None:
    await tx.execute(
        """
        INSERT INTO restore_releases (id, epoch, channel, type, evidence, requested_by, requested_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        """,
        *release,
    )


async def approve_release(
    tx: Tx, release_id: str, *, approved_by: str, is_single_operator: bool, now: datetime
) -> None:
    await tx.execute(
        "UPDATE restore_releases SET approved_by = $2, is_single_operator = $3, approved_at = $4 WHERE id = $1",
        release_id,
        approved_by,
        is_single_operator,
        now,
    )


async def release_channel(tx: Tx, epoch: int, channel: str, type_: str) -> None:
    await tx.execute(
        "INSERT INTO channel_releases (epoch, channel, type) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        epoch,
        channel,
        type_,
    )


async def find_proposed_releases(connection: Conn, epoch: int) -> list[Release]:
    """All that is proposed in an epoch, and not approved yet."""
    rows = await connection.fetch(
        """
        SELECT id, epoch, channel, type, evidence, requested_by, requested_at FROM restore_releases
        WHERE epoch = $1 AND approved_at IS NULL
        """,
        epoch,
    )
    return [Release(*row.values()) for row in rows]


async def find_released_channels(connection: Conn, epoch: int) -> set[tuple[str, str]]:
    rows = await connection.fetch("SELECT channel, type FROM channel_releases WHERE epoch = $1", epoch)
    return {(row["channel"], row["type"]) for row in rows}


async def end_proposed_release(tx: Tx, release_id: str) -> None:
    """Delete a rejected proposal. The audit log keeps what was proposed, by whom, and who rejected it."""
    await tx.execute("DELETE FROM restore_releases WHERE id = $1 AND approved_at IS NULL", release_id)
