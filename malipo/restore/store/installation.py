"""The SQL of the installation's row: its epoch and fence, the operators' holds and releases; and where feeds ended when
the database was restored."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.db.schema import FINGERPRINT
from malipo.restore.installation import WEEK_AFTER, Installation, IntakeClosed, NotComparedYet
from malipo.restore.store import send_counts

_COLUMNS = """
    id, key_secret, epoch, epoch_began_at, fenced_at, fence_reason, held_at, held_by, hold_reason, refund_keys_since
"""

# Conditions and values for the SQL of payments, so that only this file reads the installation's columns.
TAKES_NO_PAYMENTS = "EXISTS (SELECT FROM installation WHERE fenced_at IS NOT NULL OR held_at IS NOT NULL)"
IS_FENCED = "EXISTS (SELECT FROM installation WHERE fenced_at IS NOT NULL)"
EPOCH = "(SELECT epoch FROM installation)"
EPOCH_BEGAN_AT = "(SELECT epoch_began_at FROM installation)"
WAS_RESTORED = "EXISTS (SELECT FROM installation WHERE epoch > 1)"
# When the epoch began, if it began with a restore less than a week ago; else null. A payment that is new to the
# database may then have been sent before the restore.
LOST_SINCE = f"""
    (SELECT epoch_began_at FROM installation
     WHERE epoch > 1 AND epoch_began_at > now() - interval '{WEEK_AFTER.total_seconds():.0f} seconds')
"""


def lost_since_if(made_at: str, *, within: timedelta = timedelta(hours=1)) -> str:
    """An expression: when the epoch began, if it began with a restore, for a thing that was created before that,
    however long ago; or so soon after that, because clocks of hosts differ, and one more query of a network costs
    nothing.
    """
    return f"""(SELECT epoch_began_at FROM installation
                WHERE epoch > 1 AND {made_at} < epoch_began_at + interval '{within.total_seconds():.0f} seconds')"""


def is_released(channel: str, type_: str) -> str:
    """A condition: whether operators have released this channel and type since the restore."""
    return f"""EXISTS (SELECT FROM channel_releases r JOIN installation i ON i.epoch = r.epoch
                       WHERE r.channel = {channel} AND r.type = {type_})"""


async def get(connection: Conn) -> Installation:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM installation")
    assert row is not None, "the first migration makes it"
    return Installation(*row.values())


async def get_with_schema(connection: Conn) -> tuple[Installation, str | None]:
    """The installation, with the fingerprint of the schema."""
    row = await connection.fetchrow(f"SELECT {FINGERPRINT}, {_COLUMNS} FROM installation")
    assert row is not None
    fingerprint, *state = row.values()
    return Installation(*state), fingerprint


async def lock(tx: Tx) -> Installation:
    row = await tx.fetchrow(f"SELECT {_COLUMNS} FROM installation FOR UPDATE")
    assert row is not None
    return Installation(*row.values())


async def hold(tx: Tx) -> Installation:
    """The installation as it stays until the commit: a fence that begins meanwhile waits."""
    row = await tx.fetchrow(f"SELECT {_COLUMNS} FROM installation FOR SHARE")
    assert row is not None
    return Installation(*row.values())


async def why_not_cancel(connection: Conn) -> IntakeClosed | None:
    """Why nothing can be done now that relies on a payment or settlement being unsent, such as to cancel it; None if it
    can. After a restore, what seems unsent may have been sent before it."""
    state = await get(connection)
    if state.is_fenced:
        return state.refusal
    return None if await is_compared(connection) else NotComparedYet()


async def is_compared(connection: Conn) -> bool:
    """Whether the workers have compared this server with their marks: before, it may have been restored."""
    found: bool = await connection.fetchval(f"SELECT {send_counts.IS_COMPARED}")
    return found


async def begin_epoch(tx: Tx, reason: str, *, beyond: int = 0) -> int:
    """Fence the installation, from now on by the database's clock. Returns the new epoch, later than any that a host
    has seen."""
    epoch = await tx.fetchval(
        """
        UPDATE installation
        SET epoch = greatest(epoch + 1, $2::bigint + 1, floor(extract(epoch FROM clock_timestamp()))::bigint),
            epoch_began_at = now(), fenced_at = now(), fence_reason = $1
        RETURNING epoch
        """,
        reason,
        beyond,
    )
    await tx.execute(
        """
        INSERT INTO feed_restore_points (merchant_id, epoch, last_number)
        SELECT m.id, $1, coalesce(f.last_number, 0) FROM merchants m LEFT JOIN feeds f ON f.merchant_id = m.id
        """,
        int(epoch),
    )
    return int(epoch)


async def end_fence(tx: Tx) -> None:
    await tx.execute("UPDATE installation SET fenced_at = NULL, fence_reason = NULL")


async def find_restore_point(connection: Conn, merchant_id: str, *, after_epoch: int) -> int:
    """The last valid number of a cursor of this epoch: the lowest end of the feed when a later epoch began."""
    last = await connection.fetchval(
        "SELECT min(last_number) FROM feed_restore_points WHERE merchant_id = $1 AND epoch > $2",
        merchant_id,
        after_epoch,
    )
    return int(last or 0)


class Hold(NamedTuple):
    channel: str
    type: str
    held_at: datetime
    held_by: str
    reason: str


def is_held_sql(channel: str, type_: str) -> str:
    """A condition: whether operators hold this channel and type."""
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


async def add_channel_holds(tx: Tx, routes: Sequence[tuple[str, str]], *, held_by: str, reason: str) -> None:
    for channel, type_ in routes:
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


async def end_channel_holds(tx: Tx, routes: Sequence[tuple[str, str]]) -> int:
    rows = await tx.fetch(
        """
        DELETE FROM channel_holds WHERE (channel, type) IN (SELECT * FROM unnest($1::text[], $2::text[])) RETURNING 1
        """,
        [channel for channel, _ in routes],
        [type_ for _, type_ in routes],
    )
    return len(rows)


async def find_channel_holds(connection: Conn) -> list[Hold]:
    rows = await connection.fetch("SELECT channel, type, held_at, held_by, reason FROM channel_holds ORDER BY 1, 2")
    return [Hold(*row.values()) for row in rows]


async def release_channel(tx: Tx, epoch: int, channel: str, type_: str) -> None:
    await tx.execute(
        "INSERT INTO channel_releases (epoch, channel, type) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
        epoch,
        channel,
        type_,
    )


async def find_released_channels(connection: Conn, epoch: int) -> set[tuple[str, str]]:
    rows = await connection.fetch("SELECT channel, type FROM channel_releases WHERE epoch = $1", epoch)
    return {(row["channel"], row["type"]) for row in rows}
