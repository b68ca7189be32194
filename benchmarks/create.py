"""`bench create`: how many collections a second, beside PostgreSQL alone and beside a conventional service.

All three do the same work on the same tables, one after the other, each on a database of its own, in several rounds:
on a shared machine neighbours come and go, and the middle of the rounds bears that best.
"""

import asyncio
import tempfile
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import database, load, systems
from benchmarks.load import CannotMeasure, Measured
from benchmarks.systems import Running

CLIENTS = (4, 16, 64)

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    rounds: int = 3
    seconds: int = 10
    warm_up_seconds: int = 3
    connections: int = 64


QUICK = Plan(rounds=1, seconds=3, warm_up_seconds=1)


@dataclass(frozen=True)
class Run:
    """One system in one round: at full load and, of a service, at half of it, and what its process took."""

    full: Measured
    half: Measured | None = None
    memory_mb: float | None = None
    cpu_us: float | None = None


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float  # what other programs took of the machine, just before each run; of the runs, the middle
    runs: dict[str, list[Run]]

    def per_second(self, system: str) -> float:
        return median(run.full.per_second for run in self.runs[system])

    def ratio_to(self, other: str) -> float:
        """malipo's rate by the other's, each the middle of its rounds."""
        return self.per_second("malipo") / self.per_second(other)

    def ratios(self) -> dict[str, float]:
        return {"vs_pgbench": self.ratio_to("pgbench"), "vs_conventional": self.ratio_to("conventional")}


def measure(plan: Plan, say: Say) -> Report:
    load.need_wrk()
    runs: dict[str, list[Run]] = {"pgbench": [], "conventional": [], "malipo": []}
    busy: list[float] = []
    with database.postgres() as url, tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        for number in range(1, plan.rounds + 1):
            for system, measure_one in _SYSTEMS.items():
                say(f"round {number} of {plan.rounds}: {system} ...")
                busy.append(systems.busy_percent())
                runs[system].append(measure_one(plan, url, Path(folder)))
        return Report(plan, asyncio.run(database.version(url)), median(busy), runs)


def _pgbench(plan: Plan, server_url: str, folder: Path) -> Run:
    def with_clients(clients: int) -> Measured:
        url = asyncio.run(database.create(server_url, "bench"))
        try:
            load.pgbench(url, folder, clients=clients, seconds=plan.warm_up_seconds)
            return load.pgbench(url, folder, clients=clients, seconds=plan.seconds, first=10**9)
        finally:
            asyncio.run(database.drop(server_url, "bench"))

    return Run(max((with_clients(clients) for clients in CLIENTS), key=lambda measured: measured.per_second))


def _conventional(plan: Plan, server_url: str, folder: Path) -> Run:
    return _service(systems.conventional, plan, server_url, folder)


def _malipo(plan: Plan, server_url: str, folder: Path) -> Run:
    return _service(systems.malipo, plan, server_url, folder, check=systems.check_ledger)


_SYSTEMS = {"pgbench": _pgbench, "conventional": _conventional, "malipo": _malipo}


def _service(
    start: Callable[[str, Path], AbstractContextManager[Running]],
    plan: Plan,
    server_url: str,
    folder: Path,
    check: Callable[[str, Path], None] = lambda url, folder: None,
) -> Run:
    url = asyncio.run(database.create(server_url, "bench"))
    try:
        with start(url, folder) as running:
            loads = _load(plan, running)
            memory_mb = running.memory_mb
        _verify(url, loads)
        check(url, folder)
    finally:
        asyncio.run(database.drop(server_url, "bench"))
    return Run(loads.full, loads.half, memory_mb, loads.cpu_us)


@dataclass(frozen=True)
class _Loads:
    warm_up: Measured
    full: Measured
    half: Measured
    cpu_us: float


def _load(plan: Plan, running: Running) -> _Loads:
    def wrk(word: str, seconds: int, rest_ms: int = 0) -> Measured:
        return load.wrk(running.port, word=word, connections=plan.connections, seconds=seconds, rest_ms=rest_ms)

    warm_up = wrk("warm-up", plan.warm_up_seconds)
    before = running.cpu_seconds
    full = wrk("full", plan.seconds)
    cpu_us = (running.cpu_seconds - before) / full.answers * 1e6
    # wrk cannot hold a rate, but its connections can rest. With n of them, each resting r and waiting w between two
    # requests, the rate is n / (r + w); what w will be at half of the rate is a guess.
    rest_ms = plan.connections / (full.per_second / 2) * 1000 - full.p50_ms / 3
    return _Loads(warm_up, full, wrk("half", plan.seconds, round(rest_ms)), cpu_us)


def _verify(url: str, loads: _Loads) -> None:
    """Every answer is a transaction with its event and its claim, and no more than were cut off when wrk stopped."""
    runs = (loads.warm_up, loads.full, loads.half)
    answers = sum(run.answers for run in runs)
    cut_off = sum(run.connections for run in runs)
    for table in ("transactions", "events", "idempotency_keys"):
        rows = asyncio.run(database.count(url, table))
        if not answers <= rows <= answers + cut_off:
            raise CannotMeasure(f"{answers} payments were answered, and {rows} rows are in {table}: this is a bug.")
