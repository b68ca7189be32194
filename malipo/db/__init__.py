"""PostgreSQL: a pool that outlives the server's restarts, transactions, and what can go wrong with them.

    ConnectionLost      the server went away; `in_doubt` if that was during COMMIT, so it may have happened
    DataError           the server refused the data (SQLSTATE 22 and 23): what was asked for is bad
    Contention          a deadlock or the like: nothing happened, and doing it again is right; `in_doubt` if an earlier
                        try was found to have happened

This file knows no table. SQL stands in the rooms' `store.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

import asyncpg

from malipo import log
from malipo.db.pool import Pool
from malipo.errors import OutcomeUnknown, Unavailable

Conn = asyncpg.Connection
Tx = asyncpg.Connection
Row = asyncpg.Record

Found = TypeVar("Found")

# A service looks everything up by its key. PostgreSQL guesses that a document holds a hundred rows, would rather read a
# short or a young table as a whole for those, and keeps to such a plan when the table has long grown.
_BY_KEY = {"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}

_PAUSE_SECONDS = 0.1
_GIVEN_UP = (TimeoutError, asyncio.CancelledError)

# A connection that failed; a server without memory, disk or room; one that is told to stop, or told us to; one whose
# disk fails. None of these is about what was asked.
_AWAY_CLASSES = {"08", "53", "57", "58"}
# A primary that became a standby, and a transaction that idled so long that the server ended it.
_AWAY = {"25006", "25P03"}
# Serialisation failure, deadlock, lock timeout, and a plan that a migration has made stale.
_CONTENTION = {"40001", "40P01", "55P03", "0A000"}


class ConnectionLost(Exception):  # noqa: N818
    def __init__(self, reason: str, *, in_doubt: bool = False) -> None:
        super().__init__(reason)
        self.in_doubt = in_doubt


class DataError(Exception):
    def __init__(self, reason: str, *, constraint: str | None) -> None:
        super().__init__(reason)
        self.constraint = constraint


class Contention(Exception):  # noqa: N818
    def __init__(self, reason: str, *, in_doubt: bool = False) -> None:
        super().__init__(reason)
        self.in_doubt = in_doubt


class Database:
    """Connections are made when they are first needed, so a service may start before its database."""

    def __init__(self, url: str, *, size: int = 10, connect_seconds: float = 5.0, finds_by_key: bool = False) -> None:
        self._url = url
        self._plans = _BY_KEY if finds_by_key else {}
        self._size = size
        self._connect_seconds = connect_seconds
        self._pool: Pool | None = None

    async def open(self) -> None:
        self._pool = Pool(self._connect, size=self._size)

    async def _connect(self) -> Conn:
        return await asyncpg.connect(
            self._url,
            timeout=self._connect_seconds,
            server_settings={
                "application_name": "malipo",
                "jit": "off",
                "timezone": "UTC",
                # A machine that loses its power says no goodbye; its locks must not stay.
                "idle_in_transaction_session_timeout": "10s",
                **self._plans,
            },
        )

    @classmethod
    @asynccontextmanager
    async def opened(cls, url: str, *, size: int, finds_by_key: bool = False) -> AsyncIterator["Database"]:
        """Open for as long as the block lasts."""
        database = cls(url, size=size, finds_by_key=finds_by_key)
        await database.open()
        try:
            yield database
        finally:
            await database.close()

    async def close(self) -> None:
        """Close what is idle; whoever still works gets two seconds, then is cut off."""
        assert self._pool is not None
        try:
            await asyncio.wait_for(self._pool.close(), 2)
        except TimeoutError:
            self._pool.terminate()

    @property
    def idle(self) -> int:
        return self._pool.idle if self._pool else 0

    @property
    def in_use(self) -> int:
        return self._pool.in_use if self._pool else 0

    def read(self) -> "Use":
        """A connection on which each statement stands alone."""
        return self._use(None)

    def snapshot(self) -> "Use":
        """A connection whose statements all see the same moment, and cannot write."""
        return self._use("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;")

    def begin(self) -> "Use":
        """A transaction: committed when the block ends, rolled back if it raises."""
        return self._use("BEGIN;")

    def _use(self, beginning: str | None) -> "Use":
        assert self._pool is not None
        return Use(self._pool, self._connect_seconds, beginning)

    async def ask(
        self, query: Callable[[Conn], Awaitable[Found]], *, patience_seconds: float, is_snapshot: bool = False
    ) -> Found:
        """Read, and read again if the server goes away, until the patience ends."""
        deadline = asyncio.get_running_loop().time() + patience_seconds
        while True:
            try:
                async with (
                    asyncio.timeout_at(deadline + 1),
                    self.snapshot() if is_snapshot else self.read() as connection,
                ):
                    return await query(connection)
            except (ConnectionLost, TimeoutError) as error:
                if asyncio.get_running_loop().time() + _PAUSE_SECONDS > deadline:
                    raise ConnectionLost(str(error) or "no answer in time") from error
                log.debug("database.away", reason=str(error))
                await asyncio.sleep(_PAUSE_SECONDS)

    async def write(self, act: Callable[[Tx], Awaitable[Found]], *, patience_seconds: float) -> Found:
        """A write that commits alone. Done again if nothing can have happened, until the patience ends."""
        deadline = asyncio.get_running_loop().time() + patience_seconds
        while True:
            try:
                async with self.begin() as tx:
                    return await act(tx)
            except (ConnectionLost, Contention) as error:
                if isinstance(error, ConnectionLost) and error.in_doubt:
                    raise OutcomeUnknown from error
                if asyncio.get_running_loop().time() > deadline:
                    raise Unavailable from error
                await asyncio.sleep(_PAUSE_SECONDS)


class Use:
    """A connection from the pool for as long as a block lasts, in a transaction or not.

    Everything that is done passes here, so it is one object and not a nest of generators (decision 21).
    """

    __slots__ = ("_beginning", "_connect_seconds", "_connection", "_pool")

    def __init__(self, pool: Pool, connect_seconds: float, beginning: str | None) -> None:
        self._pool = pool
        self._connect_seconds = connect_seconds
        self._beginning = beginning
        self._connection: Conn | None = None

    async def __aenter__(self) -> Conn:
        try:
            self._connection = await self._pool.take(seconds=self._connect_seconds)
            if self._beginning is not None:
                await self._connection.execute(self._beginning)
        except BaseException as error:
            self._leave(error)
            if (meaning := _meaning_of(error)) is error:
                raise
            raise meaning from error
        return self._connection

    async def __aexit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        is_committing = error is None and self._beginning is not None
        try:
            try:
                if is_committing:
                    await self._commit()
                elif self._beginning is not None and not isinstance(error, _GIVEN_UP):
                    await self._on("ROLLBACK;")
            except BaseException as worse:
                error = worse
                raise
            finally:
                self._leave(error)
        except BaseException as worse:
            if (meaning := _meaning_of(worse, in_doubt=is_committing)) is worse:
                raise
            raise meaning from worse
        if error is not None and (meaning := _meaning_of(error)) is not error:
            raise meaning from error

    async def _commit(self) -> None:
        if await self._on("COMMIT;") != "COMMIT":
            # A statement failed and nobody said so: the server then rolls back, whatever it is told.
            raise RuntimeError("a transaction that failed cannot be committed")

    async def _on(self, statement: str) -> str:
        assert self._connection is not None
        return str(await self._connection.execute(statement))

    def _leave(self, error: BaseException | None) -> None:
        if self._connection is None:
            return
        if isinstance(error, _GIVEN_UP):
            # A server that hangs would not hear a ROLLBACK either. Without us, it rolls back by itself.
            self._connection.terminate()
        self._pool.give_back(self._connection)


def _meaning_of(error: BaseException, *, in_doubt: bool = False) -> BaseException:
    """What the driver's error means; whatever is not the driver's is what it is."""
    if isinstance(error, asyncpg.PostgresError):
        state = getattr(error, "sqlstate", None) or ""
        if state[:2] in _AWAY_CLASSES or state in _AWAY:
            return ConnectionLost(str(error), in_doubt=in_doubt)
        if state in _CONTENTION:
            return Contention(str(error))
        if state[:2] in {"22", "23"}:
            return DataError(str(error), constraint=getattr(error, "constraint_name", None))
        return error
    # The first is what the driver says when a server dies between two messages.
    if isinstance(error, asyncpg.InternalClientError):
        return ConnectionLost(str(error), in_doubt=in_doubt)
    if isinstance(error, asyncpg.InterfaceError):
        if isinstance(error, ValueError):  # The driver's own DataError: a value that no column could hold.
            return DataError("a value does not fit its column", constraint=None)
        return ConnectionLost(str(error), in_doubt=in_doubt)
    if isinstance(error, OSError | TimeoutError):
        return ConnectionLost(str(error) or "no answer in time", in_doubt=in_doubt)
    return error
