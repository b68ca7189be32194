"""Whether a process is ready: its database takes a write.

A fail-over takes the database from all processes at once. If each said so at once, a load balancer would have nobody to
send requests to, though all of them only wait. So whoever was ready stays so for a grace, with a warning. A full disk
does not end by itself: there is no grace.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import asyncpg

from malipo import clock, log
from malipo.db import Contention, Database, DiskFull, ReadOnly
from malipo.db.errors import AccessRefused, ConnectionLost, meaning_of
from malipo.db.transaction import Conn
from malipo.errors import Impossible, Unavailable

_LOOK_SECONDS = 2
_DISK_FULL = "The database takes no writes: its disk is full."


@dataclass(frozen=True, slots=True)
class Readiness:
    reason: str | None = None  # why it is not ready
    warning: str | None = None


class ReadinessCheck:
    """Of one process. It knows since when the database is away, if it is."""

    def __init__(self, database: Database, *, grace_seconds: float) -> None:
        self._writes = WriteCheck(database)
        self._grace_seconds = grace_seconds
        self._was_ready = False
        self._away_since: float | None = None  # by the event loop's clock

    async def look(self, what_is_missing: Callable[[], Awaitable[str | None]]) -> Readiness:
        """`what_is_missing` asks a database that is there whether payments can be taken."""
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
        now = asyncio.get_running_loop().time()
        if self._away_since is None:
            self._away_since = now
        away_seconds = now - self._away_since
        if self._was_ready and away_seconds < self._grace_seconds:
            return Readiness(warning=f"{sentence} Requests wait for it, since {away_seconds:.0f} s.")
        self._was_ready = False
        return Readiness(sentence)


def _sentence(error: Exception) -> str:
    """For everybody: it names no host and no user."""
    if isinstance(error, ReadOnly):
        return "The database takes no writes: it is a standby, or set to read-only."
    if isinstance(error, AccessRefused):
        return "The database refuses this process; its log says why."
    return "The database does not answer."


# Whether the database takes writes, tried with a real one that leaves nothing behind.
#
# A message in the write-ahead log is committed, as a payment would be: a read-only server refuses it. Then rows that do
# not fit into memory are sorted, so that the server writes a temporary file beside its data: on a full disk that fails,
# while the log, whose files exist already, could still be written. Neither needs a table or a right of its own.


_EVERY_SECONDS = 1.0
_SORT = (
    "SELECT count(*) FROM (SELECT repeat(n::text, 20) AS filling FROM generate_series(1, 4000) AS n ORDER BY 1) AS s"
)


class WriteCheck:
    """Of one process. It writes at most once a second; a caller who asks more often gets the last result."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._written_at: float | None = None  # by the event loop's clock
        self._full: DiskFull | None = None

    async def require(self) -> None:
        """Raise ReadOnly, DiskFull, or another ConnectionLost if the database takes no write."""
        async with self._database.read() as connection:
            await require_writable(connection)
        now = asyncio.get_running_loop().time()
        if self._written_at is None or now - self._written_at >= _EVERY_SECONDS:
            self._written_at = now
            await self._write()
        if self._full is not None:
            raise self._full

    async def _write(self) -> None:
        try:
            async with self._database.begin() as tx:
                await tx.execute("SET LOCAL work_mem = '64kB'")
                await tx.fetchval(_SORT)
                await tx.execute("SELECT pg_logical_emit_message(true, 'malipo', '')")
            self._full = None
        except DiskFull as error:
            self._full = error


# Whether the database takes writes: a primary that became a standby answers, and takes none.


async def require_writable(connection: Conn) -> None:
    if await connection.fetchval("SELECT current_setting('transaction_read_only')") == "on":
        raise ReadOnly("cannot write in a read-only database")


# Waits at start for a database that is away or refuses us, and says which it is.
#
# A machine boots in any order, and an operator who mends a password, a certificate or pg_hba.conf need not start malipo
# again. Only an address that cannot be used at all ends the start, with a sentence: it is read once.


_CONNECT_SECONDS = 5.0
_AGAIN_SECONDS = 1.0
# The log has it from the first try on, and then as often.
_SAID_SECONDS = 30.0


class UnusableAddress(Impossible):
    """No server could be reached with it, ever."""


async def wait_for_database(url: str) -> None:
    """Return when it lets us in."""
    began = clock.monotonic()
    said: tuple[str, float] | None = None
    while (away := await _why_away(url)) is not None:
        if said is None or said[0] != type(away).__name__ or clock.monotonic() - said[1] >= _SAID_SECONDS:
            said = type(away).__name__, clock.monotonic()
            _say(away)
        await asyncio.sleep(_AGAIN_SECONDS)
    if said is not None:
        log.info("database.there", after_seconds=round(clock.monotonic() - began, 1))


async def is_there(url: str) -> bool:
    """Whether it lets us in now."""
    return await _why_away(url) is None


def _say(away: ConnectionLost) -> None:
    if isinstance(away, AccessRefused):
        log.error("database.away", message=f"{away} It is tried again until it lets malipo in.")
    else:
        log.warning("database.away", message=f"The database does not answer, and is waited for: {away}")


async def _why_away(url: str) -> ConnectionLost | None:
    try:
        connection = await asyncpg.connect(url, timeout=_CONNECT_SECONDS)
    except Exception as error:
        meaning = meaning_of(error)
        if isinstance(error, asyncpg.ClientConfigurationError):
            raise UnusableAddress(str(meaning)) from None
        if isinstance(meaning, ConnectionLost):
            return meaning
        raise
    await connection.close(timeout=_CONNECT_SECONDS)
    return None
