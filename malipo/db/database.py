"""The database: how it is connected to, and the ways to use a connection. SQL of tables is in the `store` files.

The pool makes new connections when the server has restarted; waiting for a server that is away is in `retry.py`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import asyncpg

from malipo import log
from malipo.clock import loop_time
from malipo.db.array_types import know_arrays
from malipo.db.errors import ADDRESS_SETTING, POOLER_REFUSED, AccessRefused, meaning_of
from malipo.db.pool import Pool
from malipo.db.transaction import Conn, PooledConnection

# The service looks everything up by a key. PostgreSQL guesses that a JSON document holds a hundred rows, so it would
# scan a short or a new table as a whole, and would keep that plan when the table has grown.
_BY_KEY = {"enable_seqscan": "off", "enable_hashjoin": "off", "enable_mergejoin": "off"}
# The worker runs the same few statements all the time. PostgreSQL would plan a claim each time, because it estimates
# that a plan for these values saves more than planning costs: 1.5 ms, more than the claim itself (decision 51).
_PLANNED_ONCE = {"plan_cache_mode": "force_generic_plan"}

# A setting of our own, by which a session is known to be the one that was requested.
_SESSION_MARK = "malipo.session"
# The parameters of an address that name files.
_FILES = ("sslrootcert", "sslcert", "sslkey", "sslcrl")
CONNECT_SECONDS = 5.0
# The log repeats at most this often that the server refuses us.
_REFUSED_AGAIN_SECONDS = 30.0


class Database:
    """Connections are made when they are first needed, so a service may start before its database."""

    def __init__(
        self,
        url: str,
        *,
        size: int = 10,
        connect_seconds: float = CONNECT_SECONDS,
        finds_by_key: bool = False,
        plans_once: bool = False,
        statement_timeout_seconds: float | None = None,
        setting: str = ADDRESS_SETTING,
    ) -> None:
        self._url = url
        self._setting = setting
        self._plans = (_BY_KEY if finds_by_key else {}) | (_PLANNED_ONCE if plans_once else {})
        self.statement_timeout_seconds = statement_timeout_seconds
        self._size = size
        self._connect_seconds = connect_seconds
        self._pool: Pool | None = None
        self._refused_at: float | None = None  # when it was last said

    async def open(self) -> None:
        self._pool = Pool(self._connect, size=self._size)

    async def _connect(self) -> Conn:
        try:
            _require_files(self._url)
            return await self._new_connection()
        except Exception as error:
            if isinstance(meaning := meaning_of(error), AccessRefused):
                self._log_refusal(meaning)
            raise

    def _log_refusal(self, refusal: AccessRefused) -> None:
        """Log a refusal, which needs an operator. Not each time, because every waiting caller tries again and again."""
        now = loop_time()
        if self._refused_at is None or now - self._refused_at >= _REFUSED_AGAIN_SECONDS:
            self._refused_at = now
            log.error("database.refused", message=str(refusal).replace(ADDRESS_SETTING, self._setting))

    async def _new_connection(self) -> Conn:
        connection = await asyncpg.connect(
            self._url,
            timeout=self._connect_seconds,
            server_settings={
                "application_name": "malipo",
                "jit": "off",
                "timezone": "UTC",
                # A host that loses power does not close its connections, and its locks must end all the same.
                "idle_in_transaction_session_timeout": "10s",
                _SESSION_MARK: "own",
                **self._plans,
                **self._timeouts(),
            },
        )
        know_arrays(connection)
        await _require_own_session(connection)
        return connection

    def _timeouts(self) -> dict[str, str]:
        """The timeouts by which the server ends a statement, even if nobody waits for its answer any more."""
        if self.statement_timeout_seconds is None:
            return {}
        return {"statement_timeout": str(int(self.statement_timeout_seconds * 1000))}

    @classmethod
    @asynccontextmanager
    async def opened(
        cls,
        url: str,
        *,
        size: int,
        connect_seconds: float = CONNECT_SECONDS,
        finds_by_key: bool = False,
        plans_once: bool = False,
        statement_timeout_seconds: float | None = None,
        setting: str = ADDRESS_SETTING,
    ) -> AsyncIterator["Database"]:
        """A database that is open within the block."""
        database = cls(
            url,
            size=size,
            connect_seconds=connect_seconds,
            finds_by_key=finds_by_key,
            plans_once=plans_once,
            statement_timeout_seconds=statement_timeout_seconds,
            setting=setting,
        )
        await database.open()
        try:
            yield database
        finally:
            await database.close()

    def another(self, *, size: int) -> "Database":
        """Another Database at the same address, for another event loop. Its statements have no timeout."""
        return Database(self._url, size=size, connect_seconds=self._connect_seconds, setting=self._setting)

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


def _require_files(url: str) -> None:
    """Refuse an address with a missing file. The driver would report it like the missing socket of a server that is
    away."""
    named = parse_qs(urlsplit(url).query)
    for name in _FILES:
        for file in named.get(name, []):
            if file != "system" and not Path(file).exists():
                raise AccessRefused(f"MALIPO_DATABASE_URL names a file that is not there ({name}): {file}")


async def _require_own_session(connection: Conn) -> None:
    """Refuse a pooler that drops our settings: it would mix up our prepared statements."""
    try:
        if await connection.fetchval(f"SELECT current_setting('{_SESSION_MARK}', true)") != "own":
            raise AccessRefused(POOLER_REFUSED.format("it has dropped the settings of a session"))
    except BaseException:
        connection.terminate()
        raise
