"""The SQL of the installation's row: its epoch and its fence; and where feeds ended when a database was restored."""

from datetime import timedelta

from malipo.db import Conn, Tx
from malipo.installation.state import WEEK_AFTER, Closed, Installation, NotComparedYet
from malipo.installation.store import send_counts

_COLUMNS = """
    id, key_secret, epoch, epoch_began_at, fenced_at, fence_reason, held_at, held_by, hold_reason, refund_keys_since
"""

# Conditions and values for the SQL of payments, so that only this file reads the installation's columns.
IS_CLOSED = "EXISTS (SELECT FROM installation WHERE fenced_at IS NOT NULL OR held_at IS NOT NULL)"
IS_FENCED = "EXISTS (SELECT FROM installation WHERE fenced_at IS NOT NULL)"
EPOCH_BEGAN_AT = "(SELECT epoch_began_at FROM installation)"
WAS_RESTORED = "EXISTS (SELECT FROM installation WHERE epoch > 1)"
# When the epoch began, if that was a restore and less than a week ago; else null. A payment that is new to the database
# may then have been sent before the restore.
LOST_SINCE = f"""
    (SELECT epoch_began_at FROM installation
     WHERE epoch > 1 AND epoch_began_at > now() - interval '{WEEK_AFTER.total_seconds():.0f} seconds')
"""


def lost_since_if(made_at: str, *, within: timedelta = timedelta(hours=1)) -> str:
    """When the epoch began, if that was a restore, and if something was made before it, however long ago that is.

    Or so soon after it: clocks of hosts differ, and asking a network once more than needed costs nothing.
    """
    return f"""(SELECT epoch_began_at FROM installation
                WHERE epoch > 1 AND {made_at} < epoch_began_at + interval '{within.total_seconds():.0f} seconds')"""


def is_released(channel: str, type_: str) -> str:
    """Whether operators have released this since the restore, as a condition."""
    return f"""EXISTS (SELECT FROM channel_releases r JOIN installation i ON i.epoch = r.epoch
                       WHERE r.channel = {channel} AND r.type = {type_})"""


async def get(connection: Conn) -> Installation:
    row = await connection.fetchrow(f"SELECT {_COLUMNS} FROM installation")
    assert row is not None, "the first migration makes it"
    return Installation(*row.values())


async def lock(tx: Tx) -> Installation:
    row = await tx.fetchrow(f"SELECT {_COLUMNS} FROM installation FOR UPDATE")
    assert row is not None
    return Installation(*row.values())


async def why_not_cancel(connection: Conn) -> Closed | None:
    """Why no payment can be cancelled now: one that this database calls unsent may have been sent."""
    standing = await get(connection)
    if standing.is_fenced:
        return standing.refusal
    is_compared = await connection.fetchval(f"SELECT {send_counts.IS_COMPARED}")
    return None if is_compared else NotComparedYet()


async def begin_epoch(tx: Tx, reason: str, *, beyond: int = 0) -> int:
    """Fence it, from now on by the database's clock; the new epoch, which is later than any that a host has seen."""
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
    """How far a cursor of this epoch may lie: where the feed ended at the earliest when a later epoch began."""
    last = await connection.fetchval(
        "SELECT min(last_number) FROM feed_restore_points WHERE merchant_id = $1 AND epoch > $2",
        merchant_id,
        after_epoch,
    )
    return int(last or 0)
