"""Monitors the installation in each process: its schema; and its fence, holds and epoch, for the metrics and the log.

No payment depends on the latter: claims and new payments read the installation's row in their own commit.
"""

import asyncio

from malipo import log
from malipo.db import ConnectionLost, Database
from malipo.db.schema_monitor import SchemaMonitor
from malipo.errors import Unavailable
from malipo.restore.installation import Installation
from malipo.restore.store import installation

EVERY_SECONDS = 1.0
_PATIENCE_SECONDS = 10.0


class InstallationMonitor:
    def __init__(self, database: Database) -> None:
        self._database = database
        self.schema = SchemaMonitor(database)
        self._last: Installation | None = None

    @property
    def is_fenced(self) -> float:
        """1 or 0; NaN until the first look."""
        return float("nan") if self._last is None else float(self._last.is_fenced)

    @property
    def is_held(self) -> float:
        return float("nan") if self._last is None else float(self._last.held_at is not None)

    @property
    def epoch(self) -> float:
        return float("nan") if self._last is None else float(self._last.epoch)

    async def watch(self) -> None:
        """Run until cancelled, the first look at once."""
        while True:
            await self.look()
            await asyncio.sleep(EVERY_SECONDS)

    async def look(self) -> None:
        """Look once. While the database is away, the last state stays.

        If the schema has changed since the last look, the database may not be migrated yet, and is read at the next
        look. While the schema stays, one statement reads everything.
        """
        if not self.schema.is_served:
            await self.schema.look()
        if not self.schema.is_served:
            return
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS), self._database.read() as connection:
                state, fingerprint = await installation.get_with_schema(connection)
        except (ConnectionLost, Unavailable, TimeoutError) as error:
            log.debug("installation.not_seen", reason=str(error))
            return
        except Exception as error:
            await self.schema.look()
            if self.schema.is_served:
                log.error("installation.monitor_broke", error)
            return
        if not self.schema.is_known(fingerprint):
            await self.schema.look()
        if self.schema.is_served:
            self.note(state)

    def note(self, now: Installation) -> None:
        """Log changes of the state; at the start, a fence or a hold."""
        before, self._last = self._last, now
        was_fenced, was_held = (before.is_fenced, before.held_at is not None) if before else (False, False)
        if now.is_fenced and not was_fenced:
            log.warning("installation.is_fenced", epoch=now.epoch, since=now.fenced_at, reason=now.fence_reason)
        elif was_fenced and not now.is_fenced:
            log.info("installation.released", epoch=now.epoch)
        if now.held_at is not None and not was_held:
            log.warning("installation.is_held", since=now.held_at, by=now.held_by, reason=now.hold_reason)
        elif was_held and now.held_at is None:
            log.info("installation.hold_ended")
