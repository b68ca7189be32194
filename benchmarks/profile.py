"""`bench where`: where the time of one request goes, by a sampling profile of `malipo api` under full load.

py-spy looks at the process 250 times a second, from outside. Each look is counted for the innermost part of malipo, or
of a library, that the process was in.
"""

import asyncio
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks import database, load, measured_processes
from benchmarks.load import CannotMeasure

Say = Callable[[str], None]

# The first that fits the file of a frame, from the innermost frame outwards.
_PARTS = {
    "reading fields and JSON, ids, the shape of the answer": r"malipo/(validation/|(ids|phone)\.py)"
    r"|malipo/(money|clock)\.py"
    r"|malipo/payments/(payment_request|views|idempotency)|malipo/api/(request_body|payments|openapi)|/json/",
    "HTTP: parsing, reading and writing the socket": r"/uvicorn/|/httptools|malipo/(http_server|api/http/)",
    "the door: route, request id, errors": r"malipo/api/|/starlette/",
    "who asks: key, address, limit": r"malipo/(merchants|access|rate_limit|client_address)",
    "deciding and writing down: fee, wallet, payment, event": r"malipo/(payments|ledger|outbox|audit_log)"
    r"|malipo/(networks|service)",
    "sharing commits": r"malipo/db/",
    "the PostgreSQL driver": r"/asyncpg/",
    "the log line": r"malipo/log",
    "metrics": r"malipo/metrics|/prometheus_client/",
}
_LOOP = "the event loop itself"
_DATABASE = "PostgreSQL, all its processes"


@dataclass(frozen=True)
class Plan:
    seconds: int = 10
    warm_up_seconds: int = 3
    connections: int = 64


QUICK = Plan(seconds=5, warm_up_seconds=2)


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    per_second: float
    cpu_us: float  # of the process, a payment
    database_us: float
    looks: Mapping[str, int]

    def shares(self) -> dict[str, float]:
        """Microseconds of each part, the largest first; PostgreSQL last."""
        whole = sum(self.looks.values())
        parts = sorted(self.looks.items(), key=lambda part: -part[1])
        return {part: looks / whole * self.cpu_us for part, looks in parts} | {_DATABASE: self.database_us}


def measure(plan: Plan, say: Say) -> Report:
    load.need_wrk()
    with database.postgres() as server_url, tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        url = asyncio.run(database.create(server_url, "bench"))
        with measured_processes.malipo(url, Path(folder)) as running:
            load.wrk(running.port, word="warm-up", connections=plan.connections, seconds=plan.warm_up_seconds)
            busy = measured_processes.busy_percent()
            postmaster = asyncio.run(measured_processes.Postmaster.of_database(url))
            say("without the profiler ...")
            before, database_before = running.cpu_seconds, postmaster.cpu_seconds
            full = load.wrk(running.port, word="full", connections=plan.connections, seconds=plan.seconds)
            cpu_us = (running.cpu_seconds - before) / full.answers * 1e6
            database_us = (postmaster.cpu_seconds - database_before) / full.answers * 1e6
            say("with it ...")
            looks = _profile(plan, running, Path(folder) / "profile.raw")
        return Report(plan, asyncio.run(database.version(url)), busy, full.per_second, cpu_us, database_us, looks)


def _profile(plan: Plan, running: measured_processes.Running, raw: Path) -> Counter[str]:
    command = [
        str(Path(sys.executable).parent / "py-spy"),
        "record",
        "--format",
        "raw",
        "--rate",
        "250",
        "--nonblocking",
    ]
    spy = subprocess.Popen(
        [*command, "--duration", str(plan.seconds), "--output", str(raw), "--pid", str(running.process.pid)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    load.wrk(running.port, word="spied", connections=plan.connections, seconds=plan.seconds + 1)
    _, said = spy.communicate(timeout=60)
    if spy.returncode or not raw.exists():
        raise CannotMeasure(f"py-spy could not look (it must be root, or may trace): {said.decode().strip()[-300:]}")
    return parts_of(raw.read_text())


def parts_of(raw: str) -> Counter[str]:
    """Lines of py-spy: frames from the outermost, then how often."""
    parts: Counter[str] = Counter()
    for line in raw.splitlines():
        stack, _, count = line.rpartition(" ")
        if "MainThread" in stack or "thread" not in stack:
            parts[_part_of(stack.split(";"))] += int(count)
    return parts


def _part_of(frames: list[str]) -> str:
    for frame in reversed(frames):
        for part, files in _PARTS.items():
            if re.search(files, frame):
                return part
    return _LOOP
