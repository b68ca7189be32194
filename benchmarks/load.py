"""Load generators: pgbench for PostgreSQL alone, wrk for HTTP."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.database import MERCHANTS, binary

_HERE = Path(__file__).parent
_MOST_REQUESTS = 2_000_000  # in one run, however fast the machine is
_GRACE_SECONDS = 30


class CannotMeasure(Exception):  # noqa: N818
    """Something that a benchmark needs is missing or has failed. The text is a sentence for a person."""


@dataclass(frozen=True)
class Measured:
    """One run. `answers` are those that say that a payment was created."""

    answers: int
    per_second: float
    p50_ms: float
    p99_ms: float
    connections: int


class _Told(msgspec.Struct):
    answers: int
    seconds: float
    p50_ms: float
    p99_ms: float
    most_ms: float
    refused: int
    broken: int


def pgbench(
    url: str, folder: Path, *, clients: int, seconds: int, first: int = 0, script: str = "create.sql"
) -> Measured:
    """`first` is where the ids begin, so no two runs on one database may share it."""
    for old in folder.glob("pgbench_log.*"):
        old.unlink()
    threads = min(clients, os.cpu_count() or 1)
    said = _run(
        [
            *(str(binary("pgbench")), "-n", "-M", "prepared", "-f", str(_HERE / "sql" / script), "-D", f"n={first}"),
            *("-D", f"merchants={MERCHANTS}", "-c", str(clients), "-j", str(threads), "-T", str(seconds), "-l"),
            url,
        ],
        seconds=seconds,
        folder=folder,
    )
    rate = re.search(r"tps = ([0-9.]+)", said)
    failed = re.search(r"number of failed transactions: (\d+)", said)
    if rate is None or (failed and int(failed[1])):
        raise CannotMeasure(f"pgbench failed: {said.strip()}")
    # A line a transaction: client, number, microseconds, …
    times = sorted(
        int(line.split(b" ", 3)[2]) / 1000
        for log in folder.glob("pgbench_log.*")
        for line in log.read_bytes().splitlines()
    )
    return Measured(len(times), float(rate[1]), _percentile(times, 50), _percentile(times, 99), clients)


def wrk(
    port: int,
    *,
    word: str,
    connections: int,
    seconds: int,
    rest_ms: int = 0,
    script: str = "create.lua",
    path: str = "/v1/payments",
    merchants: int = MERCHANTS,
    more: tuple[str, ...] = (),
) -> Measured:
    """`word` is in every idempotency key, so no two runs on one database may share it. `more` goes to the script."""
    program = shutil.which("wrk")
    assert program is not None, "need_wrk comes first"
    said = _run(
        [
            *(program, "-t", "1", "-c", str(connections), "-d", f"{seconds}s", "--timeout", "20s"),
            *("-s", str(_HERE / "lua" / script), f"http://127.0.0.1:{port}{path}"),
            *("--", word, str(merchants), str(_MOST_REQUESTS), str(rest_ms), *more),
        ],
        seconds=seconds,
    )
    line = re.search(r"^RESULT (.*)$", said, re.MULTILINE)
    if line is None:
        raise CannotMeasure(f"wrk failed: {said.strip()}")
    reported = msgspec.json.decode(line[1], type=_Told)
    if reported.refused or reported.broken:
        raise CannotMeasure(
            f"{reported.refused} requests were refused and {reported.broken} broke: this is no measurement."
        )
    return Measured(
        reported.answers, reported.answers / reported.seconds, reported.p50_ms, reported.p99_ms, connections
    )


def need_wrk() -> None:
    """wrk is no Python package. Root on Debian gets it installed; everybody else is told what to do."""
    if shutil.which("wrk"):
        return
    if os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["apt-get", "update"], ["apt-get", "install", "-y", "--no-install-recommends", "wrk"]):
            subprocess.run(command, capture_output=True, timeout=600, check=False)
    if not shutil.which("wrk"):
        raise CannotMeasure("wrk makes the load and is not installed: apt-get install wrk, or brew install wrk.")


def _run(command: list[str], *, seconds: int, folder: Path | None = None) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds + _GRACE_SECONDS, cwd=folder, check=False
        )
    except subprocess.TimeoutExpired:
        raise CannotMeasure(f"{Path(command[0]).name} did not end in time.") from None
    if done.returncode:
        raise CannotMeasure(f"{Path(command[0]).name} ended with {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def _percentile(ordered: list[float], percent: int) -> float:
    return ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]
