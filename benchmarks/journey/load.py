"""The customers of `bench journey`: payments that wrk asks for, at a rate, and what became of all of them together."""

import asyncio
import re
import resource
import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.journey.processes import CUSTOMER_SECONDS, Parts
from benchmarks.journey.verify import Verification
from benchmarks.load import CannotMeasure

Say = Callable[[str], None]

_GRACE_SECONDS = 30
_DRAIN_SECONDS = 2.0  # how late the last webhook may come
_MORE, _LESS = 1.15, 0.95  # what is tried after a rate that left nothing behind, and after one that did
_MOST_TRIES = 6
_PILE_CONNECTIONS = 64


class _Told(msgspec.Struct):
    """What wrk says in the end."""

    answers: int
    seconds: float
    p50_ms: float
    p99_ms: float
    refused: int
    broken: int


@dataclass(frozen=True)
class Stream:
    """Payments that came at a rate, and what became of them."""

    rate: float
    began: float
    ended: float
    last: float  # when the last webhook came
    cpu_seconds: dict[str, float]
    payments: int

    @property
    def late(self) -> float:
        """How long after the last request the last webhook came, but for what the customer took of it."""
        return self.last - self.ended - CUSTOMER_SECONDS

    @property
    def is_clean(self) -> bool:
        """Whether nothing was left behind. In a short time less can pile up, so less of it is borne."""
        return self.late <= min(_DRAIN_SECONDS, 0.5 + (self.ended - self.began) / 40)

    @property
    def less(self) -> float:
        """What to try after a rate that was too high: nearly what was carried of it."""
        return min(self.rate, self.carried) * _LESS

    @property
    def carried(self) -> float:
        """How many a second were, until nothing was left."""
        return self.payments / (self.last - self.began - CUSTOMER_SECONDS)


class Load:
    """All who pay while the parts run. `answers` are their payments, but for those that were `cut_off` by wrk's end."""

    def __init__(
        self, running: Parts, books: Verification, *, merchants: int, connections: int, word: str = "run"
    ) -> None:
        self._running = running
        self._books = books
        self._merchants = merchants
        self._connections = connections
        self._word = word  # in every idempotency key, so no two crowds on one database may share it
        self._loads = 0
        self.answers = 0
        self.cut_off = 0

    async def pile(self, seconds: int) -> float:
        """How many a second are worked off when they come faster than that."""
        stream = await self.stream(0, seconds, connections=_PILE_CONNECTIONS)
        await self._books.settle()
        return stream.carried

    async def climb(self, rate: float, seconds: int, say: Say, *, trials: int) -> float:
        """The highest rate, of those that are tried, that leaves nothing behind in a short time."""
        held: float | None = None
        for _ in range(trials):
            stream = await self._try(rate, seconds, say)
            if stream.is_clean:
                held, rate = rate, rate * _MORE
            elif held is not None:
                break
            else:
                rate = stream.less
        return held or rate

    async def hold(self, rate: float, seconds: int, say: Say) -> Stream:
        for _ in range(_MOST_TRIES):
            stream = await self._try(rate, seconds, say)
            if stream.is_clean:
                return stream
            rate = stream.less
        raise CannotMeasure(f"At every rate down to {rate:.0f} a second something was left behind.")

    async def _try(self, rate: float, seconds: int, say: Say) -> Stream:
        stream = await self.stream(rate, seconds, connections=self._connections)
        say(f"  {rate:,.0f} a second for {seconds} s: the last webhook came {stream.late:.2f} s late")
        return stream

    async def stream(self, rate: float, seconds: int, *, connections: int) -> Stream:
        before, created, began = self._cpu_seconds(), await self._books.created(), time.time()
        reported = await asyncio.to_thread(self._wrk, rate, seconds, connections)
        ended = began + reported.seconds
        last = await self._books.wait_until_arrived()
        after = self._cpu_seconds()
        self.answers += reported.answers
        self.cut_off += connections
        took = {kind: after[kind] - before[kind] for kind in after}
        return Stream(rate, began, ended, last, took, await self._books.created() - created)

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
        script = Path(__file__).parents[1] / "lua" / "journey.lua"
        command = [
            *(program, "-t", str(len(ports)), "-c", str(connections), "-d", f"{seconds}s", "--timeout", "20s"),
            *("-s", str(script), f"http://127.0.0.1:{ports[0]}/v1/payments", "--", f"{self._word}{self._loads}"),
            *(str(self._merchants), f"{rate:.3f}", str(self._loads * 1_000_000), *ports),
        ]
        done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + _GRACE_SECONDS, check=False)
        line = re.search(r"^RESULT (.*)$", done.stdout, re.MULTILINE)
        if done.returncode or line is None:
            raise CannotMeasure(f"wrk failed: {done.stdout.strip()} {done.stderr.strip()}")
        reported = msgspec.json.decode(line[1], type=_Told)
        if reported.refused or reported.broken:
            raise CannotMeasure(
                f"{reported.refused} requests were refused and {reported.broken} broke: this is no measurement."
            )
        return reported
