"""A transaction: BEGIN, COMMIT, ROLLBACK on a connection from the pool. A COMMIT whose answer was lost is in doubt."""

import asyncio

import asyncpg

from malipo.db.errors import ReadOnly, meaning_of
from malipo.db.pool import Pool

Conn = asyncpg.Connection
Tx = asyncpg.Connection
Row = asyncpg.Record

_GIVEN_UP = (TimeoutError, asyncio.CancelledError)


class PooledConnection:
    """A connection from the pool for as long as a block lasts, in a transaction or not.

    Every statement of the service needs one, so it is one object and not nested generators, which are slower
    (decision 21).
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
            if (meaning := meaning_of(error)) is error:
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
            if (meaning := meaning_of(worse, in_doubt=is_committing)) is worse:
                raise
            raise meaning from worse
        if error is not None and (meaning := meaning_of(error)) is not error:
            raise meaning from error

    async def _commit(self) -> None:
        if await self._on("COMMIT;") != "COMMIT":
            # A statement failed and its error was caught, so the server answered COMMIT with ROLLBACK.
            raise RuntimeError("a transaction that failed cannot be committed")

    async def _on(self, statement: str) -> str:
        assert self._connection is not None
        return str(await self._connection.execute(statement))

    def _leave(self, error: BaseException | None) -> None:
        if self._connection is None:
            return
        if isinstance(error, _GIVEN_UP):
            # A server that hangs would not read a ROLLBACK either. It rolls back when the connection is closed.
            self._connection.terminate()
        elif error is not None and isinstance(meaning_of(error), ReadOnly):
            # A new connection may reach the new primary; this one never will.
            self._connection.terminate()
        self._pool.give_back(self._connection)
