"""Wakes workers by NOTIFY and LISTEN: sent after a commit, and never relied on.

NOTIFY inside a commit would make all commits of the fleet queue for one lock while they flush. So it is sent on its
own, after the commit, and once for all topics of a moment. If a notification is lost, the worker finds the work at its
next poll.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import asyncpg

from malipo import log
from malipo.db import Conn, ConnectionLost, Contention, Database

_CHANNEL = "malipo"
_PAUSE_SECONDS = 0.05
_AGAIN_SECONDS = 1.0
_CONNECT_SECONDS = 5.0


class Notifier:
    """Sends the notifications of one process."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._topics: dict[str, None] = {}  # in the order in which they came
        self._sending: asyncio.Task[None] | None = None

    def notify(self, topic: str) -> None:
        self._topics[topic] = None
        if self._sending is None or self._sending.done():
            self._sending = asyncio.get_running_loop().create_task(self._notify())

    async def finish(self) -> None:
        if self._sending is not None:
            await asyncio.wait([self._sending], timeout=1)

    async def _notify(self) -> None:
        while self._topics:
            topics, self._topics = list(self._topics), {}
            try:
                async with asyncio.timeout(_CONNECT_SECONDS), self._database.read() as connection:
                    await connection.execute(
                        "SELECT pg_notify($1, topic) FROM unnest($2::text[]) topic", _CHANNEL, topics
                    )
            except (ConnectionLost, Contention, TimeoutError) as error:
                log.debug("notify.not_sent", reason=str(error))
                return
            await asyncio.sleep(_PAUSE_SECONDS)


async def listen(url: str, hear: Callable[[str], None]) -> None:
    """Call `hear` with each topic, until cancelled; with an empty one when notifications may have been missed."""
    while True:
        try:
            connection = await asyncpg.connect(
                url, timeout=_CONNECT_SECONDS, server_settings={"application_name": "malipo listener"}
            )
            try:
                await _listen_on(connection, hear)
            finally:
                connection.terminate()
        except Exception as error:
            # Whatever the driver raises when the server goes away: the listener must not end.
            log.debug("notify.listener_away", reason=str(error))
        await asyncio.sleep(_AGAIN_SECONDS)


async def _listen_on(connection: asyncpg.Connection, hear: Callable[[str], None]) -> None:
    gone = asyncio.Event()
    connection.add_termination_listener(lambda _: gone.set())
    await connection.add_listener(_CHANNEL, lambda _connection, _pid, _channel, topic: hear(str(topic)))
    hear("")
    await gone.wait()


# Long polling: holds requests until what they read has changed.
#
# All waiting requests of a process share one query every fifth of a second; without them there is none. It needs no
# connection of its own, finds changes made by any process, and survives a fail-over.


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")

_LOOK_SECONDS = 0.2
_LOOK_PATIENCE_SECONDS = 2


@dataclass(eq=False)
class _Watcher(Generic[Key, Value]):
    key: Key
    value: Value | None
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class LongPoll(Generic[Key, Value]):
    """`find` looks up the present values of many keys at once."""

    def __init__(
        self, database: Database, find: Callable[[Conn, Collection[Key]], Awaitable[Mapping[Key, Value]]]
    ) -> None:
        self._database = database
        self._find = find
        self._watchers: dict[_Watcher[Key, Value], None] = {}  # in the order in which they came
        self._looking: asyncio.Task[None] | None = None
        self.is_released = False

    @property
    def waiting(self) -> int:
        """How many requests wait here."""
        return len(self._watchers)

    async def until_changed(self, key: Key, value: Value | None, *, seconds: float) -> None:
        """Return when the value is no longer this one, or when the time has passed. None stands for no value at all."""
        if self.is_released:
            return
        watcher = _Watcher(key, value)
        self._watchers[watcher] = None
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        try:
            async with asyncio.timeout(seconds):
                await watcher.changed.wait()
        except TimeoutError:
            pass
        finally:
            self._watchers.pop(watcher, None)

    def release(self) -> None:
        """End all waits now: the process is stopping."""
        self.is_released = True
        for watcher in self._watchers:
            watcher.changed.set()

    async def _look(self) -> None:
        while self._watchers:
            await asyncio.sleep(_LOOK_SECONDS)
            keys = dict.fromkeys(each.key for each in self._watchers)
            try:
                async with asyncio.timeout(_LOOK_PATIENCE_SECONDS), self._database.read() as connection:
                    found = await self._find(connection, keys)
            except (ConnectionLost, TimeoutError) as error:
                log.debug("long_poll.database_away", reason=str(error))
                continue
            for watcher in self._watchers:
                if watcher.key in keys and found.get(watcher.key) != watcher.value:
                    watcher.changed.set()
