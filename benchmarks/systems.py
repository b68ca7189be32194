"""The two services that are compared, each as a process of its own on 127.0.0.1."""

import http.client
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil  # type: ignore[import-untyped]

from benchmarks.load import CannotMeasure

_START_SECONDS = 30
_STOP_SECONDS = 25
# Nothing of the caller's settings may reach what is measured.
_VARIABLES = ("PATH", "HOME", "LANG", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "TMPDIR")


@dataclass(frozen=True)
class Running:
    port: int
    process: psutil.Process

    @property
    def memory_mb(self) -> float:
        return float(self.process.memory_info().rss) / 2**20

    @property
    def cpu_seconds(self) -> float:
        times = self.process.cpu_times()
        return float(times.user + times.system)


@contextmanager
def malipo(url: str, folder: Path) -> Iterator[Running]:
    """`malipo api`, with its default settings but for the limits of one key."""
    port = _free_port()
    settings = {
        "MALIPO_DATABASE_URL": url,
        "MALIPO_PORT": str(port),
        "MALIPO_DATA_DIR": str(folder),
        "MALIPO_SECRET_KEY": "benchmark-" * 4,
        "MALIPO_RATE_LIMIT_CREATE": "0",
    }
    with _process(["-m", "malipo", "api"], settings, port, folder / "malipo.log") as running:
        yield running


@contextmanager
def conventional(url: str, folder: Path) -> Iterator[Running]:
    port = _free_port()
    program = ["-m", "uvicorn", "benchmarks.conventional:app", "--host", "127.0.0.1", "--port", str(port)]
    options = ["--loop", "uvloop", "--http", "httptools", "--backlog", "2048"]
    with _process([*program, *options], {"DATABASE_URL": url}, port, folder / "conventional.log") as running:
        yield running


def busy_percent() -> float:
    """How much of the machine is taken while we do nothing."""
    return float(psutil.cpu_percent(interval=1.0))


def check_ledger(url: str, folder: Path) -> None:
    """`malipo ledger check` must find nothing."""
    done = subprocess.run(
        [sys.executable, "-m", "malipo", "ledger", "check"],
        env=_environment({"MALIPO_DATABASE_URL": url, "MALIPO_DATA_DIR": str(folder)}),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    if done.returncode:
        raise CannotMeasure(f"After the run malipo's ledger check found: {done.stdout}{done.stderr}")


@contextmanager
def _process(program: list[str], variables: Mapping[str, str], port: int, log: Path) -> Iterator[Running]:
    with log.open("wb") as lines:
        process = subprocess.Popen(
            [sys.executable, *program],
            env=_environment(variables),
            stdin=subprocess.DEVNULL,
            stdout=lines,
            stderr=lines,
        )
    try:
        _wait_until_ready(process, port, log)
        yield Running(port, psutil.Process(process.pid))
    finally:
        process.terminate()
        try:
            process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _environment(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: os.environ[name] for name in _VARIABLES if name in os.environ} | dict(variables)


def _wait_until_ready(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        try:
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        finally:
            connection.close()
        time.sleep(0.05)
    last = log.read_text(errors="replace").splitlines()[-3:]
    raise CannotMeasure(f"A service did not start; the end of its log says: {' | '.join(last) or 'nothing'}")


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])
