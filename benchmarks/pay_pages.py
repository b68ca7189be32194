"""`bench pay-pages`: what customers on pay pages cost the programs of merchants.

One `malipo api` takes collections at half of its rate: alone, beside customers who look at each page for a while, and
beside customers who open the next page as soon as they have one. By turns, because a shared machine drifts.
"""

import asyncio
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from benchmarks import database, load, measured_processes
from benchmarks.load import CannotMeasure, Measured
from benchmarks.rounds import Say

ALONE, LOOKING, OPENING = "alone", "looking", "opening"
_CODE = "benchmark0000000"  # of the link; a code has 16 characters
_LINK = """
    INSERT INTO links (merchant_id, id, code, amount, description, is_reusable, request_hash, created_at, created_by)
    VALUES ($1, 'lnk_benchmark', $2, 25000, 'Sukari kilo 25', true, '', now(), 'Benchmark')
"""


@dataclass(frozen=True)
class Plan:
    rounds: int = 3
    seconds: int = 15
    connections: int = 64  # of the programs
    customers: int = 200
    look_seconds: int = 5


QUICK = Plan(rounds=1, seconds=5)


@dataclass(frozen=True)
class Turn:
    payments: Measured
    pages: Measured | None  # None: nobody opened one


@dataclass(frozen=True)
class Report:
    plan: Plan
    postgres: str
    busy_percent: float
    turns: dict[str, list[Turn]]


def measure(plan: Plan, say: Say) -> Report:
    load.need_wrk()
    with database.postgres() as server_url, tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        url = asyncio.run(database.create(server_url, "bench"))
        asyncio.run(_make_link(url))
        # Each customer has an address of its own, because one address has only so many turns.
        behind_proxy = {"MALIPO_TRUSTED_PROXIES": "127.0.0.1"}
        with measured_processes.malipo(url, Path(folder), settings=behind_proxy) as service:
            bench = _Bench(plan, service.port)
            busy = measured_processes.busy_percent()
            turns: dict[str, list[Turn]] = {ALONE: [], LOOKING: [], OPENING: []}
            for number in range(plan.rounds):
                say(f"round {number + 1} of {plan.rounds} ...")
                for beside, measured in turns.items():
                    measured.append(bench.turn(beside, f"{beside}-{number}"))
        measured_processes.check_ledger(url, Path(folder))
        return Report(plan, asyncio.run(database.version(url)), busy, turns)


async def _make_link(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(_LINK, database.merchant(1), _CODE)
    finally:
        await connection.close()


class _Bench:
    def __init__(self, plan: Plan, port: int) -> None:
        self._plan = plan
        self._port = port
        full = load.wrk(port, word="warm-up", connections=plan.connections, seconds=plan.seconds)
        # As in `rounds.py`: connections that rest so long make about half of the full rate.
        self._rest_ms = round(plan.connections / (full.per_second / 2) * 1000 - full.p50_ms / 3)

    def turn(self, beside: str, word: str) -> Turn:
        with ThreadPoolExecutor(max_workers=1) as others:
            look_ms = self._plan.look_seconds * 1000 if beside == LOOKING else 0
            pages = None if beside == ALONE else others.submit(self._open_pages, look_ms)
            payments = load.wrk(
                self._port,
                word=word,
                connections=self._plan.connections,
                seconds=self._plan.seconds,
                rest_ms=self._rest_ms,
            )
            opened = None if pages is None else pages.result()
        if opened is not None and not opened.answers:
            raise CannotMeasure("No customer got a page: this is no measurement.")
        return Turn(payments, opened)

    def _open_pages(self, look_ms: int) -> Measured:
        return load.wrk(
            self._port,
            word="pages",
            connections=self._plan.customers,
            seconds=self._plan.seconds,
            rest_ms=look_ms,
            script="pay_page.lua",
            path=f"/pay/{_CODE}",
            merchants=self._plan.customers,
        )
