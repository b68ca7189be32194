"""`bench remote`: what it costs when PostgreSQL is on another machine.

The same loads as in `bench cost`, once with the API and the worker on PostgreSQL's own socket, and then behind a proxy
of ours (`latency_proxy.py`) that answers later: at once, 0.5 ms and 2 ms later. The distances take turns, and in every
other round in the opposite order. The proxy that adds nothing shows what the proxy itself takes from the machine.
"""

import asyncio
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from urllib.parse import parse_qs, urlsplit

import asyncpg

from benchmarks import database, load, measured_processes
from benchmarks.journey.load import Load
from benchmarks.journey.processes import Parts, parts
from benchmarks.journey.trials import remember
from benchmarks.journey.verify import Arrivals, Verification
from benchmarks.load import Measured
from benchmarks.measured_processes import Postmaster, Running
from benchmarks.rounds import Say
from benchmarks.webhooks.arrivals import percentiles_ms
from benchmarks.webhooks.receiver import need_nginx

Microseconds = dict[str, float]  # of a payment, by part
Distance = float | None  # milliseconds that a round trip takes longer; None is PostgreSQL's own socket

LOCAL: Distance = None
_LOOKS = 200  # round trips that are measured, one after the other
_PARTS = ("api", "worker", "postgresql", "proxy")


@dataclass(frozen=True)
class Plan:
    rounds: int = 3
    seconds: int = 10
    warm_up_seconds: int = 2
    pile_seconds: int = 3
    rate: int = 150  # whole payments a second, when their processor time and their delay are measured
    connections: int = 64
    merchants: int = database.MERCHANTS
    distances: tuple[Distance, ...] = (LOCAL, 0, 0.5, 2)


QUICK = Plan(rounds=1, seconds=4, warm_up_seconds=1, pile_seconds=1)


@dataclass(frozen=True)
class Created:
    """Collections as fast as they are taken."""

    measured: Measured
    cpu_us: Microseconds


@dataclass(frozen=True)
class Whole:
    """Whole payments: as fast as a pile of them is worked off, and at a rate that every distance carries."""

    pile_per_second: float
    p50_ms: float  # from the creation to the webhook, the customer's time included
    p99_ms: float
    cpu_us: Microseconds


@dataclass(frozen=True)
class Run:
    """One distance in one round."""

    round_trip_ms: float  # of a SELECT, the middle; measured from here, as the API and the worker see it
    create: Created
    journey: Whole


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float  # what other programs took of the machine, just before each run; of the runs, the middle
    runs: dict[Distance, list[Run]]


@dataclass(frozen=True)
class Route:
    """A way to the database: the services take `url`, whoever verifies takes `direct`."""

    url: str
    direct: str
    proxy: Running | None

    @property
    def proxy_seconds(self) -> float:
        return self.proxy.cpu_seconds if self.proxy else 0.0


def measure(plan: Plan, say: Say) -> Report:
    load.need_wrk()
    need_nginx()
    runs: dict[Distance, list[Run]] = {distance: [] for distance in plan.distances}
    busy: list[float] = []
    with database.postgres() as server_url:
        for number in range(1, plan.rounds + 1):
            for distance in plan.distances if number % 2 else reversed(plan.distances):
                say(f"round {number} of {plan.rounds}: {name(distance)} ...")
                busy.append(measured_processes.busy_percent())
                runs[distance].append(_run(plan, distance, server_url))
        return Report(plan, asyncio.run(database.version(server_url)), median(busy), runs)


def name(distance: Distance) -> str:
    return "local socket" if distance is None else f"proxy, +{distance:g} ms"


def _run(plan: Plan, distance: Distance, server_url: str) -> Run:
    with _database(plan, server_url) as direct, route(direct, distance) as way:
        round_trip_ms = asyncio.run(_round_trip_ms(way.url))
        create = _create(plan, way)
    with _database(plan, server_url) as direct, route(direct, distance) as way:
        return Run(round_trip_ms, create, _journey(plan, way))


@contextmanager
def _database(plan: Plan, server_url: str) -> Iterator[str]:
    url = asyncio.run(database.create(server_url, "bench", merchants=plan.merchants + 1))
    try:
        yield url
        with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
            measured_processes.check_ledger(url, Path(folder))
    finally:
        asyncio.run(database.drop(server_url, "bench"))


@contextmanager
def route(direct: str, distance: Distance) -> Iterator[Route]:
    """The way to a database of our own server, as long as the block lasts."""
    if distance is None:
        yield Route(direct, direct, None)
        return
    address = urlsplit(direct)
    [folder], [number] = (parse_qs(address.query)[name] for name in ("host", "port"))
    with proxy(Path(folder) / f".s.PGSQL.{number}", distance) as running:
        url = f"postgresql://{address.username}@127.0.0.1:{running.port}{address.path}?sslmode=disable"
        yield Route(url, direct, running)


@contextmanager
def proxy(socket: Path, round_trip_ms: float) -> Iterator[Running]:
    port = measured_processes.free_port()
    command = [
        *(sys.executable, "-m", "benchmarks.latency_proxy", "--port", str(port)),
        *("--socket", str(socket), "--round-trip-ms", str(round_trip_ms)),
    ]
    with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        log = Path(folder) / "proxy.log"
        with measured_processes.started(command, {}, log, measured_processes.says(log, "listening"), port) as running:
            yield running


async def _round_trip_ms(url: str) -> float:
    connection = await asyncpg.connect(url)
    try:
        times = []
        for _ in range(_LOOKS):
            began = perf_counter()
            await connection.fetchval("SELECT 1")
            times.append(perf_counter() - began)
        return median(times) * 1000
    finally:
        await connection.close()


def _create(plan: Plan, way: Route) -> Created:
    with (
        tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder,
        measured_processes.malipo(way.url, Path(folder)) as running,
    ):
        postmaster = asyncio.run(Postmaster.of_database(way.direct))

        def spent() -> Microseconds:
            return {"api": running.cpu_seconds, "postgresql": postmaster.cpu_seconds, "proxy": way.proxy_seconds}

        load.wrk(running.port, word="warm-up", connections=plan.connections, seconds=plan.warm_up_seconds)
        before = spent()
        full = load.wrk(running.port, word="full", connections=plan.connections, seconds=plan.seconds)
        after = spent()
    return Created(full, {part: (after[part] - before[part]) / full.answers * 1e6 for part in after})


def _journey(plan: Plan, way: Route) -> Whole:
    asyncio.run(remember(way.direct, database.merchant(plan.merchants + 1)))
    with (
        tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder,
        parts(way.url, Path(folder), of_each=1, merchants=plan.merchants) as running,
    ):
        if way.proxy:
            running.processes["proxy"] = [way.proxy]
        return asyncio.run(_stream(plan, running, way))


async def _stream(plan: Plan, running: Parts, way: Route) -> Whole:
    connection = await asyncpg.connect(way.direct)
    try:
        books = Verification(
            connection,
            Arrivals(running.received.log),
            running.simulator_port,
            last_merchant=database.merchant(plan.merchants),
        )
        customers = Load(running, books, merchants=plan.merchants, connections=plan.connections)
        await customers.stream(plan.rate, plan.warm_up_seconds, connections=plan.connections)
        pile_per_second = await customers.pile(plan.pile_seconds)
        stream = await customers.stream(plan.rate, plan.seconds, connections=plan.connections)
        await books.verify(customers.answers, customers.cut_off)
        p50_ms, p99_ms = percentiles_ms(await books.delays(stream.began, stream.ended))
    finally:
        await connection.close()
    cpu_us = {part: stream.cpu_seconds.get(part, 0.0) / stream.payments * 1e6 for part in _PARTS}
    return Whole(pile_per_second, p50_ms, p99_ms, cpu_us)
