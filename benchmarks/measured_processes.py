"""The processes that are measured, on 127.0.0.1: the services, the worker, and the processor time of PostgreSQL."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import asyncpg
import psutil  # type: ignore[import-untyped]

from benchmarks.load import CannotMeasure

SECRET_KEY = "the-key-that-every-benchmark-is-run-with"  # noqa: S105

_START_SECONDS = 240  # Only what hangs takes so long; a busy machine is slow.
_STOP_SECONDS = 25
# Nothing of the caller's settings may reach what is measured.
_VARIABLES = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")


class Spending(Protocol):
    """Whatever takes the processor's time."""

    @property
    def cpu_seconds(self) -> float: ...


@dataclass(frozen=True)
class Running:
    port: int  # 0 if it listens on none
    process: psutil.Process

    @property
    def memory_mb(self) -> float:
        return float(self.process.memory_info().rss) / 2**20

    @property
    def cpu_seconds(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


@dataclass(frozen=True)
class Postmaster:
    """PostgreSQL's first process. What it took includes all whom it started, also those who have ended since."""

    process: psutil.Process

    @classmethod
    def of(cls, backend: int) -> "Postmaster":
        return cls(psutil.Process(backend).parent())

    @classmethod
    async def of_database(cls, url: str) -> "Postmaster":
        connection = await asyncpg.connect(url)
        try:  # While we hold the line, whoever is at its other end is there.
            return cls.of(connection.get_server_pid())
        finally:
            await connection.close()

    @property
    def cpu_seconds(self) -> float:
        times = self.process.cpu_times()
        seconds = times.user + times.system + times.children_user + times.children_system
        for child in self.process.children():
            with suppress(psutil.NoSuchProcess):
                own = child.cpu_times()
                seconds += own.user + own.system
        return float(seconds)


@contextmanager
def malipo(
    url: str, folder: Path, *, per_minute: int = 0, settings: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """`malipo api`, with its default settings but for these, and for what one key may ask for in a minute: 0 is no
    limit at all."""
    port = free_port()
    limits = {f"MALIPO_RATE_LIMIT_{name}": str(per_minute) for name in ("CREATE", "LIST", "OTHER", "SESSION", "PERSON")}
    variables = _settings(url, folder) | {"MALIPO_PORT": str(port)} | limits | dict(settings or {})
    command = [sys.executable, "-m", "malipo", "api"]
    with started(command, variables, folder / "malipo.log", answers(port, "/readyz"), port) as running:
        yield running


@contextmanager
def worker(url: str, folder: Path) -> Iterator[Running]:
    """`malipo worker`, with its default settings but for where webhooks may go, and without any network."""
    # Whoever hangs would be waited for when it is told to stop, and nobody learns from that.
    settings = _settings(url, folder) | {"MALIPO_WEBHOOK_ALLOW_PRIVATE": "true", "MALIPO_WORKER_STOP_SECONDS": "1"}
    log = folder / "worker.log"
    with started([sys.executable, "-m", "malipo", "worker"], settings, log, says(log, "worker.started")) as running:
        yield running


@contextmanager
def conventional(url: str, folder: Path) -> Iterator[Running]:
    port = free_port()
    program = ["-m", "uvicorn", "benchmarks.conventional:app", "--host", "127.0.0.1", "--port", str(port)]
    options = ["--loop", "uvloop", "--http", "httptools", "--backlog", "2048"]
    command = [sys.executable, *program, *options]
    settings = {"DATABASE_URL": url}
    with started(command, settings, folder / "conventional.log", answers(port, "/readyz"), port) as running:
        yield running


def busy_percent(seconds: float = 1.0) -> float:
    """How much of the machine is taken while we do nothing."""
    return float(psutil.cpu_percent(interval=seconds))


def check_ledger(url: str, folder: Path) -> None:
    """`malipo ledger check` must find nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "malipo", "ledger", "check"],
        env=_environment({"MALIPO_DATABASE_URL": url, "MALIPO_DATA_DIR": str(folder)}),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
    )
    if done.returncode:
        raise CannotMeasure(f"After the run malipo's ledger check found: {done.stdout}{done.stderr}")


@contextmanager
def started(
    command: list[str], variables: Mapping[str, str], log: Path, is_ready: Callable[[], bool], port: int = 0
) -> Iterator[Running]:
    """A process from when it is ready until the block ends."""
    with log.open("wb") as lines:
        process = subprocess.Popen(
            command,
            env=_environment(variables),
            stdin=subprocess.DEVNULL,
            stdout=lines,
            stderr=lines,
        )
    try:
        _wait_until_ready(process, is_ready, log)
        yield Running(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def answers(port: int, path: str, address: str = "127.0.0.1") -> Callable[[], bool]:
    """Ready when a GET is answered with 200."""

    def is_ready() -> bool:
        connection = http.client.HTTPConnection(address, port, timeout=5)
        try:
            connection.request("GET", path)
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()

    return is_ready


def says(log: Path, word: str) -> Callable[[], bool]:
    """Ready when a word is in the log."""
    return lambda: word in log.read_text(errors="replace")


def command(*arguments: str) -> list[str]:
    """malipo's own, with this interpreter."""
    return [sys.executable, "-m", "malipo", *arguments]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def _settings(url: str, folder: Path) -> dict[str, str]:
    return {"MALIPO_DATABASE_URL": url, "MALIPO_DATA_DIR": str(folder), "MALIPO_SECRET_KEY": SECRET_KEY}


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ} | dict(variables)


def _wait_until_ready(process: subprocess.Popen[bytes], is_ready: Callable[[], bool], log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        if is_ready():
            return
        time.sleep(0.05)
    last = log.read_text(errors="replace").splitlines()[-3:]
    raise CannotMeasure(f"A service did not start; the end of its log says: {' | '.join(last) or 'nothing'}")
