"""`bench journey`: whole payments a second, from the merchant's request to the webhook that says it is completed.

First payments come as fast as they are taken, and a pile of them is worked off: that shows about how many a second
all parts together carry. Then they come at rates of their own, whatever is done with them, for a short time each. The
highest that leaves nothing behind is measured; if after all it leaves something behind, a lower one is.
"""

import asyncio
import re
import resource
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from statistics import median

import asyncpg
import msgspec

from benchmarks import database, history, load, systems
from benchmarks.arrivals import percentiles_ms
from benchmarks.journey_book import Arrivals, Books
from benchmarks.journey_parts import Parts, parts
from benchmarks.load import CannotMeasure
from benchmarks.receiver import need_nginx

Say = Callable[[str], None]

_GRACE_SECONDS = 30
_DRAIN_SECONDS = 2.0  # after the last request, within which the last webhook must have come
_MORE, _LESS = 1.15, 0.95  # what is tried after a rate that left nothing behind, and after one that did
_MOST_TRIES = 6
_HISTORY = 20_000  # payments of a merchant who makes none any more


@dataclass(frozen=True)
class Plan:
    rounds: int = 1
    seconds: int = 60
    trial_seconds: int = 8  # how long a rate is tried before one is measured
    pile_seconds: int = 3
    connections: int = 256
    merchants: int = database.MERCHANTS
    processes: tuple[int, ...] = (1, 2)  # of the API, and as many workers


QUICK = Plan(seconds=10, trial_seconds=3, pile_seconds=2)


@dataclass(frozen=True)
class Run:
    """One crowd of processes at the highest rate that it carried."""

    per_second: float
    p50_ms: float
    p99_ms: float
    last_ms: float  # after the last request, the last webhook
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
                busy.append(systems.busy_percent())
                runs[of_each].append(_measure(plan, of_each, url, say))
        return Report(plan, asyncio.run(database.version(url)), median(busy), runs)


def _measure(plan: Plan, of_each: int, server_url: str, say: Say) -> Run:
    url = asyncio.run(database.create(server_url, "bench", merchants=plan.merchants + 1))
    try:
        with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
            with parts(url, Path(folder), of_each=of_each, merchants=plan.merchants) as running:
                asyncio.run(_remember(url, database.merchant(plan.merchants + 1)))
                run = asyncio.run(_load(plan, running, url, say))
            systems.check_ledger(url, Path(folder))
    finally:
        asyncio.run(database.drop(server_url, "bench"))
    return run


async def _remember(url: str, merchant_id: str) -> None:
    """A past, as any database has that is in use: PostgreSQL's plans are for such tables, and not for empty ones."""
    await history.write(url, merchant_id, _HISTORY, first=10**9)
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SELECT set_config('bench.merchant', $1, false)", merchant_id)
        await connection.execute(resources.files("benchmarks").joinpath("journey.sql").read_text())
        await connection.execute("VACUUM ANALYZE")
    finally:
        await connection.close()


async def _load(plan: Plan, running: Parts, url: str, say: Say) -> Run:
    connection = await asyncpg.connect(url)
    try:
        arrivals = Arrivals(running.received.log)
        books = Books(connection, arrivals, running.simulator_port, last_merchant=database.merchant(plan.merchants))
        crowd = _Crowd(plan, running, books, arrivals)
        rate = await crowd.pile()
        say(f"  {rate:,.0f} a second worked off of a pile")
        rate = await crowd.climb(rate, plan.trial_seconds, say)
        return await crowd.finish(await crowd.hold(rate, plan.seconds, say))
    finally:
        await connection.close()


class _Told(msgspec.Struct):
    """What wrk says in the end."""

    answers: int
    seconds: float
    p50_ms: float
    p99_ms: float
    refused: int
    broken: int


@dataclass(frozen=True)
class _Stream:
    """Payments that came at a rate, and what became of them."""

    rate: float
    began: float
    ended: float
    last: float  # when the last webhook came
    cpu_seconds: dict[str, float]
    payments: int

    @property
    def late(self) -> float:
        return self.last - self.ended

    @property
    def is_clean(self) -> bool:
        """Whether nothing was left behind. In a short time less can pile up, so less of it is borne."""
        return self.late <= min(_DRAIN_SECONDS, 0.5 + (self.ended - self.began) / 40)

    @property
    def less(self) -> float:
        """What to try after a rate that was too high: nearly what was carried of it."""
        return min(self.rate, self.payments / (self.last - self.began)) * _LESS


class _Crowd:
    """The customers: all payments that are made in one run."""

    def __init__(self, plan: Plan, running: Parts, books: Books, arrivals: Arrivals) -> None:
        self._plan = plan
        self._running = running
        self._books = books
        self._arrivals = arrivals
        self._answers = 0
        self._cut_off = 0
        self._loads = 0

    async def pile(self) -> float:
        """How many a second are worked off when they come faster than that."""
        stream = await self._stream(0, self._plan.pile_seconds, connections=64)
        await self._books.settle()
        return stream.payments / (stream.last - stream.began)

    async def climb(self, rate: float, seconds: int, say: Say) -> float:
        """The highest rate, of those that are tried, that leaves nothing behind in a short time."""
        held: float | None = None
        for _ in range(_MOST_TRIES):
            stream = await self._try(rate, seconds, say)
            if stream.is_clean:
                held, rate = rate, rate * _MORE
            elif held is not None:
                break
            else:
                rate = stream.less
        return held or rate

    async def hold(self, rate: float, seconds: int, say: Say) -> _Stream:
        for _ in range(_MOST_TRIES):
            stream = await self._try(rate, seconds, say)
            if stream.is_clean:
                return stream
            rate = stream.less
        raise CannotMeasure(f"At every rate down to {rate:.0f} a second something was left behind.")

    async def _try(self, rate: float, seconds: int, say: Say) -> _Stream:
        stream = await self._stream(rate, seconds, connections=self._plan.connections)
        say(f"  {rate:,.0f} a second for {seconds} s: the last webhook came {stream.late:.2f} s after the last request")
        return stream

    async def finish(self, stream: _Stream) -> Run:
        delays = await self._books.delays(stream.began, stream.ended)
        p50_ms, p99_ms = percentiles_ms(delays)
        memory = {
            kind: max(each.memory_mb for each in processes) for kind, processes in self._running.processes.items()
        }
        return Run(
            per_second=self._books.arrived(stream.began, stream.ended) / (stream.ended - stream.began),
            p50_ms=p50_ms,
            p99_ms=p99_ms,
            last_ms=stream.late * 1000,
            cpu_us={kind: seconds / stream.payments * 1e6 for kind, seconds in stream.cpu_seconds.items()},
            memory_mb=memory,
            payments=await self._books.verify(self._answers, self._cut_off),
            duplicates=self._arrivals.duplicates,
        )

    async def _stream(self, rate: float, seconds: int, *, connections: int) -> _Stream:
        before, created, began = self._cpu_seconds(), await self._books.created(), time.time()
        told = await asyncio.to_thread(self._wrk, rate, seconds, connections)
        ended = began + told.seconds
        last = await self._books.wait_until_arrived()
        after = self._cpu_seconds()
        self._answers += told.answers
        self._cut_off += connections
        took = {kind: after[kind] - before[kind] for kind in after}
        return _Stream(rate, began, ended, last, took, await self._books.created() - created)

    def _cpu_seconds(self) -> dict[str, float]:
        """Of all processes so far; wrk is the only child of ours that has ended meanwhile."""
        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        processes = self._running.processes
        return {
            **{kind: sum(process.cpu_seconds for process in processes[kind]) for kind in processes},
            "postgresql": self._books.postmaster().cpu_seconds,
            "wrk": ended.ru_utime + ended.ru_stime,
        }

    def _wrk(self, rate: float, seconds: int, connections: int) -> _Told:
        """The payments of a run are numbered, and no two runs have one in common."""
        self._loads += 1
        ports = [str(port) for port in self._running.ports]
        program = shutil.which("wrk")
        assert program is not None, "need_wrk comes first"
        script = Path(__file__).with_suffix(".lua")
        command = [
            *(program, "-t", str(len(ports)), "-c", str(connections), "-d", f"{seconds}s", "--timeout", "20s"),
            *("-s", str(script), f"http://127.0.0.1:{ports[0]}/v1/payments", "--", f"run{self._loads}"),
            *(str(self._plan.merchants), f"{rate:.3f}", str(self._loads * 1_000_000), *ports),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + _GRACE_SECONDS, check=False)
        line = re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)
        if done.returncode or line is None:
            raise CannotMeasure(f"wrk failed: {done.stdout.strip()} {done.stderr.strip()}")
        told = msgspec.json.decode(line[1], type=_Told)
        if told.refused or told.broken:
            raise CannotMeasure(
                f"{told.refused} requests were refused and {told.broken} broke: this is no measurement."
            )
        return told
