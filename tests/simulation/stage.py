"""A simulated loop with a gate to a real PostgreSQL, for tests of the gate."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import asyncpg

from simulation.blocking_connection import LockMonitor
from simulation.database import SimulatedDatabase
from simulation.event_loop import SimulatedLoop
from simulation.postgres_gate import PostgresGate
from simulation.template import Server
from tests.simulation.loops import opened


class Stage:
    """A loop, a gate and a database of its own with two counters."""

    def __init__(self, server: Server, loop: SimulatedLoop, database: SimulatedDatabase) -> None:
        self.server = server
        self.loop = loop
        self.gate = loop.gate
        self.database = database
        self._connections: list[Any] = []
        database.look().ask("CREATE TABLE counters (id int PRIMARY KEY, value int NOT NULL)")
        database.look().ask("INSERT INTO counters VALUES (1, 0), (2, 0)")

    async def connect(self) -> Any:
        # Without names for statements, which asyncpg counts across tests.
        connection = await asyncpg.connect(self.database.url, statement_cache_size=0)
        self._connections.append(connection)
        return connection

    def close(self) -> None:
        """Those of killed processes too: the driver warns of what nobody closed."""
        for connection in self._connections:
            connection.terminate()

    def run(self, *acts: Callable[[], Awaitable[object]]) -> list[Any]:
        """Each as a process of its own; what they return or raise."""

        async def all_() -> list[Any]:
            tasks = [self.loop.start(f"process{n}", act()) for n, act in enumerate(acts, 1)]
            return await asyncio.gather(*tasks, return_exceptions=True)

        found: list[Any] = self.loop.run_until_complete(all_())
        return found

    def values(self) -> list[int]:
        return [int(value or 0) for [value] in self.database.look().ask("SELECT value FROM counters ORDER BY id")]

    def events(self, *kinds: str) -> list[str]:
        words = [line.split() for line in self.loop.history.lines or ()]
        return [word[1] for word in words if word[1] in kinds]


def staged(server: Server, seed: int, name: str = "gate_test") -> Iterator[Stage]:
    monitor = server.connect()
    database = SimulatedDatabase(server, name)
    try:
        gate = PostgresGate(LockMonitor(monitor))
        database.join(gate)
        with opened(seed, gate=gate) as loop:
            stage = Stage(server, loop, database)
            yield stage
            stage.close()
    finally:
        database.drop()
        monitor.close()
