"""`create` and `journey` on a database with millions of payments and on a new one, by turns, in one PostgreSQL.

On a shared machine rates move more than what is looked for, so CPU and WAL of a payment are compared as well. First
all journeys: what `create` leaves unsent would be in their way.
"""

import asyncio
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

import asyncpg

from benchmarks import database, load, measured_processes
from benchmarks.journey.load import Load
from benchmarks.journey.processes import Parts, parts
from benchmarks.journey.verify import Arrivals, Verification
from benchmarks.long_history import databases
from benchmarks.long_history.databases import Say
from benchmarks.measured_processes import Postmaster
from benchmarks.webhooks.receiver import need_nginx
from malipo import clock, ids
from malipo.db.embedded import server

_CONNECTIONS = 64
_WARM_UP_SECONDS = 2
# What the last run left is no part of the next: what `create` left unsent, and receivers that are gone.
_WITHOUT_THE_LAST = (
    "DELETE FROM dispatches",
    "VACUUM ANALYZE dispatches",
    "UPDATE webhook_endpoints SET deleted_at = now() WHERE deleted_at IS NULL",
    "UPDATE webhook_deliveries SET state = 'EXHAUSTED' WHERE state = 'PENDING'",
)
_WAL = "SELECT (pg_current_wal_lsn() - '0/0')::bigint"


@dataclass(frozen=True)
class Plan:
    payments: int = 3_000_000
    rounds: int = 3
    seconds: int = 8
    merchants: int = 10  # who pay in `journey`: so few that what a worker counts together is counted while it lasts
    data: Path | None = None  # where the large database stays for the next run


QUICK = Plan(payments=100_000, rounds=1, seconds=3)


@dataclass(frozen=True)
class Run:
    per_second: float
    cpu_us: dict[str, float]  # of each kind of process, for one payment
    wal_bytes: float  # of one payment


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    runs: dict[tuple[str, str], list[Run]] = field(default_factory=dict)  # by benchmark and database

    def middle(self, benchmark: str, where: str, figure: Callable[[Run], float]) -> float:
        return median(figure(run) for run in self.runs[benchmark, where])

    def ratio(self, benchmark: str, figure: Callable[[Run], float]) -> float:
        """The full one by the new one, each the middle of its rounds."""
        return self.middle(benchmark, "full", figure) / self.middle(benchmark, "new", figure)


class _Trial:
    """One database, and the folder in which its workers remember how far it was."""

    def __init__(self, url: str, folder: Path, plan: Plan, word: str) -> None:
        self._url = url
        self._folder = folder
        self._plan = plan
        self._word = word

    def create(self) -> Run:
        """Answers a second, as `bench create` has it. What was created is taken out of the queue again."""
        with measured_processes.malipo(self._url, self._folder) as running:
            self._wrk(running.port, "warm", _WARM_UP_SECONDS)
            postgres = asyncio.run(Postmaster.of_database(self._url))
            before = (running.cpu_seconds, postgres.cpu_seconds, self._value(_WAL))
            reported = self._wrk(running.port, "full", self._plan.seconds)
            after = (running.cpu_seconds, postgres.cpu_seconds, self._value(_WAL))
        api, postgresql, wal = ((end - begin) / reported.answers for begin, end in zip(before, after, strict=True))
        return Run(reported.per_second, {"api": api * 1e6, "postgresql": postgresql * 1e6}, wal)

    def journey(self) -> Run:
        """How many a second are worked off, from the request to the webhook, when they come faster than that."""
        with parts(self._url, self._folder, of_each=1, merchants=self._plan.merchants) as running:
            return asyncio.run(self._journey(running))

    async def _journey(self, running: Parts) -> Run:
        connection = await asyncpg.connect(self._url)
        try:
            books = Verification(
                connection,
                Arrivals(running.received.log),
                running.simulator_port,
                last_merchant=database.merchant(database.MERCHANTS),
                first_id=ids.first_of("txn_", clock.milliseconds(clock.now())),
            )
            await books.remember_wallets()
            crowd = Load(
                running, books, merchants=self._plan.merchants, connections=_CONNECTIONS, word=f"{self._word}-journey-"
            )
            await crowd.stream(0, 1, connections=_CONNECTIONS)
            before = await connection.fetchval(_WAL)
            stream = await crowd.stream(0, self._plan.seconds, connections=_CONNECTIONS)
            wal = await connection.fetchval(_WAL) - before
            await books.verify(crowd.answers, crowd.cut_off)
        finally:
            await connection.close()
        cpu_us = {kind: seconds / stream.payments * 1e6 for kind, seconds in stream.cpu_seconds.items()}
        return Run(stream.carried, cpu_us, wal / stream.payments)

    def _wrk(self, port: int, word: str, seconds: int) -> load.Measured:
        return load.wrk(port, word=f"{self._word}-{word}", connections=_CONNECTIONS, seconds=seconds)

    def _value(self, query: str) -> int:
        return asyncio.run(database.value(self._url, query))


async def _execute(url: str, *statements: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        for statement in statements:
            await connection.execute(statement)
    finally:
        await connection.close()


def measure(plan: Plan, say: Say) -> Report:
    load.need_wrk()
    need_nginx()
    with _opened(plan, say) as (server_url, full_url, folder):
        report = Report(plan, asyncio.run(database.version(full_url)), measured_processes.busy_percent())
        for benchmark in ("journey", "create"):
            for number in range(1, plan.rounds + 1):
                # By turns the one or the other comes first.
                for where in ("new", "full") if number % 2 else ("full", "new"):
                    say(f"round {number} of {plan.rounds}: {benchmark} on the {where} database ...")
                    run = _measure(server_url, full_url, folder, plan, where, benchmark)
                    report.runs.setdefault((benchmark, where), []).append(run)
                    cpu_us = sum(run.cpu_us.values())
                    say(
                        f"  {run.per_second:,.0f} a second, {cpu_us:,.0f} µs and {run.wal_bytes:,.0f} bytes of WAL each"
                    )
        return report


def _measure(server_url: str, full_url: str, folder: Path, plan: Plan, where: str, benchmark: str) -> Run:
    with tempfile.TemporaryDirectory(prefix="malipo-bench-") as temporary:
        is_new = where == "new"
        url = databases.new(server_url) if is_new else full_url
        word = f"{where}-{clock.milliseconds(clock.now())}"
        try:
            asyncio.run(_execute(url, *_WITHOUT_THE_LAST, "CHECKPOINT"))
            trial = _Trial(url, Path(temporary) if is_new else folder, plan, word)
            return trial.journey() if benchmark == "journey" else trial.create()
        finally:
            if is_new:
                databases.drop_new(server_url)


@contextmanager
def _opened(plan: Plan, say: Say) -> Iterator[tuple[str, str, Path]]:
    """The server, the full database on it, and the folder of the full one's processes."""
    with tempfile.TemporaryDirectory(prefix="malipo-bench-") as temporary:
        data = plan.data or Path(temporary)
        folder = data / "processes"
        folder.mkdir(parents=True, exist_ok=True)
        is_written = data / f"{plan.payments}.written"
        with server(data) as server_url:
            if is_written.exists():
                url = databases.kept(server_url)
            else:
                url = databases.full(server_url, plan.payments, say)
                is_written.touch()
            yield server_url, url, folder
