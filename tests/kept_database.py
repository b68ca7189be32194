"""One database for the tests of a process, emptied before each of them, and connections to it that stay open.

Two thousand tests need a database. To copy the template, to connect and to plan the first statements takes a tenth of a
second of a processor. Here a test gets the database of the test before it: its rows are deleted, and its connections have
planned most statements already. If a test has changed more than rows, or somebody is still connected, the database is
dropped, and the next test gets a new copy.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import asyncpg

from malipo.db import Database
from malipo.db.transaction import Conn

_MOST_SPARE = 4  # connections
# The check of the books that many tests end with has more statements than the hundred that asyncpg keeps: of each of
# them none was ever found again, and all were planned anew.
_MOST_STATEMENTS = 1000
_PLANNED = ("SELECT", "WITH", "INSERT", "UPDATE", "DELETE")
_MOST_BYTES = 4 * 1024 * 1024  # of a table: deleted rows stay in it
_MOST_TESTS = 300  # in one database: they stay in its indexes too, and nothing is vacuumed
_LOOKS, _LOOK_SECONDS = 50, 0.02  # until the server has noticed that a process has ended
_TABLES = """
    SELECT oid::regclass::text FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace ORDER BY 1
"""
_SEQUENCES = "SELECT seqrelid::regclass::text, seqstart FROM pg_sequence"
_OURS = "16384"  # the first oid that is not PostgreSQL's own
# Every change of a catalogue makes a new version of a row in it.
_CATALOGUES = {
    "pg_class": f"oid >= {_OURS}",
    "pg_attribute": f"attrelid >= {_OURS}",
    "pg_index": f"indexrelid >= {_OURS}",
    "pg_constraint": f"oid >= {_OURS}",
    "pg_trigger": f"oid >= {_OURS}",
    "pg_proc": f"oid >= {_OURS}",
    "pg_type": f"oid >= {_OURS}",
    "pg_namespace": "nspname !~ '^pg_(toast_)?temp_'",  # Those of temporary tables stay when these have gone.
    "pg_policy": "true",
    "pg_default_acl": "true",
    "pg_largeobject_metadata": "true",
    "pg_db_role_setting": "setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())",
}
_VERSIONS = f"""SELECT concat_ws(',', {
    ", ".join(
        f"(SELECT concat(count(*), ' ', sum(xmin::text::bigint)) FROM {name} WHERE {which})"
        for name, which in _CATALOGUES.items()
    )
})"""
_OTHERS = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> ALL($1::int[])
"""


class _OtherwiseChangedError(Exception):
    pass


@dataclass(frozen=True)
class Contents:
    """What a new copy of the template contains."""

    versions: str
    empty: tuple[str, ...]  # tables
    rows: dict[str, str]  # of the other tables, as JSON
    sequences: dict[str, int]

    @classmethod
    async def of(cls, connection: Conn) -> "Contents":
        tables = {row[0]: await _rows_of(connection, row[0]) for row in await connection.fetch(_TABLES)}
        return cls(
            versions=await connection.fetchval(_VERSIONS),
            empty=tuple(table for table, rows in tables.items() if rows == "[]"),
            rows={table: rows for table, rows in tables.items() if rows != "[]"},
            sequences={row[0]: row[1] for row in await connection.fetch(_SEQUENCES)},
        )

    async def restore(self, connection: Conn, deletes: Conn, *, ours: list[int]) -> None:
        """`ours` are the processes of the connections that may be there. To switch triggers off makes a connection
        forget its plans, so `deletes` is another one."""
        await _wait_for_others(connection, ours)
        if await connection.fetchval(_VERSIONS) != self.versions:
            raise _OtherwiseChangedError
        filled = [row[0] for row in await connection.fetch(self._filled)]
        changed = [table for table, rows in self.rows.items() if await _rows_of(connection, table) != rows]
        if await connection.fetchval(
            "SELECT bool_or(pg_relation_size(each::regclass) > $2) FROM unnest($1::text[]) each", filled, _MOST_BYTES
        ):
            raise _OtherwiseChangedError
        async with deletes.transaction():
            # Without triggers: some tables refuse that a row is deleted, and others keep sums.
            await deletes.execute(
                "SET LOCAL session_replication_role = replica; SET LOCAL allow_system_table_mods = on;"
                f"DELETE FROM pg_statistic WHERE starelid >= {_OURS};"
                + "".join(f"DELETE FROM {table};" for table in filled + changed)
                + "".join(f"SELECT setval('{name}', {start}, false);" for name, start in self.sequences.items())
            )
            for table in changed:
                await deletes.execute(
                    f"INSERT INTO {table} SELECT * FROM json_populate_recordset(NULL::{table}, $1)", self.rows[table]
                )

    @property
    def _filled(self) -> str:
        return " UNION ALL ".join(f"SELECT '{table}' WHERE EXISTS (SELECT FROM {table})" for table in self.empty)


async def _rows_of(connection: Conn, table: str) -> str:
    return str(await connection.fetchval(f"SELECT coalesce(json_agg(t ORDER BY t::text), '[]') FROM {table} t"))


async def _wait_for_others(connection: Conn, ours: list[int]) -> None:
    for _ in range(_LOOKS):
        if not await connection.fetchval(_OTHERS, ours):
            return
        await asyncio.sleep(_LOOK_SECONDS)
    raise _OtherwiseChangedError


class KeptDatabase:
    def __init__(
        self,
        create: Callable[[], Awaitable[str]],
        drop: Callable[[str], Awaitable[None]],
    ) -> None:
        self._create = create
        self._drop = drop
        self._url: str | None = None
        self._spare: list[Conn] = []
        self._own: list[Conn] = []  # one that looks, and one that deletes
        self._tests = 0  # in this database
        self.contents: Contents | None = None  # of any copy of the template: to look takes a tenth of a second

    async def take(self) -> str:
        """The address of a database that is as a new copy."""
        if self._url is None or not await self._is_restored():
            await self.leave()
            self._url, self._tests = await self._create(), 0
            if self.contents is None:
                async with self.opened(self._url, size=1) as database, database.read() as connection:
                    self.contents = await Contents.of(connection)
        self._tests += 1
        return self._url

    async def leave(self) -> None:
        for each in (*self._spare, *self._own):
            each.terminate()
        self._spare.clear()
        self._own.clear()
        if self._url is not None:
            await self._drop(self._url)
            self._url = None

    @asynccontextmanager
    async def opened(self, url: str, *, size: int, connect_seconds: float = 60) -> AsyncIterator[Database]:
        """With a new pool, which gets the connections of the one before when it needs them."""
        assert url == self._url
        database = _Lent(url, size=size, connect_seconds=connect_seconds)
        database.spare = self._spare
        await database.open()
        try:
            yield database
        finally:
            await database.close()

    async def _is_restored(self) -> bool:
        self._spare[:] = [each for each in self._spare if not each.is_closed()]
        if self.contents is None or not self._spare or self._tests >= _MOST_TESTS:
            return False
        try:
            for each in self._spare:
                await each.reset()
            while len(self._own) < 2:
                self._own.append(await asyncpg.connect(self._url))
            ours = [each.get_server_pid() for each in (*self._spare, *self._own)]
            await self.contents.restore(*self._own, ours=ours)
        except (_OtherwiseChangedError, asyncpg.PostgresError, asyncpg.InterfaceError, OSError):
            return False
        return True


class _PlansOnce(asyncpg.Connection):
    """It keeps the plan of each statement, also of one without arguments, which is sent as text otherwise, and of a long
    one. And ANALYZE counts nothing on it: every connection would plan all statements about the table anew, a tenth of a
    second for a matching of the two lines of a test. The simulation, and processes that tests start, do all this."""

    __slots__ = ()

    async def execute(self, query: str, *arguments: Any, **how: Any) -> str:
        if query.startswith("ANALYZE "):
            return "ANALYZE"
        if arguments or ";" in query or not query.lstrip().startswith(_PLANNED):
            return str(await super().execute(query, *arguments, **how))
        _, status, _ = await self._execute(query, (), 0, how.get("timeout"), return_status=True)  # type: ignore[attr-defined]
        return str(status.decode())


class PlanningDatabase(Database):
    """For what lives as long as a file of tests, and asks for more than a hundred statements: each is planned once."""

    async def _connect(self) -> Conn:
        connection = await super()._connect()
        connection.__class__ = _PlansOnce
        config = connection._config  # type: ignore[attr-defined]
        connection._config = config._replace(max_cacheable_statement_size=0)  # type: ignore[attr-defined]
        connection._stmt_cache.set_max_size(_MOST_STATEMENTS)  # type: ignore[attr-defined]
        return connection


class _Lent(PlanningDatabase):
    spare: list[Conn]

    async def _connect(self) -> Conn:
        while self.spare:
            if not (connection := self.spare.pop()).is_closed():
                return connection
        return await super()._connect()

    async def close(self) -> None:
        assert self._pool is not None
        idle = self._pool._idle
        while idle and len(self.spare) < _MOST_SPARE:
            self.spare.append(idle.pop()[0])
        await super().close()
