"""`bench limits`: what the rate limits cost a request.

Two `malipo api` processes on one database, one without limits and one with limits that nobody reaches. They get the
same load by turns, each first in every other round, so that what drifts on the machine meets both.
"""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median

import asyncpg

from benchmarks import database, load, measured_processes
from benchmarks.load import CannotMeasure, Measured
from benchmarks.measured_processes import Postmaster, Running
from benchmarks.rounds import Say
from malipo.rate_limit.sliding_window import SPAN_MS, Window

OFF, ON = "no limits", "limits"
_STEP_MS = SPAN_MS // 100  # a window above 300 a minute has a pair for every hundredth of it
_PER_MINUTE = 10_000_000  # more than any load can ask for


@dataclass(frozen=True)
class Plan:
    rounds: int = 12
    seconds: int = 3
    connections: int = 64


QUICK = Plan(rounds=6, seconds=2)


@dataclass(frozen=True)
class Run:
    measured: Measured
    cpu_us: float
    postgres_cpu_us: float


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    runs: dict[str, list[Run]]

    def ratios(self) -> dict[str, float]:
        """With limits by without, the middle of the rounds: a neighbour who comes meets both halves of a round."""
        pairs = list(zip(self.runs[ON], self.runs[OFF], strict=True))
        return {
            "cpu": median(on.cpu_us / off.cpu_us for on, off in pairs),
            "per_second": median(on.measured.per_second / off.measured.per_second for on, off in pairs),
            "postgres_cpu": median(on.postgres_cpu_us / off.postgres_cpu_us for on, off in pairs),
        }


def measure(plan: Plan, say: Say) -> Report:
    load.need_wrk()
    with database.postgres() as server_url, tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        url = asyncio.run(database.create(server_url, "bench"))
        with _both(url, Path(folder)) as services:
            bench = _Bench(plan, url, services)
            for system in services:
                bench.turn(system, "warm-up")
            busy = measured_processes.busy_percent()
            runs: dict[str, list[Run]] = {system: [] for system in services}
            for number in range(plan.rounds):
                say(f"round {number + 1} of {plan.rounds} ...")
                for system in (OFF, ON) if number % 2 else (ON, OFF):
                    runs[system].append(bench.turn(system, str(number)))
        measured_processes.check_ledger(url, Path(folder))
        return Report(plan, asyncio.run(database.version(url)), busy, runs)


@contextmanager
def _both(url: str, folder: Path) -> Iterator[dict[str, Running]]:
    folders = {system: folder / system.replace(" ", "-") for system in (OFF, ON)}
    for each in folders.values():
        each.mkdir()
    with (
        measured_processes.malipo(url, folders[OFF]) as off,
        measured_processes.malipo(url, folders[ON], per_minute=_PER_MINUTE) as on,
    ):
        yield {OFF: off, ON: on}


class _Bench:
    def __init__(self, plan: Plan, url: str, services: dict[str, Running]) -> None:
        self._plan = plan
        self._url = url
        self._services = services
        self._postmaster = asyncio.run(Postmaster.of_database(url))

    def turn(self, system: str, word: str) -> Run:
        service = self._services[system]
        since_ms = asyncio.run(_fill(self._url))
        rows = asyncio.run(database.count(self._url, "transactions"))
        before, postgres_before = service.cpu_seconds, self._postmaster.cpu_seconds
        measured = load.wrk(
            service.port,
            word=f"{system.replace(' ', '-')}-{word}",
            connections=self._plan.connections,
            seconds=self._plan.seconds,
        )
        cpu, postgres_cpu = service.cpu_seconds - before, self._postmaster.cpu_seconds - postgres_before
        made = asyncio.run(database.count(self._url, "transactions")) - rows
        counted = asyncio.run(_counted(self._url, since_ms))
        verify(system, measured, made=made, counted=counted)
        return Run(measured, cpu / measured.answers * 1e6, postgres_cpu / measured.answers * 1e6)


def verify(system: str, measured: Measured, *, made: int, counted: int) -> None:
    """Every answer is a payment, and has been counted, or not at all; those that wrk cut off may be too."""
    answers, most = measured.answers, measured.answers + measured.connections
    if not answers <= made <= most:
        raise CannotMeasure(f"{answers} payments were answered, and {made} were made: this is a bug.")
    if system == ON and not made <= counted <= most:
        raise CannotMeasure(f"{made} payments were made, and {counted} requests were counted: this is a bug.")
    if system == OFF and counted:
        raise CannotMeasure(f"{counted} requests were counted without limits: this is a bug.")


async def _fill(url: str) -> int:
    """Windows as a minute of steady use leaves them; the time until when they are filled, in milliseconds."""
    connection = await asyncpg.connect(url)
    try:
        now_ms = int(await connection.fetchval("SELECT extract(epoch FROM clock_timestamp()) * 1000"))
        window = Window()
        for past_ms in range(SPAN_MS, 0, -_STEP_MS):
            _, window = window.admit(1, limit=_PER_MINUTE, now_ms=now_ms - past_ms)
        await connection.execute(
            "UPDATE rate_limit_windows SET requests = $1 WHERE rate_class = 'create'", window.packed()
        )
        return now_ms
    finally:
        await connection.close()


async def _counted(url: str, since_ms: int) -> int:
    """How many requests the windows have counted since then."""
    connection = await asyncpg.connect(url)
    try:
        rows = await connection.fetch("SELECT requests FROM rate_limit_windows WHERE rate_class = 'create'")
    finally:
        await connection.close()
    pairs = chain.from_iterable(Window.unpacked(row["requests"]).pairs for row in rows)
    return sum(count for time, count in pairs if time > since_ms)
