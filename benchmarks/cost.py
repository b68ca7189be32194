"""`bench cost`: the processor time that one payment takes, by part.

Two loads: `create`, as fast as payments are taken, and whole payments at a rate that every machine carries. Processor
time, unlike a rate, hardly changes when others use the machine; so two versions can be compared by it.
"""

import asyncio
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from benchmarks import database, load, measured_processes
from benchmarks.journey.load import Load
from benchmarks.journey.processes import Parts, parts
from benchmarks.journey.trials import remember
from benchmarks.journey.verify import Arrivals, Verification
from benchmarks.measured_processes import Postmaster
from benchmarks.webhooks.receiver import need_nginx

Say = Callable[[str], None]
Microseconds = dict[str, float]  # of a payment, by part

_CONNECTIONS = 64
_PARTS = ("api", "worker", "postgresql")  # The simulator, nginx and wrk are not ours to make cheaper.


@dataclass(frozen=True)
class Plan:
    seconds: int = 10
    warm_up_seconds: int = 2
    rate: int = 150  # whole payments a second
    merchants: int = database.MERCHANTS


QUICK = Plan(seconds=5, warm_up_seconds=1)


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    us: dict[str, Microseconds]  # by load


def measure(plan: Plan, say: Say) -> Report:
    load.need_wrk()
    need_nginx()
    with database.postgres() as url:
        busy = measured_processes.busy_percent()
        say("create ...")
        create = _create(plan, url)
        say("whole payments ...")
        journey = _journey(plan, url)
        return Report(plan, asyncio.run(database.version(url)), busy, {"create": create, "journey": journey})


def _create(plan: Plan, server_url: str) -> Microseconds:
    url = asyncio.run(database.create(server_url, "bench"))
    try:
        with (
            tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder,
            measured_processes.malipo(url, Path(folder)) as running,
        ):
            postmaster = asyncio.run(Postmaster.of_database(url))
            load.wrk(running.port, word="warm-up", connections=_CONNECTIONS, seconds=plan.warm_up_seconds)
            before = running.cpu_seconds, postmaster.cpu_seconds
            answers = load.wrk(running.port, word="full", connections=_CONNECTIONS, seconds=plan.seconds).answers
            after = running.cpu_seconds, postmaster.cpu_seconds
            measured_processes.check_ledger(url, Path(folder))
    finally:
        asyncio.run(database.drop(server_url, "bench"))
    api, postgresql = ((later - sooner) / answers * 1e6 for sooner, later in zip(before, after, strict=True))
    return {"api": api, "postgresql": postgresql}


def _journey(plan: Plan, server_url: str) -> Microseconds:
    url = asyncio.run(database.create(server_url, "bench", merchants=plan.merchants + 1))
    try:
        with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
            asyncio.run(remember(url, database.merchant(plan.merchants + 1)))
            with parts(url, Path(folder), of_each=1, merchants=plan.merchants) as running:
                took = asyncio.run(_stream(plan, running, url))
            measured_processes.check_ledger(url, Path(folder))
    finally:
        asyncio.run(database.drop(server_url, "bench"))
    return took


async def _stream(plan: Plan, running: Parts, url: str) -> Microseconds:
    connection = await asyncpg.connect(url)
    try:
        arrivals = Arrivals(running.received.log)
        books = Verification(
            connection, arrivals, running.simulator_port, last_merchant=database.merchant(plan.merchants)
        )
        customers = Load(running, books, merchants=plan.merchants, connections=_CONNECTIONS)
        await customers.stream(plan.rate, plan.warm_up_seconds, connections=_CONNECTIONS)
        stream = await customers.stream(plan.rate, plan.seconds, connections=_CONNECTIONS)
        await books.verify(customers.answers, customers.cut_off)
    finally:
        await connection.close()
    return {part: stream.cpu_seconds[part] / stream.payments * 1e6 for part in _PARTS}
