"""`malipo demo` as a benchmark sees it: its processes, their memory, and payments that go all the way through it."""

import http.client
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil  # type: ignore[import-untyped]

from benchmarks import load, measured_processes
from benchmarks.load import CannotMeasure, Measured
from benchmarks.measured_processes import Running

PROCESSES = ("api", "worker", "simulator", "postgresql")

_CONNECTIONS = 10
_ANSWER_MS = 10  # roughly, of an answer under a small load
_END_SECONDS = 60


@dataclass(frozen=True)
class Memory:
    """In MB. What processes share counts in full in the first figure, and in the second is divided among them."""

    rss: float
    pss: float | None  # where the system tells it

    def __add__(self, other: "Memory") -> "Memory":
        return Memory(self.rss + other.rss, None if self.pss is None or other.pss is None else self.pss + other.pss)


@dataclass(frozen=True)
class Demo:
    start_seconds: float
    _running: Running
    _folder: Path

    @property
    def postgres(self) -> str:
        return (self._folder / "postgres/data/PG_VERSION").read_text().strip()

    def memory(self) -> dict[str, Memory]:
        return {name: _sum(processes) for name, processes in self._processes().items()}

    def pay(self, word: str, *, per_second: int, seconds: int) -> Measured:
        """Take payments at about this rate, through simulated networks and phones that approve."""
        return load.wrk(
            self._running.port,
            word=word,
            connections=_CONNECTIONS,
            seconds=seconds,
            rest_ms=round(_CONNECTIONS / per_second * 1000) - _ANSWER_MS,
            script="start.lua",
            more=(self._key(),),
        )

    def wait_for(self, payments: int) -> None:
        """Until at least as many payments are completed, and none is under way."""
        deadline = time.monotonic() + _END_SECONDS
        while True:
            completed, total = self._count("?status=COMPLETED"), self._count("")
            if payments <= completed == total:
                return
            if time.monotonic() > deadline:
                raise CannotMeasure(f"{payments} payments were answered; of {total}, {completed} are completed.")
            time.sleep(0.5)

    def _key(self) -> str:
        return str(msgspec.json.decode((self._folder / "demo.json").read_bytes())["apiKey"])

    def _count(self, query: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self._running.port, timeout=20)
        try:
            connection.request("GET", f"/v1/payments{query}", headers={"x-api-key": self._key()})
            response = connection.getresponse()
            if response.status != 200:
                raise CannotMeasure(f"The list of payments answered {response.status}.")
            return int(msgspec.json.decode(response.read())["pagination"]["total"])
        finally:
            connection.close()

    def _processes(self) -> dict[str, list[psutil.Process]]:
        """The demo itself is the API; the supervisor of PostgreSQL counts with it."""
        children = {each: " ".join(each.cmdline()) for each in self._running.process.children()}
        postmaster = psutil.Process(int((self._folder / "postgres/data/postmaster.pid").read_text().split()[0]))
        return {
            "api": [self._running.process],
            "worker": [child for child, command in children.items() if "malipo worker" in command],
            "simulator": [child for child, command in children.items() if "malipo_simulator" in command],
            "postgresql": [postmaster.parent(), postmaster, *postmaster.children(recursive=True)],
        }


@contextmanager
def started(folder: Path) -> Iterator[Demo]:
    """`malipo demo` in this data folder, from when it is ready until the block ends, and how long that took."""
    port, phones = measured_processes.free_port(), measured_processes.free_port()
    settings = {
        "MALIPO_DATA_DIR": str(folder),
        "MALIPO_PORT": str(port),
        "MALIPO_SIMULATOR_PORT": str(phones),
        **{f"MALIPO_RATE_LIMIT_{name}": "0" for name in ("CREATE", "LIST", "OTHER")},
    }
    log = folder.with_suffix(".log")
    began = time.perf_counter()
    with measured_processes.started(
        measured_processes.command("demo"), settings, log, measured_processes.answers(port, "/readyz"), port
    ) as running:
        yield Demo(time.perf_counter() - began, running, folder)


def _sum(processes: list[psutil.Process]) -> Memory:
    if not processes:
        raise CannotMeasure("A process of the demo is not there.")
    whole = Memory(0.0, 0.0)
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            whole += _of(process)
    return whole


def _of(process: psutil.Process) -> Memory:
    try:
        pss = getattr(process.memory_full_info(), "pss", None)
    except psutil.AccessDenied:
        pss = None
    return Memory(process.memory_info().rss / 2**20, None if pss is None else pss / 2**20)
