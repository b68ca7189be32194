"""Looks once a second for work that is due, for all loops of a worker, and wakes those that have some.

A notification wakes a loop for new work. Work that becomes due by its time (a status query, a payment that is sent
again, the lease of a worker that died) is found here, and so is work whose notification was lost. If each loop looked
by itself, a worker with six networks would run eighty statements a second without any work (decision 51).
"""

from collections.abc import Callable, Collection, Sequence

from malipo.db import Database
from malipo.networks import circuit_store
from malipo.networks.connector import Channel, Type
from malipo.outbox import feed_numbers
from malipo.outbox.event import EVENTS_TOPIC
from malipo.payments.batches.store import batches
from malipo.payments.store import claims
from malipo.worker.circuit_breaker import CircuitBreaker
from malipo.worker.first_worker import Precedence
from malipo.worker.loop_health import LoopHealth
from malipo.worker.poll_loop import run_forever

# A topic that no other process sends.
BATCHES_TOPIC = "batches"

_ALSO = f"""
    SELECT {feed_numbers.has_unnumbered_sql("$1::float8")}, {batches.IS_ANY_RUNNING}, {circuit_store.DOWN}
"""


def resend_topic(connector: str) -> str:
    """The topic of payments that this connector may send again, because its network provably does not have them."""
    return f"{connector} again"


async def wake_due(
    database: Database,
    wake: Callable[[str], None],
    *,
    routes: Collection[tuple[Channel, Type]],
    connectors: Collection[str],
    circuits: Sequence[CircuitBreaker],
    precedence: Precedence,
    seconds: float,
    loops: LoopHealth,
) -> None:
    """Run until cancelled. Of work for which another worker is first, only what is late counts."""
    late = precedence.late_seconds

    async def look() -> bool:
        async with database.read() as connection:
            due = await claims.find_due(
                connection, {each: late(each[0]) for each in routes}, {each: late(each) for each in connectors}
            )
            topics = [*due.channels, *due.to_query, *map(resend_topic, due.to_send_again)]
            row = await connection.fetchrow(_ALSO, late(EVENTS_TOPIC))
            assert row is not None
            has_events, is_batch_running, down = row.values()
            if has_events:
                topics.append(EVENTS_TOPIC)
            if is_batch_running:
                topics.append(BATCHES_TOPIC)
        for circuit in circuits:
            circuit.wake(down)
        for topic in topics:
            wake(topic)
        return False

    await run_forever("due", look, seconds=seconds, loops=loops)
