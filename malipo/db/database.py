"""The database: how it is connected to, and the ways to use a connection. SQL of tables is in the `store` files.

The pool makes new connections when the server has restarted; waiting for a server that is away is in `retry.py`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg

from malipo.db.pool import Pool
from malipo.db.transaction import Conn, PooledConnection

# The service looks everything up by a key. PostgreSQL guesses that a JSON document holds a hundred rows, so it would
# scan a short or a new table as a whole, and would keep that plan when the table has grown.
_BY_KEY = {"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}


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
                # A host that loses its power does not close its connections; its locks must end all the same.
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
        """Close idle connections; those in use get two seconds to end, then are cut off."""
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

    def read(self) -> "PooledConnection":
        """A connection on which each statement stands alone."""
        return self._use(None)

    def snapshot(self) -> "PooledConnection":
        """A connection whose statements all see the same moment, and cannot write."""
        return self._use("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;")

    def begin(self) -> "PooledConnection":
        """A transaction: committed when the block ends, rolled back if it raises."""
        return self._use("BEGIN;")

    def _use(self, beginning: str | None) -> "PooledConnection":
        assert self._pool is not None
        return PooledConnection(self._pool, self._connect_seconds, beginning)
