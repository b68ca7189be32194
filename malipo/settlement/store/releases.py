"""Whether operators have released settlements since the last restore."""

from datetime import datetime

from malipo.db import Conn, Tx

# The first epoch begins with the installation, and not with a restore.
IS_RELEASED = """
    (i.fenced_at IS NULL AND (i.epoch = 1 OR EXISTS (SELECT FROM settlement_releases r WHERE r.epoch = i.epoch)))
"""


async def is_released(connection: Conn) -> bool:
    return bool(await connection.fetchval(f"SELECT {IS_RELEASED} FROM installation i"))


async def lock_if_released(tx: Tx) -> bool:
    """The same, locked: it stays so until the commit."""
    return bool(await tx.fetchval(f"SELECT {IS_RELEASED} FROM installation i FOR SHARE"))


async def insert(tx: Tx, *, now: datetime) -> None:
    await tx.execute("INSERT INTO settlement_releases (epoch, released_at) SELECT epoch, $1 FROM installation", now)
