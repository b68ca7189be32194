"""A circuit breaker: stops sending to a network that is down, and probes whether it is back.

Each worker counts faults in a row. An open circuit is stored in the database, so that all workers stop, the API can
report it, and one worker at a time probes.
"""

import asyncio
from collections.abc import Awaitable, Collection, Mapping

from malipo import log
from malipo.clock import Clock, loop_time
from malipo.db import Tx
from malipo.db.queries import Queries
from malipo.metrics.process_metrics import Metrics
from malipo.networks import circuit_store
from malipo.networks.circuit_store import Outage
from malipo.networks.connector import Answer, Connector
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import LOOK_SECONDS, RARE_LOOK_SECONDS, run_forever

_FAULTS = 5
_PROBE_SECONDS = (2.0, 5.0, 10.0, 30.0, 60.0)
_MARGIN_SECONDS = 30.0


class OpenCircuits:
    """The open circuits, read once for all circuit breakers of this worker that look at about the same time."""

    def __init__(self, queries: Queries) -> None:
        self._queries = queries
        self._found: Mapping[str, Outage] = {}
        self._good_until = 0.0
        self._reading = asyncio.Lock()

    async def find(self, connector: str) -> Outage | None:
        async with self._reading:
            if loop_time() >= self._good_until:
                self._found = await self._queries.read(circuit_store.find_down)
                self._good_until = loop_time() + LOOK_SECONDS / 2
        return self._found.get(connector)

    def forget(self) -> None:
        """Read the open circuits again at the next look."""
        self._good_until = 0.0


class CircuitBreaker:
    def __init__(
        self, connector: Connector, open_circuits: OpenCircuits, queries: Queries, metrics: Metrics, clock: Clock
    ) -> None:
        self._connector = connector
        self._open_circuits = open_circuits
        self._queries = queries
        self._clock = clock
        self._faults = 0
        self._reason: str | None = None  # why this worker opens the circuit, until that is stored
        self._to_look = asyncio.Event()
        self.is_open = False
        metrics.watch_circuit(connector.name, lambda: self.is_open)

    async def run(self, loops: LoopHealth) -> None:
        """Run until cancelled."""
        await run_forever(
            "circuit",
            self.look,
            self._to_look,
            seconds=None,
            look_seconds=RARE_LOOK_SECONDS,
            loops=loops,
            route=self._connector.name,
        )

    def wake(self, down: Collection[str]) -> None:
        """Look at the stored state, if this connector is among those that are down, or was."""
        if self.is_open or self._connector.name in down:
            self._to_look.set()

    def note(self, answer: Answer) -> None:
        """Count the outcome of a call."""
        self._faults = self._faults + 1 if _is_trouble(answer) else 0
        if self._faults >= _FAULTS and not self.is_open:
            self._faults = 0
            self._reason = _reason_of(answer)
            self.is_open = True
            self._to_look.set()

    async def look(self) -> bool:
        """Read the stored state, and probe if a probe is due."""
        if self._reason is not None:
            await self._open(self._reason)
            self._reason = None
            self._open_circuits.forget()
        down = await self._open_circuits.find(self._connector.name)
        self.is_open = down is not None or self._reason is not None
        if down is not None and down.is_due and await self._claim_probe():
            await self._probe(down.probe_count)
        return False

    async def _open(self, reason: str) -> None:
        def act(tx: Tx) -> Awaitable[bool]:
            now = self._clock()
            return circuit_store.open_circuit(
                tx, self._connector.name, reason, probe_seconds=_PROBE_SECONDS[0], now=now
            )

        if await self._queries.write(act):
            log.error("network.down", route=self._connector.name, reason=reason)

    async def _claim_probe(self) -> bool:
        lease = self._connector.timeout_seconds + _MARGIN_SECONDS
        return await self._queries.write(
            lambda tx: circuit_store.claim_probe(tx, self._connector.name, lease_seconds=lease)
        )

    async def _probe(self, probe_count: int) -> None:
        answer = await self._connector.probe()
        self._open_circuits.forget()
        if not _is_trouble(answer):
            self.is_open = False
            if await self._queries.write(lambda tx: circuit_store.close_circuit(tx, self._connector.name)):
                log.info("network.up", route=self._connector.name)
            return
        pause = _PROBE_SECONDS[min(probe_count + 1, len(_PROBE_SECONDS) - 1)]
        await self._queries.write(
            lambda tx: circuit_store.put_off(tx, self._connector.name, _reason_of(answer), probe_seconds=pause)
        )


def _reason_of(answer: Answer) -> str:
    return f"{answer.code} {answer.detail}".strip()


def _is_trouble(answer: Answer) -> bool:
    """Whether the answer counts towards opening the circuit: a fault, or a refusal that every customer would get, so
    that payments should wait instead of failing one after another.

    A refusal of one customer never counts.
    """
    return answer.is_fault or answer.refuses_us
