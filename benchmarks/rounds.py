"""The same payments on PostgreSQL alone and through services, one after the other, round by round.

Each system starts on a new database and is warmed up first. On a shared machine neighbours come and go, and the middle
of the rounds bears that best.
"""

import asyncio
import tempfile
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks import database, load, measured_processes
from benchmarks.load import CannotMeasure, Measured
from benchmarks.measured_processes import Running

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    rounds: int = 3
    seconds: int = 10
    warm_up_seconds: int = 3
    connections: int = 64
    clients: tuple[int, ...] = (4, 16, 64)  # of pgbench: the fastest of these counts
    has_half: bool = True  # whether services are also measured at half of their rate


@dataclass(frozen=True)
class Work:
    """What every system is asked for, once by pgbench and once by wrk, and the tables that it leaves one row in."""

    sql: str
    lua: str
    path: str
    tables: tuple[str, ...]
    prepare: Callable[[str], None] = lambda url: None
    check: Callable[[str, Path], None] = lambda url, folder: None  # after everybody who writes all that malipo does


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
        return {f"vs_{system}": self.ratio_to(system) for system in self.runs if system != "malipo"}


class Round:
    """Where one system is measured once."""

    def __init__(self, plan: Plan, work: Work, server_url: str, folder: Path) -> None:
        self._plan = plan
        self._work = work
        self._server_url = server_url
        self._folder = folder

    def pgbench(self) -> Run:
        return Run(max(map(self._with_clients, self._plan.clients), key=lambda measured: measured.per_second))

    def conventional(self) -> Run:
        return self._service(measured_processes.conventional, lambda url, folder: None)

    def malipo(self) -> Run:
        return self._service(measured_processes.malipo, measured_processes.check_ledger)

    def _with_clients(self, clients: int) -> Measured:
        def pgbench(seconds: int, first: int) -> Measured:
            return load.pgbench(url, self._folder, clients=clients, seconds=seconds, first=first, script=self._work.sql)

        url = self._database()
        try:
            pgbench(self._plan.warm_up_seconds, 0)
            measured = pgbench(self._plan.seconds, 10**9)
            self._work.check(url, self._folder)
            return measured
        finally:
            asyncio.run(database.drop(self._server_url, "bench"))

    def _service(
        self, start: Callable[[str, Path], AbstractContextManager[Running]], check: Callable[[str, Path], None]
    ) -> Run:
        url = self._database()
        try:
            before = self._rows(url)
            with start(url, self._folder) as running:
                loads = self._load(running)
                memory_mb = running.memory_mb
            self.verify(loads, before, self._rows(url))
            check(url, self._folder)
        finally:
            asyncio.run(database.drop(self._server_url, "bench"))
        return Run(loads.full, loads.half, memory_mb, loads.cpu_us)

    def _database(self) -> str:
        url = asyncio.run(database.create(self._server_url, "bench"))
        self._work.prepare(url)
        return url

    def _load(self, running: Running) -> "Loads":
        plan = self._plan

        def wrk(word: str, seconds: int, rest_ms: int = 0) -> Measured:
            return load.wrk(
                running.port,
                word=word,
                connections=plan.connections,
                seconds=seconds,
                rest_ms=rest_ms,
                script=self._work.lua,
                path=self._work.path,
            )

        warm_up = wrk("warm-up", plan.warm_up_seconds)
        before = running.cpu_seconds
        full = wrk("full", plan.seconds)
        cpu_us = (running.cpu_seconds - before) / full.answers * 1e6
        if not plan.has_half:
            return Loads(warm_up, full, None, cpu_us)
        # wrk cannot hold a rate, but its connections can rest. With n of them, each resting r and waiting w between two
        # requests, the rate is n / (r + w); what w will be at half of the rate is a guess.
        rest_ms = plan.connections / (full.per_second / 2) * 1000 - full.p50_ms / 3
        return Loads(warm_up, full, wrk("half", plan.seconds, round(rest_ms)), cpu_us)

    def _rows(self, url: str) -> dict[str, int]:
        return {table: asyncio.run(database.count(url, table)) for table in self._work.tables}

    @staticmethod
    def verify(loads: "Loads", before: Mapping[str, int], after: Mapping[str, int]) -> None:
        """Every answer is a row in each of the tables, and no more than were cut off when wrk stopped."""
        runs = [run for run in (loads.warm_up, loads.full, loads.half) if run is not None]
        answers = sum(run.answers for run in runs)
        cut_off = sum(run.connections for run in runs)
        for table, rows in after.items():
            if not answers <= rows - before[table] <= answers + cut_off:
                made = rows - before[table]
                raise CannotMeasure(f"{answers} payments were answered, and {made} rows are in {table}: this is a bug.")


@dataclass(frozen=True)
class Loads:
    warm_up: Measured
    full: Measured
    half: Measured | None
    cpu_us: float


def measure(plan: Plan, work: Work, runs_of: Mapping[str, Callable[[Round], Run]], say: Say) -> Report:
    """Every system in every round. The conventional service and the others are told apart by name only."""
    load.need_wrk()
    runs: dict[str, list[Run]] = {system: [] for system in runs_of}
    busy: list[float] = []
    with database.postgres() as url, tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        for number in range(1, plan.rounds + 1):
            for system, run_in in runs_of.items():
                say(f"round {number} of {plan.rounds}: {system} ...")
                busy.append(measured_processes.busy_percent(0.5))
                runs[system].append(run_in(Round(plan, work, url, Path(folder))))
        return Report(plan, asyncio.run(database.version(url)), median(busy), runs)
