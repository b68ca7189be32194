"""Reads on a standby, where being late by a moment does no harm. Whatever is wrong with it, the primary is read.

How late a standby is, its clock cannot tell: one that has heard nothing for an hour knows of nothing that it lacks. So
the primary is asked every second how far its log is, and a standby must have what the primary had some seconds ago.
Each read looks, on the connection that it uses: behind one address there may be several standbys.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from malipo import log
from malipo.db.database import Database
from malipo.db.errors import ConnectionLost, Contention, StatementCancelled
from malipo.db.transaction import Conn

Found = TypeVar("Found")

_SAMPLE_SECONDS = 1.0
_SAMPLE_PATIENCE_SECONDS = 5.0
# After a standby has failed, it is left alone for a moment: else each read would wait for it first.
_LEFT_ALONE_SECONDS = 5.0

_WRITTEN = "SELECT pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"
# NULL on a server that is no standby: nothing is missing there.
_REPLAYED = """
    SELECT CASE WHEN pg_is_in_recovery() THEN pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0')::bigint END
"""


class StandbyUnusable(Exception):  # noqa: N818
    """The primary must be read instead."""


class Standby:
    def __init__(self, database: Database, *, primary: Database, most_lag_seconds: float) -> None:
        self._database = database
        self._primary = primary
        self._most_lag_seconds = most_lag_seconds
        self._written: deque[tuple[float, int]] = deque()  # when the primary's log was how far
        self._left_alone_until = 0.0

    async def read(self, query: Callable[[Conn], Awaitable[Found]], *, is_snapshot: bool, seconds: float) -> Found:
        """What the query finds there. StandbyUnusable if it is away, too late, or cannot say."""
        loop = asyncio.get_running_loop()
        least = self._least_position(loop.time())
        if least is None or loop.time() < self._left_alone_until:
            raise StandbyUnusable
        try:
            async with (
                asyncio.timeout(seconds),
                self._database.snapshot() if is_snapshot else self._database.read() as connection,
            ):
                replayed = await connection.fetchval(_REPLAYED)
                if replayed is not None and replayed < least:
                    raise StandbyUnusable
                return await query(connection)
        except StatementCancelled:
            raise
        except (ConnectionLost, TimeoutError) as error:
            self._left_alone_until = loop.time() + _LEFT_ALONE_SECONDS
            log.warning("standby.away", reason=str(error) or "no answer in time")
            raise StandbyUnusable from error
        except (Contention, asyncpg.PostgresError) as error:
            # The primary has removed rows that were being read, or a migration has not come here yet.
            raise StandbyUnusable from error

    async def watch(self) -> None:
        """Until cancelled: note how far the primary's log is."""
        while True:
            try:
                await self.sample()
            except (ConnectionLost, TimeoutError) as error:
                log.debug("standby.primary_away", reason=str(error))
            except Exception as error:
                log.error("standby.sample_broke", error)
            await asyncio.sleep(_SAMPLE_SECONDS)

    async def sample(self) -> None:
        async with asyncio.timeout(_SAMPLE_PATIENCE_SECONDS), self._primary.read() as connection:
            written = await connection.fetchval(_WRITTEN)
        now = asyncio.get_running_loop().time()
        self._written.append((now, written))
        # Of those that are old enough to count, the newest is enough.
        while len(self._written) > 1 and self._written[1][0] <= now - self._most_lag_seconds:
            self._written.popleft()

    def _least_position(self, now: float) -> int | None:
        """What a standby must have. None while nothing is known: at the start, and after the primary was long away."""
        old_enough = [written for at, written in self._written if at <= now - self._most_lag_seconds]
        return old_enough[-1] if old_enough else None
