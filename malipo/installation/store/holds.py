"""The SQL of holds: what operators stop, all payments or a channel's payouts or collections."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx


class Hold(NamedTuple):
    channel: str
    type: str
    held_at: datetime
    held_by: str
    reason: str


def is_held(channel: str, type_: str) -> str:
    """Whether operators hold this, as a condition."""
    return f"EXISTS (SELECT FROM channel_holds h WHERE h.channel = {channel} AND h.type = {type_})"


async def set_hold(tx: Tx, *, held_by: str, reason: str) -> None:
    await tx.execute(
        "UPDATE installation SET held_at = coalesce(held_at, now()), held_by = $1, hold_reason = $2", held_by, reason
    )


async def end_hold(tx: Tx) -> bool:
    done = await tx.execute(
        "UPDATE installation SET held_at = NULL, held_by = NULL, hold_reason = NULL WHERE held_at IS NOT NULL"
    )
    return done == "UPDATE 1"


async def add_channel_holds(tx: Tx, pairs: Sequence[tuple[str, str]], *, held_by: str, reason: str) -> None:
    for channel, type_ in pairs:
        await tx.execute(
            """
            INSERT INTO channel_holds (channel, type, held_at, held_by, reason) VALUES ($1, $2, now(), $3, $4)
            ON CONFLICT (channel, type) DO UPDATE SET held_by = excluded.held_by, reason = excluded.reason
            """,
            channel,
            type_,
            held_by,
            reason,
        )


async def end_channel_holds(tx: Tx, pairs: Sequence[tuple[str, str]]) -> int:
    rows = await tx.fetch(
        """
        DELETE FROM channel_holds WHERE (channel, type) IN (SELECT * FROM unnest($1::text[], $2::text[])) RETURNING 1
        """,
        [channel for channel, _ in pairs],
        [type_ for _, type_ in pairs],
    )
    return len(rows)


async def find_channel_holds(connection: Conn) -> list[Hold]:
    rows = await connection.fetch("SELECT channel, type, held_at, held_by, reason FROM channel_holds ORDER BY 1, 2")
    return [Hold(*row.values()) for row in rows]
