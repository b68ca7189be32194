"""Simulated loops for tests of the parts, without a database."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from simulation.event_loop import SimulatedLoop
from simulation.history import History
from simulation.memory_network import MemoryNetwork
from simulation.postgres_gate import PostgresGate


@contextmanager
def opened(seed: int = 0, *, gate: PostgresGate | None = None) -> Iterator[SimulatedLoop]:
    no_monitor: Any = None  # Nobody is blocked where there is no database.
    history = History(keeps_lines=True)
    loop = SimulatedLoop(random.Random(seed), gate or PostgresGate(no_monitor), MemoryNetwork(), history)
    loop.set_exception_handler(lambda _, context: None)  # Tasks of killed processes are destroyed while they wait.
    try:
        yield loop
    finally:
        loop.close()
