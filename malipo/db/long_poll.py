"""Long polling: requests wait until the data that they read has changed.

All waiting requests of a process share one query every fifth of a second; without them there is none. It needs no
connection of its own, finds changes made by any process, and survives a fail-over.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from malipo import log
from malipo.db import Conn, ConnectionLost, Database

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
        """The number of waiting requests."""
        return len(self._watchers)

    async def until_changed(self, key: Key, value: Value | None, *, seconds: float) -> None:
        """Return when the value has changed from this one, or when the time has passed. None is the absence of a
        value."""
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
