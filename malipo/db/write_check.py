"""Whether the database takes writes, tried with a real one that leaves nothing behind.

First it asks whether the server is a standby, which answers but takes no writes. Then it commits a message in the
write-ahead log, which a read-only server refuses. Then it sorts more rows than fit into memory, so that the server
writes a temporary file beside its data: that fails on a full disk, even while the log, whose files exist already, can
still be written. None of these needs a table or a right of its own.
"""

from malipo.clock import loop_time
from malipo.db import Database, DiskFull, ReadOnly
from malipo.db.transaction import Conn

_EVERY_SECONDS = 1.0
_SORT = (
    "SELECT count(*) FROM (SELECT repeat(n::text, 20) AS filling FROM generate_series(1, 4000) AS n ORDER BY 1) AS s"
)


class WriteCheck:
    """The write check of one process. It writes at most once a second; in between, callers get the last result."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._written_at: float | None = None  # by the event loop's clock
        self._full: DiskFull | None = None

    async def require(self) -> None:
        """Raise ReadOnly, DiskFull, or another ConnectionLost if the database takes no write."""
        async with self._database.read() as connection:
            await require_writable(connection)
        now = loop_time()
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
