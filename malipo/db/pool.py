"""The pool of connections: kept open, each lent to one user at a time, the last used first.

The driver has a pool of its own. It makes a task for each loan and another for each return, which takes longer than a
short statement (decision 21); here a connection that is idle changes hands without a turn of the event loop.
"""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from contextlib import suppress

import asyncpg

from malipo.clock import loop_time

# A firewall may drop a connection that was idle for longer, without notifying either end.
_KEPT_SECONDS = 300.0
# While the server is away, one waiting caller tries to connect this often, and not all of them all the time. They do
# not wait for each other's tries, because a try may hang.
_LOOK_SECONDS = 0.1
# A caller waits at most this long for its turn to try. Otherwise callers with less time would use up turns without
# trying.
_MOST_LOOK_SECONDS = 0.5


class Pool:
    def __init__(self, connect: Callable[[], Awaitable[asyncpg.Connection]], *, size: int) -> None:
        self._connect = connect
        self._size = size
        self._idle: list[tuple[asyncpg.Connection, float]] = []  # each with the time since when it is idle
        self._lent: set[asyncpg.Connection] = set()
        self._places = 0  # for connections that are being made, or that a waiting caller may make
        self._waiting: deque[asyncio.Future[asyncpg.Connection | None]] = deque()
        self._all_back = asyncio.Event()
        self._is_away = False
        self._look_at = 0.0  # the time of the last turn that was given to a caller
        self._is_closed = False

    @property
    def idle(self) -> int:
        return len(self._idle)

    @property
    def in_use(self) -> int:
        return len(self._lent)

    async def take(self, *, seconds: float) -> asyncpg.Connection:
        """A connection that nobody else has. TimeoutError if none comes back in time."""
        if self._is_closed:
            raise asyncpg.InterfaceError("the pool is closed")
        connection = self._idle_one()
        if connection is None:
            if len(self._lent) + self._places < self._size:
                self._places += 1
            else:
                connection = await self._wait(seconds)
        if connection is None:
            connection = await self._new_one()
        self._lent.add(connection)
        return connection

    def give_back(self, connection: asyncpg.Connection) -> None:
        self._lent.remove(connection)
        if self._is_closed or connection.is_closed() or connection.is_in_transaction():
            _end(connection)
            self._pass_place_on()
        elif (turn := self._next()) is not None:
            self._lent.add(connection)  # Handed over directly, so that no later caller can take it.
            turn.set_result(connection)
        else:
            self._idle.append((connection, loop_time()))
        if not self._lent:
            self._all_back.set()

    async def close(self) -> None:
        """Close idle connections, and wait for those in use. Callers that wait for a connection get an error."""
        self._is_closed = True
        while (turn := self._next()) is not None:
            turn.set_exception(asyncpg.InterfaceError("the pool is closed"))
        idle, self._idle = self._idle, []
        await asyncio.gather(*(connection.close(timeout=1) for connection, _ in idle), return_exceptions=True)
        while self._lent:
            self._all_back.clear()
            await self._all_back.wait()

    def terminate(self) -> None:
        """Close the connections that are still in use."""
        for connection in self._lent:
            _end(connection)

    def _idle_one(self) -> asyncpg.Connection | None:
        while self._idle:
            connection, since = self._idle.pop()
            if not connection.is_closed() and loop_time() - since < _KEPT_SECONDS:
                return connection
            _end(connection)
        return None

    async def _new_one(self) -> asyncpg.Connection:
        """Make a connection, whose place in the pool is counted already."""
        try:
            connection = await self._connect_or_look()
        except BaseException:
            self._places -= 1
            self._pass_place_on()
            raise
        self._places -= 1
        if self._is_closed:
            _end(connection)
            raise asyncpg.InterfaceError("the pool is closed")
        return connection

    async def _connect_or_look(self) -> asyncpg.Connection:
        if self._is_away:
            now = loop_time()
            self._look_at = min(max(self._look_at, now) + _LOOK_SECONDS, now + _MOST_LOOK_SECONDS)
            await asyncio.sleep(self._look_at - now)
        try:
            connection = await self._connect()
        except Exception:
            self._is_away = True
            raise
        self._is_away = False
        return connection

    async def _wait(self, seconds: float) -> asyncpg.Connection | None:
        """Wait for a connection that is given back; None if there is room for a new one instead."""
        turn: asyncio.Future[asyncpg.Connection | None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            async with asyncio.timeout(seconds):
                return await turn
        except BaseException:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self._decline(turn.result())  # It was offered just when our wait ended.
            raise

    def _decline(self, offered: asyncpg.Connection | None) -> None:
        if offered is not None:
            self.give_back(offered)
        else:
            self._places -= 1
            self._pass_place_on()

    def _pass_place_on(self) -> None:
        if (turn := self._next()) is not None:
            self._places += 1
            turn.set_result(None)

    def _next(self) -> "asyncio.Future[asyncpg.Connection | None] | None":
        """The caller that has waited longest and still waits."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                return turn
        return None


def _end(connection: asyncpg.Connection) -> None:
    with suppress(asyncpg.InterfaceError):  # It may have ended by itself.
        connection.terminate()
