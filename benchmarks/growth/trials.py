"""Payments of the ordinary mix, through the API, a network, its callbacks and webhooks, until nothing is under way.

Then the sizes of all tables and indexes, by payment. What is counted and indexed for searches only later is done
before, and the database is vacuumed as it is in life.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import asyncpg

from benchmarks import database, load, measured_processes
from benchmarks.growth import disk_use
from benchmarks.growth.disk_use import Relation, Statistics
from benchmarks.growth.tables import GROWING, Kept
from benchmarks.journey.processes import Parts, parts
from benchmarks.load import CannotMeasure
from benchmarks.webhooks.receiver import need_nginx
from malipo import clock
from malipo.db import Database
from malipo.ledger.bookings import BookingKind, book
from malipo.ledger.store import statement_rollups
from malipo.payments.rollups import counter

_MONEY = 10**12  # more than the payouts of a merchant
_AT_ONCE = 1  # second of requests, before what they began is worked off
_PATIENCE_SECONDS = 300.0
_UNDER_WAY = """
    SELECT EXISTS (SELECT FROM dispatches WHERE NOT is_follow_up)
        OR EXISTS (SELECT FROM events WHERE feed_number IS NULL)
        OR EXISTS (SELECT FROM webhook_deliveries WHERE state = 'PENDING')
"""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    payments: int = 20_000  # at least
    merchants: int = database.MERCHANTS


QUICK = Plan(payments=2_000, merchants=10)


@dataclass(frozen=True)
class Report:
    postgres: str
    payments: int
    bytes_each: dict[Relation, float]
    packed_each: dict[Relation, float]  # after VACUUM FULL: what the rows need, without what is free between them
    wal_bytes: float  # a payment
    statistics: Statistics  # of all payments together

    def of_table(self, table: str) -> float:
        return sum(size for relation, size in self.bytes_each.items() if relation.table == table)

    def kept(self, *kept: Kept) -> float:
        return sum(self.of_table(table) for table, how_long in GROWING.items() if how_long in kept)


def measure(plan: Plan, say: Say) -> Report:
    load.need_wrk()
    need_nginx()
    with database.postgres() as server_url, tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        url = asyncio.run(database.create(server_url, "bench", merchants=plan.merchants))
        asyncio.run(_prepare(url, plan))
        with parts(url, Path(folder), of_each=1, merchants=plan.merchants) as running:
            before = asyncio.run(_read(url))
            payments = asyncio.run(_load(plan, running, url, say))
        asyncio.run(_count(url))
        statistics = asyncio.run(_read_statistics(url))
        after = asyncio.run(_read(url))
        measured_processes.check_ledger(url, Path(folder))
        packed = asyncio.run(_read(url, how="FULL"))
        return Report(
            asyncio.run(database.version(url)),
            payments,
            disk_use.growth(before.sizes, after.sizes, payments),
            disk_use.growth(before.sizes, packed.sizes, payments),
            (after.wal - before.wal) / payments,
            statistics,
        )


async def _prepare(url: str, plan: Plan) -> None:
    """Everybody has something to pay out."""
    async with Database.opened(url, size=1) as opened, opened.begin() as tx:
        for number in range(1, plan.merchants + 1):
            paper = f"BENCHMARK-{number}"
            await book(tx, BookingKind.TOP_UP, database.merchant(number), _MONEY, reference=paper, now=clock.now())


@dataclass(frozen=True)
class _Disk:
    sizes: dict[Relation, int]
    wal: int


async def _read(url: str, how: str = "ANALYZE") -> _Disk:
    connection = await asyncpg.connect(url)
    try:
        wal = await connection.fetchval("SELECT pg_current_wal_lsn() - '0/0'")
        await connection.execute(f"VACUUM ({how})")
        return _Disk(await disk_use.read(connection), int(wal))
    finally:
        await connection.close()


async def _read_statistics(url: str) -> Statistics:
    connection = await asyncpg.connect(url)
    try:
        return await disk_use.read_statistics(connection)
    finally:
        await connection.close()


async def _load(plan: Plan, running: Parts, url: str, say: Say) -> int:
    """How many payments were made. Not all at once: a queue that was long once stays long on disk."""
    connection = await asyncpg.connect(url)
    made, word = 0, 0
    try:
        while made < plan.payments:
            word += 1
            await asyncio.to_thread(
                load.wrk,
                running.ports[0],
                word=str(word),
                connections=16,
                seconds=_AT_ONCE,
                script="growth.lua",
                merchants=plan.merchants,
            )
            await _wait(connection)
            made = int(await connection.fetchval("SELECT count(*) FROM transactions"))
            say(f"{made:,} of {plan.payments:,} payments ...")
    finally:
        await connection.close()
    return made


async def _wait(connection: asyncpg.Connection) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while await connection.fetchval(_UNDER_WAY):
        if time.monotonic() > deadline:
            raise CannotMeasure(f"Something was still under way after {_PATIENCE_SECONDS:.0f} s.")
        await asyncio.sleep(0.2)


async def _count(url: str) -> None:
    """What a worker leaves for later, because there is little of it."""
    async with Database.opened(url, size=1) as opened:
        for count in (counter.count, statement_rollups.count):
            is_more = True
            while is_more:
                async with opened.begin() as tx:
                    is_more = await count(tx, least=1)
