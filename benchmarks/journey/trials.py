"""`bench journey`: whole payments a second, from the merchant's request to the webhook that says it is completed.

First payments come as fast as they are taken, and a pile of them is worked off: that shows about how many a second
all parts together carry. Then they come at rates of their own, whatever is done with them, for a short time each. The
highest that leaves nothing behind is measured; if after all it leaves something behind, a lower one is.

How payments are made at a rate, and which rate is tried next, is in `load.py`. Whether every book says the same
afterwards is compared in `verify.py`.
"""

import asyncio
import tempfile
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from statistics import median

import asyncpg

from benchmarks import database, load, measured_processes
from benchmarks.history import write
from benchmarks.journey.load import Load, Say
from benchmarks.journey.processes import Parts, parts
from benchmarks.journey.verify import Arrivals, Verification
from benchmarks.webhooks.arrivals import percentiles_ms
from benchmarks.webhooks.receiver import need_nginx

_HISTORY = 10_000  # payments of a merchant who makes none any more


@dataclass(frozen=True)
class Plan:
    rounds: int = 1
    seconds: int = 60
    trials: int = 6  # rates at most, before one is measured
    trial_seconds: int = 8
    pile_seconds: int = 3
    connections: int = 256
    merchants: int = database.MERCHANTS
    processes: tuple[int, ...] = (1, 2)  # of the API, and as many workers


QUICK = Plan(seconds=8, trials=3, trial_seconds=2, pile_seconds=1)


@dataclass(frozen=True)
class Run:
    """One crowd of processes at the highest rate that it carried."""

    per_second: float
    p50_ms: float
    p99_ms: float
    last_ms: float  # how late the last webhook came
    cpu_us: dict[str, float]  # of each kind of process, for one payment
    memory_mb: dict[str, float]  # of the largest of each kind
    payments: int  # in all, also those that only warmed up; each is in every book
    duplicates: int  # webhooks that came twice


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float  # what other programs took of the machine, just before each run; of the runs, the middle
    runs: dict[int, list[Run]]  # by how many APIs and workers

    def per_second(self, of_each: int) -> float:
        return median(run.per_second for run in self.runs[of_each])

    def ratios(self) -> dict[str, float]:
        """What the second of each adds."""
        first, *more = self.runs
        return {f"{of_each}_vs_{first}": self.per_second(of_each) / self.per_second(first) for of_each in more}


def measure(plan: Plan, say: Say) -> Report:
    load.need_wrk()
    need_nginx()
    runs: dict[int, list[Run]] = {of_each: [] for of_each in plan.processes}
    busy: list[float] = []
    with database.postgres() as url:
        for number in range(1, plan.rounds + 1):
            for of_each in plan.processes:
                say(f"round {number} of {plan.rounds}: {of_each} of each ...")
                busy.append(measured_processes.busy_percent())
                runs[of_each].append(_measure(plan, of_each, url, say))
        return Report(plan, asyncio.run(database.version(url)), median(busy), runs)


def _measure(plan: Plan, of_each: int, server_url: str, say: Say) -> Run:
    url = asyncio.run(database.create(server_url, "bench", merchants=plan.merchants + 1))
    try:
        with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
            asyncio.run(remember(url, database.merchant(plan.merchants + 1)))
            with parts(url, Path(folder), of_each=of_each, merchants=plan.merchants) as running:
                run = asyncio.run(_load(plan, running, url, say))
            measured_processes.check_ledger(url, Path(folder))
    finally:
        asyncio.run(database.drop(server_url, "bench"))
    return run


async def remember(url: str, merchant_id: str) -> None:
    """A past, as any database has that is in use: PostgreSQL's plans are for such tables, and not for empty ones."""
    await write.write(url, merchant_id, _HISTORY, first=10**9)
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SELECT set_config('bench.merchant', $1, false)", merchant_id)
        await connection.execute(resources.files("benchmarks").joinpath("sql", "journey.sql").read_text())
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


async def _load(plan: Plan, running: Parts, url: str, say: Say) -> Run:
    connection = await asyncpg.connect(url)
    try:
        arrivals = Arrivals(running.received.log)
        books = Verification(
            connection, arrivals, running.simulator_port, last_merchant=database.merchant(plan.merchants)
        )
        crowd = Load(running, books, merchants=plan.merchants, connections=plan.connections)
        rate = await crowd.pile(plan.pile_seconds)
        say(f"  {rate:,.0f} a second worked off of a pile")
        rate = await crowd.climb(rate, plan.trial_seconds, say, trials=plan.trials)
        stream = await crowd.hold(rate, plan.seconds, say)
        payments = await books.verify(crowd.answers, crowd.cut_off)
        p50_ms, p99_ms = percentiles_ms(await books.delays(stream.began, stream.ended))
    finally:
        await connection.close()
    return Run(
        per_second=arrivals.between(stream.began, stream.ended) / (stream.ended - stream.began),
        p50_ms=p50_ms,
        p99_ms=p99_ms,
        last_ms=stream.late * 1000,
        cpu_us={kind: seconds / stream.payments * 1e6 for kind, seconds in stream.cpu_seconds.items()},
        memory_mb={kind: max(each.memory_mb for each in those) for kind, those in running.processes.items()},
        payments=payments,
        duplicates=arrivals.duplicates,
    )
