"""Retries while the database is away: reconnect and try again, until the deadline of the request.

Writes of payments wait in `group_commit.py`. This is for reads, and for rare writes that commit alone.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

from malipo import log
from malipo.clock import loop_time
from malipo.db.database import Database
from malipo.db.errors import ConnectionLost, Contention, StatementCancelled
from malipo.db.transaction import Conn, Tx
from malipo.errors import OutcomeUnknown, QueryTimeout, Unavailable

# The deadline until which a request waits for a database that is away. It is set at the request's arrival, and covers
# the whole request, not each of its stages. A deadline ends the waiting, never the first try: a late request is
# answered if the database is there.


_deadline: ContextVar[float | None] = ContextVar("database_deadline", default=None)

# A shorter try would fail on a database that is only slow, for example right after a fail-over.
_SHORTEST_TRY_SECONDS = 1.0
_SHORTEST_TRY = 4


def begin_waiting(seconds: float) -> None:
    """Set the deadline of a request that has arrived, or that goes on after a wait of its own, such as a long poll."""
    _deadline.set(loop_time() + seconds)


def end_waiting() -> None:
    """Clear the deadline of an answered request. Later work of the same task has deadlines of its own."""
    _deadline.set(None)


@contextmanager
def own_deadline(seconds: float) -> Iterator[None]:
    """A deadline of its own for a part of a request. The request's, if there is one, counts again after it."""
    token = _deadline.set(loop_time() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def deadline_of(patience_seconds: float) -> float:
    """The deadline by the event loop's clock: of the current request, or without one, of a wait that begins now."""
    deadline = _deadline.get()
    return loop_time() + patience_seconds if deadline is None else deadline


def try_seconds(deadline: float, patience_seconds: float) -> float:
    """How long one try may take: half of the patience, so that after a connection that hangs there is time for
    another."""
    left = deadline - loop_time()
    return max(min(left, patience_seconds / 2), patience_seconds / _SHORTEST_TRY, _SHORTEST_TRY_SECONDS)


Found = TypeVar("Found")

# Without a current request, if the caller gives none.
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

    A read that a statement timeout has ended is not tried again, because it would take as long again.
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
            if loop_time() + _PAUSE_SECONDS > deadline:
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
            # Some writes take long, such as a release after a restore, so a try is only cut when it must be hanging.
            return await _write_once(database, act, seconds=patience_seconds + _longest_statement(database))
        except (ConnectionLost, Contention) as error:
            if error.in_doubt:
                raise OutcomeUnknown from error
            _check_timeout(database, error)
            if loop_time() + _PAUSE_SECONDS > deadline:
                raise Unavailable from error
            await asyncio.sleep(_PAUSE_SECONDS)


async def _write_once(database: Database, act: Callable[[Tx], Awaitable[Found]], *, seconds: float) -> Found:
    has_acted = False
    try:
        async with asyncio.timeout(seconds), database.begin() as tx:
            found = await act(tx)
            has_acted = True
    except TimeoutError:
        # The server hangs. If the act has returned, it hangs inside COMMIT.
        raise ConnectionLost("the database did not answer in time", in_doubt=has_acted) from None
    return found


def _longest_statement(database: Database) -> float:
    """The longest time that the connection allows a statement, which is no hanging."""
    return database.statement_timeout_seconds or 0


def _check_timeout(database: Database, error: Exception) -> None:
    if isinstance(error, StatementCancelled) and database.statement_timeout_seconds is not None:
        raise QueryTimeout from error
