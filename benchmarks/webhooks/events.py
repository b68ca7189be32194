"""Writes the events of `bench webhooks`: many at once, or a steady stream. PostgreSQL generates them."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import resources

import asyncpg

from benchmarks import database
from benchmarks.load import CannotMeasure
from benchmarks.measured_processes import Postmaster
from malipo.outbox.event import EVENTS_TOPIC

_EVERY_SECONDS = 0.02
_LOOK_SECONDS = 0.2
_PATIENCE_SECONDS = 30.0
_UNRECORDED = """
    SELECT count(*) FROM webhook_endpoints e JOIN webhook_deliveries d ON d.endpoint_id = e.id
    WHERE e.url LIKE '%/healthy/%' AND d.state = 'PENDING'
"""


class EventWriter:
    """Events are numbered from 0, in the order in which they are written."""

    def __init__(self, connection: asyncpg.Connection, merchants: int) -> None:
        self._connection = connection
        self._merchants = merchants
        self._insert = resources.files("benchmarks").joinpath("sql", "events.sql").read_text()
        self.written = 0

    @classmethod
    @asynccontextmanager
    async def opened(cls, url: str, merchants: int) -> AsyncIterator["EventWriter"]:
        connection = await asyncpg.connect(url)
        try:
            yield cls(connection, merchants)
        finally:
            await connection.close()

    async def write(self, count: int) -> range:
        """As many, in one commit; their numbers. Nobody is told of it yet."""
        events = range(self.written, self.written + count)
        await self._connection.execute(self._insert, events.start, events.stop - 1, self._merchants)
        self.written = events.stop
        return events

    async def notify(self) -> None:
        await self._connection.execute("SELECT pg_notify('malipo', $1)", EVENTS_TOPIC)

    async def stream(self, *, per_second: float, seconds: int) -> range:
        """A few at a time, as they would come; their numbers. If we are late, more come at once: the rate is kept."""
        first, began = self.written, time.monotonic()
        while (passed := time.monotonic() - began) < seconds:
            if due := int(passed * per_second) - (self.written - first):
                await self.write(due)
                await self.notify()
            rest = _EVERY_SECONDS - (time.monotonic() - began) % _EVERY_SECONDS
            await asyncio.sleep(rest)
        return range(first, self.written)

    async def told_at(self, events: range) -> dict[int, float]:
        """When each of them became true, in seconds since 1970."""
        rows = await self._connection.fetch(
            "SELECT id, extract(epoch FROM created_at)::float8 AS at FROM events WHERE id >= $1 AND id < $2",
            database.event(events.start),
            database.event(events.stop),
        )
        return {int(row["id"].removeprefix("evt_")): row["at"] for row in rows}

    async def attempts(self) -> int:
        """How often anything was tried so far, and written down."""
        return int(await self._connection.fetchval("SELECT count(*) FROM webhook_attempts"))

    async def wait_until_recorded(self) -> None:
        """Until all that a healthy endpoint has answered is delivered in the database too."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while unrecorded := await self._connection.fetchval(_UNRECORDED):
            if time.monotonic() > deadline:
                raise CannotMeasure(f"{unrecorded} deliveries have arrived and were not recorded: this is a bug.")
            await asyncio.sleep(_LOOK_SECONDS)

    async def settle(self) -> None:
        """What PostgreSQL does by itself in a database that is in use: it learns what is in the tables."""
        await self._connection.execute("VACUUM ANALYZE")

    def postmaster(self) -> Postmaster:
        return Postmaster.of(self._connection.get_server_pid())
