"""Retries while the database is away: reconnect and try again, for as long as the caller has patience.

Writes of payments wait in `group_commit.py`, for MALIPO_DATABASE_PATIENCE_SECONDS. What is here is for reads and for
rare writes that commit alone; its callers say how long.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from malipo import log
from malipo.db.database import Database
from malipo.db.errors import ConnectionLost, Contention
from malipo.db.transaction import Conn, Tx
from malipo.errors import OutcomeUnknown, Unavailable

Found = TypeVar("Found")

_PAUSE_SECONDS = 0.1


async def read(
    database: Database, query: Callable[[Conn], Awaitable[Found]], *, patience_seconds: float, is_snapshot: bool = False
) -> Found:
    """Read, and read again if the connection is lost, until the patience ends."""
    deadline = asyncio.get_running_loop().time() + patience_seconds
    while True:
        try:
            async with (
                asyncio.timeout_at(deadline + 1),
                database.snapshot() if is_snapshot else database.read() as connection,
            ):
                return await query(connection)
        except (ConnectionLost, TimeoutError) as error:
            if asyncio.get_running_loop().time() + _PAUSE_SECONDS > deadline:
                raise ConnectionLost(str(error) or "no answer in time") from error
            log.debug("database.away", reason=str(error))
            await asyncio.sleep(_PAUSE_SECONDS)


async def write(database: Database, act: Callable[[Tx], Awaitable[Found]], *, patience_seconds: float) -> Found:
    """A write that commits alone. It is retried if nothing can have happened, until the patience ends.

    A write in doubt (its COMMIT was sent, and the answer was lost) is not retried: it would be done twice.
    """
    deadline = asyncio.get_running_loop().time() + patience_seconds
    while True:
        try:
            async with database.begin() as tx:
                return await act(tx)
        except (ConnectionLost, Contention) as error:
            if isinstance(error, ConnectionLost) and error.in_doubt:
                raise OutcomeUnknown from error
            if asyncio.get_running_loop().time() > deadline:
                raise Unavailable from error
            await asyncio.sleep(_PAUSE_SECONDS)
