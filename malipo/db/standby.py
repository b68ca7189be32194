"""Reads on a standby, for reads that may be late by a moment. If anything is wrong with it, the primary is read.

A standby does not know how late it is: without news for an hour, it does not know what it lacks. So the position of the
primary's log is read every second, and a standby must have the position of some seconds ago. Each read checks that on
its own connection, because there may be several standbys behind one address.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg

from malipo import log
from malipo.clock import loop_time
from malipo.db.database import Database
from malipo.db.errors import ConnectionLost, Contention, StatementCancelled
from malipo.db.transaction import Conn

Found = TypeVar("Found")

_SAMPLE_SECONDS = 1.0
_SAMPLE_PATIENCE_SECONDS = 5.0
# A failed standby is not tried for a moment, because each read would wait for it first.
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
        self._written: deque[tuple[float, int]] = deque()  # positions of the primary's log, each with its time
        self._left_alone_until = 0.0

    async def read(self, query: Callable[[Conn], Awaitable[Found]], *, is_snapshot: bool, seconds: float) -> Found:
        """The result of the query on the standby. StandbyUnusable if it is away, too late, or may be."""
        least = self._least_position(loop_time())
        if least is None or loop_time() < self._left_alone_until:
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
            self._left_alone_until = loop_time() + _LEFT_ALONE_SECONDS
            log.warning("standby.away", reason=str(error) or "no answer in time")
            raise StandbyUnusable from error
        except (Contention, asyncpg.PostgresError) as error:
            # The primary has removed rows that were being read, or a migration has not come here yet.
            raise StandbyUnusable from error

    async def watch(self) -> None:
        """Run until cancelled: note the position of the primary's log."""
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
        now = loop_time()
        self._written.append((now, written))
        # Of those that are old enough to count, the newest is enough.
        while len(self._written) > 1 and self._written[1][0] <= now - self._most_lag_seconds:
            self._written.popleft()

    def _least_position(self, now: float) -> int | None:
        """The position that a standby must have; None if it is unknown: at the start, or after the primary was away."""
        old_enough = [written for at, written in self._written if at <= now - self._most_lag_seconds]
        return old_enough[-1] if old_enough else None
