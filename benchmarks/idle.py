"""`bench idle`: what an API and a worker take of a core without work, with every network connected.

What goes on without work: looks at the schema, at the marks, at what is due, and the measurements for the metrics.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from benchmarks import database, measured_processes
from benchmarks.journey.processes import process_settings, start_api, start_simulator, start_worker
from benchmarks.measured_processes import Postmaster
from malipo.cli import simulator_setup

Say = Callable[[str], None]

_COMMITS = "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"


@dataclass(frozen=True)
class Plan:
    seconds: int = 60
    settle_seconds: int = 10  # after the start: what is read once is read, and PostgreSQL has cleaned up


QUICK = Plan(seconds=20, settle_seconds=5)


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    percent: dict[str, float]  # of a core, by part
    commits_per_second: float


def measure(plan: Plan, say: Say) -> Report:
    with database.postgres() as server, tempfile.TemporaryDirectory(prefix="malipo-bench-") as name:
        folder = Path(name)
        url = asyncio.run(database.create(server, "bench"))
        busy = measured_processes.busy_percent()
        with start_simulator(folder) as simulator:
            address = f"http://127.0.0.1:{simulator.port}"
            networks = simulator_setup.environment(address, asyncio.run(simulator_setup.credentials(address)))
            settings = process_settings(url, folder) | networks
            with start_api(settings, folder, 0) as api, start_worker(settings, folder, 0) as worker:
                say(f"nothing for {plan.settle_seconds} + {plan.seconds} seconds ...")
                time.sleep(plan.settle_seconds)
                percent, commits = asyncio.run(_watch(plan, url, {"api": api, "worker": worker}))
        return Report(plan, asyncio.run(database.version(url)), busy, percent, commits)


async def _watch(
    plan: Plan, url: str, processes: dict[str, measured_processes.Running]
) -> tuple[dict[str, float], float]:
    connection = await asyncpg.connect(url)
    try:
        parts: dict[str, measured_processes.Spending] = {
            **processes,
            "postgresql": Postmaster.of(connection.get_server_pid()),
        }
        commits = await connection.fetchval(_COMMITS)
        began, before = time.monotonic(), {name: each.cpu_seconds for name, each in parts.items()}
        await asyncio.sleep(plan.seconds)
        after, seconds = {name: each.cpu_seconds for name, each in parts.items()}, time.monotonic() - began
        commits = await connection.fetchval(_COMMITS) - commits
    finally:
        await connection.close()
    return {name: (after[name] - before[name]) / seconds * 100 for name in parts}, commits / seconds
