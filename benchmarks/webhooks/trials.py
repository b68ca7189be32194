"""`bench webhooks`: how many deliveries a second, and what those who hang or fail cost those who do not.

The same is measured twice, one after the other, each on a database of its own, in several rounds: all endpoints
healthy, and one in ten not. First a pile of events waits, which shows the most that a worker carries; then events
come steadily at half of that rate, which shows how long each takes from becoming true to its arrival.

The events are written in `events.py`. Which endpoints hang or fail is in `endpoints.py`, and what arrived is compared
in `arrivals.py`.
"""

import asyncio
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import database, measured_processes
from benchmarks.measured_processes import Running, Spending
from benchmarks.webhooks.arrivals import Arrivals, percentiles_ms
from benchmarks.webhooks.endpoints import ENDPOINTS, Endpoints, Kind
from benchmarks.webhooks.events import EventWriter
from benchmarks.webhooks.receiver import need_nginx, receiver

Say = Callable[[str], None]

ALL_HEALTHY = "all healthy"
MIXED = "mixed"


@dataclass(frozen=True)
class Plan:
    rounds: int = 3
    seconds: int = 10  # of events that come steadily
    events: int = 20  # that wait for each endpoint at first
    warm_up_events: int = 3
    merchants: int = ENDPOINTS
    servers: int = 1000 if sys.platform == "linux" else 1  # elsewhere only one address is ours


QUICK = Plan(rounds=1, seconds=5, events=6, warm_up_events=2)


@dataclass(frozen=True)
class Pile:
    """What became of the events that waited: the rate of the healthy endpoints, and the CPU of each attempt."""

    per_second: float
    worker_us: float
    postgres_us: float
    receiver_us: float


@dataclass(frozen=True)
class Stream:
    """What became of the events that came steadily: how long after each event its healthy endpoints had it."""

    per_second: float
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True)
class Run:
    """One audience in one round."""

    healthy: int  # endpoints
    pile: Pile
    stream: Stream
    memory_mb: float
    duplicates: int

    @property
    def per_endpoint(self) -> float:
        return self.pile.per_second / self.healthy


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float  # what other programs took of the machine, just before each run; of the runs, the middle
    runs: dict[str, list[Run]]

    def ratios(self) -> dict[str, float]:
        """What is left of a healthy endpoint's rate, and how much longer it waits, in bad company."""
        return {
            "healthy_rate": self._ratio(lambda run: run.per_endpoint),
            "healthy_p99": self._ratio(lambda run: run.stream.p99_ms),
        }

    def _ratio(self, figure: Callable[[Run], float]) -> float:
        return median(map(figure, self.runs[MIXED])) / median(map(figure, self.runs[ALL_HEALTHY]))


def measure(plan: Plan, say: Say) -> Report:
    need_nginx()
    runs: dict[str, list[Run]] = {ALL_HEALTHY: [], MIXED: []}
    busy: list[float] = []
    with database.postgres() as url, tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        for number in range(1, plan.rounds + 1):
            # Both are given the same steady load, so that only the company differs.
            half: float | None = None
            for system in runs:
                say(f"round {number} of {plan.rounds}: {system} ...")
                busy.append(measured_processes.busy_percent())
                audience = Endpoints(plan.merchants, is_mixed=system == MIXED, servers=plan.servers)
                run = _measure(plan, audience, half, url, Path(folder))
                half = half or run.pile.per_second / 2
                runs[system].append(run)
        return Report(plan, asyncio.run(database.version(url)), median(busy), runs)


def _measure(plan: Plan, audience: Endpoints, half: float | None, server_url: str, folder: Path) -> Run:
    url = asyncio.run(database.create(server_url, "bench", merchants=plan.merchants))
    try:
        with receiver(folder, audience.addresses) as received:
            asyncio.run(audience.register(url, port=received.nginx.port, secret_key=measured_processes.SECRET_KEY))
            arrivals = Arrivals(audience, received.log)
            with measured_processes.worker(url, folder) as worker:
                load = _Load(plan, audience, arrivals, worker, received.nginx)
                pile, stream, events = asyncio.run(load(url, half))
                memory_mb = worker.memory_mb
        # The worker has hung up, and nginx has ended: now those are logged too who never got an answer.
        arrivals.verify(events)
    finally:
        asyncio.run(database.drop(server_url, "bench"))
    return Run(len(audience.places(Kind.HEALTHY)), pile, stream, memory_mb, arrivals.duplicates)


@dataclass(frozen=True)
class _Load:
    plan: Plan
    audience: Endpoints
    arrivals: Arrivals
    worker: Running
    nginx: Running

    async def __call__(self, url: str, half: float | None) -> tuple[Pile, Stream, range]:
        async with EventWriter.opened(url, self.plan.merchants) as news:
            await self._pile(news, self.plan.warm_up_events)
            await news.settle()
            pile = await self._pile(news, self.plan.events)
            stream = await self._stream(news, half or pile.per_second / 2)
            return pile, stream, range(news.written)

    async def _pile(self, news: EventWriter, events_each: int) -> Pile:
        events = await news.write(events_each * self.plan.merchants)
        processes: tuple[Spending, ...] = (self.worker, news.postmaster(), self.nginx)
        before, attempts = [each.cpu_seconds for each in processes], await news.attempts()
        await news.notify()
        arrived = await self.arrivals.wait_for(events)
        await news.wait_until_recorded()
        attempts = await news.attempts() - attempts
        took = [(each.cpu_seconds - then) / attempts * 1e6 for each, then in zip(processes, before, strict=True)]
        return Pile(len(arrived) / (max(arrived.values()) - min(arrived.values())), *took)

    async def _stream(self, news: EventWriter, per_second: float) -> Stream:
        events = await news.stream(per_second=per_second / self.audience.endpoints_each, seconds=self.plan.seconds)
        arrived = await self.arrivals.wait_for(events)
        reported = await news.told_at(events)
        p50_ms, p99_ms = percentiles_ms([at - reported[event] for (_, event), at in arrived.items()])
        return Stream(len(arrived) / self.plan.seconds, p50_ms, p99_ms)
