"""`bench reconcile`: a statement is imported and matched with as many payments, for a small size and a large one.

Each is done by a process of its own, whose memory at most is what the system says of it. PostgreSQL runs beside it.
"""

import asyncio
import multiprocessing
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from benchmarks import database, measured_processes
from benchmarks.load import CannotMeasure
from benchmarks.reconcile import day_of_payments
from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Database
from malipo.network_statements.profile import built_in
from malipo.networks.connector import Channel
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.dispatch import QueryRules
from malipo.reconciliation.imports.import_statement import StatementImport, import_statement
from malipo.reconciliation.matching.match_statements import match_statements
from malipo.settings import Settings

Say = Callable[[str], None]

_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Plan:
    size: int = 100_000
    part: int = 10  # how many times fewer the small one has

    @property
    def sizes(self) -> tuple[int, int]:
        return self.size // self.part, self.size


QUICK = Plan(size=10_000)


@dataclass(frozen=True)
class Step:
    """What one step took, of malipo's process and of PostgreSQL's, which works for it."""

    seconds: float
    cpu_seconds: float
    postgres_cpu_seconds: float


@dataclass(frozen=True)
class Trial:
    size: int
    imported: Step
    matched: Step
    most_mb: float  # of malipo's process
    postgres_most_mb: float  # of PostgreSQL's process, without what all of them share

    def per_second(self, step: Step) -> float:
        return self.size / step.seconds


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    trials: dict[int, Trial]


def measure(plan: Plan, say: Say) -> Report:
    busy = measured_processes.busy_percent()
    trials = {}
    with database.postgres() as server_url, tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        for size in plan.sizes:
            url = asyncio.run(database.create(server_url, f"reconcile_{size}"))
            path = Path(folder) / f"{size}.csv"
            say(f"writing {size:,} payments, and the statement of them ...")
            asyncio.run(day_of_payments.write_payments(url, size))
            day_of_payments.write_statement(path, size)
            say(f"importing and matching {size:,} lines ...")
            with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as apart:
                trials[size] = apart.submit(_try, url, path, size).result()
            path.unlink()
        return Report(plan, asyncio.run(database.version(server_url)), busy, trials)


def _try(url: str, path: Path, size: int) -> Trial:
    return asyncio.run(_Trial(url, path, size).run())


class _Trial:
    def __init__(self, url: str, path: Path, size: int) -> None:
        self._url = url
        self._path = path
        self._size = size
        self._postgres_mb = 0.0

    async def run(self) -> Trial:
        # One connection: so all of PostgreSQL's work for it is one process.
        async with Database.opened(self._url, size=1) as database:
            async with database.read() as connection:
                backend = psutil.Process(await connection.fetchval("SELECT pg_backend_pid()"))
            looking = asyncio.ensure_future(self._look(backend))
            imported = await self._step(backend, lambda: self._import(database))
            matched = await self._step(backend, lambda: self._match(database))
            looking.cancel()
        most_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return Trial(self._size, imported, matched, most_mb, self._postgres_mb)

    async def _step(self, backend: psutil.Process, act: Callable[[], Awaitable[None]]) -> Step:
        began, cpu, theirs = time.monotonic(), time.process_time(), sum(backend.cpu_times()[:2])
        await act()
        return Step(
            time.monotonic() - began, time.process_time() - cpu, round(sum(backend.cpu_times()[:2]) - theirs, 2)
        )

    async def _look(self, backend: psutil.Process) -> None:
        while True:
            self._postgres_mb = max(self._postgres_mb, backend.memory_full_info().uss / 1024**2)
            await asyncio.sleep(_LOOK_SECONDS)

    async def _import(self, database: Database) -> None:
        async with database.begin() as tx:
            done = await import_statement(
                tx,
                StatementImport(
                    self._path,
                    channel=Channel.MPESA,
                    account="",
                    profile=built_in()["mpesa-account"],
                    is_new_account=True,
                ),
                actor=Actor("benchmark", "benchmark"),
                now=clock.now(),
            )
        if (done.file.new_count, done.file.is_whole) != (self._size, True):
            raise CannotMeasure(f"{done.file.new_count:,} of {self._size:,} lines were imported: this is a bug.")

    async def _match(self, database: Database) -> None:
        settings = Settings()
        apply_answers = ApplyNetworkAnswers(
            clock=clock.now, rules=QueryRules.of(settings), credits_automatically=settings.credit_by_itself
        )
        done = await match_statements(database, apply_answers, approval_amount=10**15, clock=clock.now)
        if done.matched != self._size or done.exceptions.count:
            raise CannotMeasure(f"{done.matched:,} of {self._size:,} lines were matched: this is a bug.")
