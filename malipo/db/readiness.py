"""Whether a process is ready: its database takes a write.

A fail-over takes the database from all processes at once. If all reported that at once, a load balancer would have no
process left, although they only wait. So a ready process stays ready for a grace period, with a warning. A full disk
does not end by itself, so it has no grace.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from malipo.clock import loop_time
from malipo.db import Contention, Database, DiskFull, ReadOnly
from malipo.db.errors import AccessRefused, ConnectionLost
from malipo.db.write_check import WriteCheck
from malipo.errors import Unavailable

_LOOK_SECONDS = 2
_DISK_FULL = "The database takes no writes: its disk is full."


@dataclass(frozen=True, slots=True)
class Readiness:
    reason: str | None = None  # why it is not ready
    warning: str | None = None


class ReadinessCheck:
    """The readiness of one process. It notes since when the database is away."""

    def __init__(self, database: Database, *, grace_seconds: float) -> None:
        self._writes = WriteCheck(database)
        self._grace_seconds = grace_seconds
        self._was_ready = False
        self._away_since: float | None = None  # by the event loop's clock

    async def look(self, what_is_missing: Callable[[], Awaitable[str | None]]) -> Readiness:
        """Look at the database. `what_is_missing` queries a reachable database for a reason why no payment can be
        accepted."""
        try:
            async with asyncio.timeout(_LOOK_SECONDS):
                await self._writes.require()
                reason = await what_is_missing()
        except DiskFull:
            self._was_ready = False
            return Readiness(_DISK_FULL)
        except (ConnectionLost, Contention, Unavailable, TimeoutError) as error:
            return self._without_database(_sentence(error))
        self._away_since = None
        self._was_ready = reason is None
        return Readiness(reason)

    def _without_database(self, sentence: str) -> Readiness:
        now = loop_time()
        if self._away_since is None:
            self._away_since = now
        away_seconds = now - self._away_since
        if self._was_ready and away_seconds < self._grace_seconds:
            return Readiness(warning=f"{sentence} Requests wait for it, since {away_seconds:.0f} s.")
        self._was_ready = False
        return Readiness(sentence)


def _sentence(error: Exception) -> str:
    """A sentence for the public, without names of hosts or users."""
    if isinstance(error, ReadOnly):
        return "The database takes no writes: it is a standby, or set to read-only."
    if isinstance(error, AccessRefused):
        return "The database refuses this process; its log says why."
    return "The database does not answer."
