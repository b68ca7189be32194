"""Retries while the database is away: reconnect and try again, until the deadline of the request.

Writes of payments wait in `group_commit.py`. What is here is for reads and for rare writes that commit alone.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import TypeVar

from malipo import log
from malipo.db.database import Database
from malipo.db.errors import ConnectionLost, Contention, StatementCancelled
from malipo.db.transaction import Conn, Tx
from malipo.errors import OutcomeUnknown, QueryTimeout, Unavailable

# Until when a request waits for a database that is away: one deadline from its arrival, over all that it does.
#
# One deadline covers the whole request, not each of its stages. A deadline ends the waiting, never
# the first try: a request that comes late to a database that is there is answered.


_deadline: ContextVar[float | None] = ContextVar("database_deadline", default=None)

# Less would end tries on a database that is only slow, as one is that has just taken over: a quarter of the patience.
_SHORTEST_TRY_SECONDS = 1.0
_SHORTEST_TRY = 4


def begin_waiting(seconds: float) -> None:
    """A request has arrived, or goes on after a wait that it has asked for itself, such as a long poll."""
    _deadline.set(asyncio.get_running_loop().time() + seconds)


def end_waiting() -> None:
    """The request was answered. What the same task does afterwards waits by itself."""
    _deadline.set(None)


def deadline_of(patience_seconds: float) -> float:
    """By the event loop's clock. Of the request that is under way; where there is none, of a wait that begins now."""
    deadline = _deadline.get()
    return asyncio.get_running_loop().time() + patience_seconds if deadline is None else deadline


def try_seconds(deadline: float, patience_seconds: float) -> float:
    """How long one try may take: a connection that hangs takes half of the patience, so there is time for another."""
    left = deadline - asyncio.get_running_loop().time()
    return max(min(left, patience_seconds / 2), patience_seconds / _SHORTEST_TRY, _SHORTEST_TRY_SECONDS)


Found = TypeVar("Found")

# Where no request is under way, and the caller does not say how long.
PATIENCE_SECONDS = 10.0

_PAUSE_SECONDS = 0.1


async def read(
    database: Database,
    query: Callable[[Conn], Awaitable[Found]],
    *,
    patience_seconds: float = PATIENCE_SECONDS,
    is_snapshot: bool = False,
) -> Found:
    """Read, and read again if the connection is lost, until the patience ends.

    What a statement timeout has ended is not read again: it would only take as long once more.
    """
    deadline = deadline_of(patience_seconds)
    while True:
        try:
            async with (
                asyncio.timeout(try_seconds(deadline, patience_seconds) + _longest_statement(database)),
                database.snapshot() if is_snapshot else database.read() as connection,
            ):
                return await query(connection)
        except (ConnectionLost, TimeoutError) as error:
            _check_timeout(database, error)
            if asyncio.get_running_loop().time() + _PAUSE_SECONDS > deadline:
                raise ConnectionLost(str(error) or "no answer in time") from error
            log.debug("database.away", reason=str(error))
            await asyncio.sleep(_PAUSE_SECONDS)


async def write(
    database: Database, act: Callable[[Tx], Awaitable[Found]], *, patience_seconds: float = PATIENCE_SECONDS
) -> Found:
    """A write that commits alone. It is retried if nothing can have happened, until the patience ends.

    A write in doubt (its COMMIT was sent, and the answer was lost) is not retried: it would be done twice.
    """
    deadline = deadline_of(patience_seconds)
    while True:
        try:
            # Some have much to do, such as a release after a restore, so that a try is only cut when it must hang.
            return await _write_once(database, act, seconds=patience_seconds + _longest_statement(database))
        except (ConnectionLost, Contention) as error:
            if error.in_doubt:
                raise OutcomeUnknown from error
            _check_timeout(database, error)
            if asyncio.get_running_loop().time() + _PAUSE_SECONDS > deadline:
                raise Unavailable from error
            await asyncio.sleep(_PAUSE_SECONDS)


async def _write_once(database: Database, act: Callable[[Tx], Awaitable[Found]], *, seconds: float) -> Found:
    has_acted = False
    try:
        async with asyncio.timeout(seconds), database.begin() as tx:
            found = await act(tx)
            has_acted = True
    except TimeoutError:
        # The server hangs. If the act was done, that was inside COMMIT.
        raise ConnectionLost("the database did not answer in time", in_doubt=has_acted) from None
    return found


def _longest_statement(database: Database) -> float:
    """The time that a connection allows a statement is no hanging."""
    return database.statement_timeout_seconds or 0


def _check_timeout(database: Database, error: Exception) -> None:
    if isinstance(error, StatementCancelled) and database.statement_timeout_seconds is not None:
        raise QueryTimeout from error
