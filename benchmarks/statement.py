"""`bench statement`: whether a wallet's statement is slower, or takes more memory, after many payments.

The same merchants as in `bench list`. Pages are asked for by turns; the export as CSV is read for a while, and what the
process takes meanwhile is looked at every tenth of a second.
"""

import asyncio
import http.client
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from statistics import median

from benchmarks import database, measured_processes
from benchmarks.history import history_database
from benchmarks.load import CannotMeasure
from malipo import clock

Say = Callable[[str], None]

_ASIDE_SECONDS = 0.2  # for the service to notice that nobody reads on


@dataclass(frozen=True)
class Plan:
    sizes: tuple[int, ...] = (100_000, 1_000_000, 10_000_000)
    rounds: int = 40
    export_seconds: int = 30
    data: Path | None = None  # where the data stays for the next run


QUICK = Plan(sizes=(1_000, 10_000, 100_000), rounds=20, export_seconds=3)


def _pages() -> dict[str, str]:
    now = clock.now()
    month = f"from={clock.iso(now - timedelta(days=200))}&to={clock.iso(now - timedelta(days=170))}"
    return {
        "newest": "",
        "page 1,000": "page=1000",
        "payouts": "kind=PAYOUT",
        "returned, page 20": "kind=PAYOUT_RETURNED&page=20",
        "a month": month,
        "a month, payouts": f"{month}&kind=PAYOUT",
        "CSV, first byte": "format=csv",
        "CSV of a month, first byte": f"format=csv&{month}",
    }


@dataclass(frozen=True)
class Export:
    """As much of a whole export as came in the time: a short one ends by itself."""

    lines: int
    seconds: float
    before_mb: float
    most_mb: float
    is_whole: bool


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    times: dict[str, dict[int, list[float]]]  # of each page, for each size: milliseconds
    exports: dict[int, Export]

    def ms(self, page: str, size: int) -> float:
        return median(self.times[page][size])

    def ratio(self, page: str) -> float:
        return self.ms(page, self.plan.sizes[-1]) / self.ms(page, self.plan.sizes[0])


def measure(plan: Plan, say: Say) -> Report:
    with (
        tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder,
        history_database.opened(plan.sizes, plan.data, say) as url,
        measured_processes.malipo(url, Path(folder)) as running,
    ):
        busy = measured_processes.busy_percent()
        keys = {size: history_database.key(number) for number, size in enumerate(plan.sizes, start=1)}
        say(f"asking for {len(_pages())} pages of {len(plan.sizes)} merchants ...")
        times = _ask(plan, running.port, keys)
        exports = {}
        for size, key in keys.items():
            say(f"exporting {size:,} ...")
            exports[size] = _export(plan, running, key)
        return Report(plan, asyncio.run(database.version(url)), busy, times, exports)


def _ask(plan: Plan, port: int, keys: dict[int, str]) -> dict[str, dict[int, list[float]]]:
    pages = _pages()
    times: dict[str, dict[int, list[float]]] = {name: {size: [] for size in plan.sizes} for name in pages}
    for round_ in range(plan.rounds + 1):
        for name, query in pages.items():
            for size, key in keys.items():
                took = _first_byte(port, f"/v1/wallet/entries?{query}", key)
                if "csv" in query:
                    time.sleep(_ASIDE_SECONDS)
                if round_:  # The first round warms up.
                    times[name][size].append(took)
    return times


def _first_byte(port: int, path: str, key: str) -> float:
    """Of a page that is its answer; of an export, the first of its lines."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.connect()
        began = time.perf_counter()
        connection.request("GET", path, headers={"x-api-key": key})
        response = connection.getresponse()
        response.readline()
        response.readline()
        took = (time.perf_counter() - began) * 1000
        if response.status != 200:
            raise CannotMeasure(f"{path} answered {response.status}.")
        return took
    finally:
        connection.close()


def _export(plan: Plan, running: measured_processes.Running, key: str) -> Export:
    connection = http.client.HTTPConnection("127.0.0.1", running.port, timeout=60)
    try:
        before = most = running.memory_mb
        began = looked = time.monotonic()
        connection.request("GET", "/v1/wallet/entries?format=csv", headers={"x-api-key": key})
        response = connection.getresponse()
        lines = 0
        while chunk := response.read1(1 << 20):
            lines += chunk.count(b"\n")
            now = time.monotonic()
            if now - looked > 0.1:
                looked, most = now, max(most, running.memory_mb)
            if now - began > plan.export_seconds:
                break
        return Export(lines, time.monotonic() - began, before, max(most, running.memory_mb), not chunk)
    finally:
        connection.close()
