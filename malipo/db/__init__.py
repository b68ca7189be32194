"""PostgreSQL: a pool that outlives the server's restarts, transactions, and what can go wrong with them.

    ConnectionLost      the server went away; `in_doubt` if that was during COMMIT, so it may have happened
    DataError           the server refused the data (SQLSTATE 22 and 23): what was asked for is bad
    Contention          a deadlock or the like: nothing happened, and doing it again is right

This file knows no table. SQL stands in the rooms' `store.py`.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any, TypeVar

import asyncpg

from malipo import log

Conn = asyncpg.pool.PoolConnectionProxy
Tx = asyncpg.pool.PoolConnectionProxy
Row = asyncpg.Record

Found = TypeVar("Found")

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
    pass


class Database:
    """Connections are made when they are first needed, so a service may start before its database."""

    def __init__(self, url: str, *, size: int = 10, connect_seconds: float = 5.0) -> None:
        self._url = url
        self._size = size
        self._connect_seconds = connect_seconds
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> None:
        self._pool = await asyncpg.create_pool(
            self._url,
            min_size=0,
            max_size=self._size,
            timeout=self._connect_seconds,
            reset=_keep_as_it_is,
            server_settings={
                "application_name": "malipo",
                "jit": "off",
                "timezone": "UTC",
                # A machine that loses its power says no goodbye; its locks must not stay.
                "idle_in_transaction_session_timeout": "10s",
            },
        )

    @classmethod
    @asynccontextmanager
    async def opened(cls, url: str, *, size: int) -> AsyncIterator["Database"]:
        """Open for as long as the block lasts."""
        database = cls(url, size=size)
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
        return self._pool.get_idle_size() if self._pool else 0

    @property
    def in_use(self) -> int:
        return self._pool.get_size() - self._pool.get_idle_size() if self._pool else 0

    @asynccontextmanager
    async def read(self) -> AsyncIterator[Conn]:
        """A connection on which each statement stands alone."""
        with _meanings():
            async with self._connection() as connection:
                yield connection

    @asynccontextmanager
    async def snapshot(self) -> AsyncIterator[Conn]:
        """A connection whose statements all see the same moment, and cannot write."""
        with _meanings():
            async with (
                self._connection() as connection,
                _transaction(connection, isolation="repeatable_read", readonly=True),
            ):
                yield connection

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

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[Tx]:
        """A transaction: committed when the block ends, rolled back if it raises."""
        committing = False
        with _meanings(lambda: committing):
            async with self._connection() as connection, _transaction(connection):
                yield connection
                committing = True

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Conn]:
        assert self._pool is not None
        connection = await self._pool.acquire(timeout=self._connect_seconds)
        try:
            yield connection
        except _GIVEN_UP:
            # A server that hangs would hang the tidy way of giving the connection back too.
            _cut(connection)
            raise
        finally:
            await self._pool.release(connection)


@asynccontextmanager
async def _transaction(connection: Conn, **options: Any) -> AsyncIterator[None]:
    transaction = connection.transaction(**options)
    await transaction.start()
    try:
        yield
    except _GIVEN_UP:
        # A server that hangs would not hear a ROLLBACK either. Without us, it rolls back by itself.
        _cut(connection)
        raise
    except BaseException:
        await transaction.rollback()
        raise
    else:
        await transaction.commit()


def _cut(connection: Conn) -> None:
    with suppress(asyncpg.InterfaceError):  # It may be cut already.
        connection.terminate()


async def _keep_as_it_is(_: Any) -> None:
    """Nothing we do changes a session, so nothing needs to be reset: that saves a round trip a use."""


@contextmanager
def _meanings(is_committing: Any = lambda: False) -> Iterator[None]:
    """Turn what the driver raises into what it means."""
    try:
        yield
    except asyncpg.PostgresError as error:
        state = getattr(error, "sqlstate", None) or ""
        if state[:2] in _AWAY_CLASSES or state in _AWAY:
            raise ConnectionLost(str(error), in_doubt=is_committing()) from error
        if state in _CONTENTION:
            raise Contention(str(error)) from error
        if state[:2] in {"22", "23"}:
            raise DataError(str(error), constraint=getattr(error, "constraint_name", None)) from error
        raise
    except asyncpg.InternalClientError as error:
        # Neither a PostgresError nor an OSError: what the driver says when a server dies between two messages.
        raise ConnectionLost(str(error), in_doubt=is_committing()) from error
    except asyncpg.InterfaceError as error:
        if isinstance(error, ValueError):  # The driver's own DataError: a value that no column could hold.
            raise DataError("a value does not fit its column", constraint=None) from error
        raise ConnectionLost(str(error), in_doubt=is_committing()) from error
    except (OSError, TimeoutError) as error:
        raise ConnectionLost(str(error) or "no answer in time", in_doubt=is_committing()) from error
