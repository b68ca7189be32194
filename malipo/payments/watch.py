"""Holds a reader until the status of a transaction changes.

All readers of a process share one look at the database every fifth of a second, and there is none when nobody
waits. That needs no connection of its own, finds changes made by any process, and survives a fail-over.
"""

import asyncio
from dataclasses import dataclass, field

from malipo import log
from malipo.db import ConnectionLost, Database
from malipo.payments.store import transactions
from malipo.payments.transaction import Status

_LOOK_SECONDS = 0.2
_LOOK_PATIENCE_SECONDS = 2


@dataclass(eq=False)
class _Watcher:
    key: transactions.Key
    status: Status
    changed: asyncio.Event = field(default_factory=asyncio.Event)


class Watch:
    def __init__(self, database: Database) -> None:
        self._database = database
        self._watchers: set[_Watcher] = set()
        self._looking: asyncio.Task[None] | None = None
        self._is_released = False

    async def until_changed(self, merchant_id: str, transaction_id: str, status: Status, *, seconds: float) -> None:
        """Return when the transaction is no longer in this status, or when the time has passed."""
        if self._is_released:
            return
        watcher = _Watcher((merchant_id, transaction_id), status)
        self._watchers.add(watcher)
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look())
        try:
            async with asyncio.timeout(seconds):
                await watcher.changed.wait()
        except TimeoutError:
            pass
        finally:
            self._watchers.discard(watcher)

    def release(self) -> None:
        """Let everybody go with what there is: the process is stopping."""
        self._is_released = True
        for watcher in self._watchers:
            watcher.changed.set()

    async def _look(self) -> None:
        while self._watchers:
            await asyncio.sleep(_LOOK_SECONDS)
            keys = {each.key for each in self._watchers}
            try:
                async with asyncio.timeout(_LOOK_PATIENCE_SECONDS), self._database.read() as connection:
                    found = await transactions.find_statuses(connection, keys)
            except (ConnectionLost, TimeoutError) as error:
                log.debug("watch.database_away", reason=str(error))
                continue
            for watcher in self._watchers:
                if watcher.key in keys and found.get(watcher.key) is not watcher.status:
                    watcher.changed.set()
