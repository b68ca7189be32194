"""The two databases that are compared: one with millions of payments, and a new one."""

import asyncio
import tempfile
import time
from collections.abc import Callable
from importlib import resources
from pathlib import Path

import asyncpg

from benchmarks import database, measured_processes
from benchmarks.history import write
from malipo.db import Database
from malipo.db.migrate import migrate

FULL = "full"
_NEW = "bench"
_PAST = 10_000  # payments of one merchant in the new one: PostgreSQL plans for the tables that it has seen

# Made quicker: fewer checkpoints while all is written. Taken back afterwards.
_WHILE_WRITING = {"max_wal_size": "8GB", "checkpoint_timeout": "30min", "autovacuum": "off"}

Say = Callable[[str], None]


def full(server_url: str, payments: int, say: Say) -> str:
    """A database whose merchants, all of whom go on paying, have so many payments together; its URL."""
    url = asyncio.run(database.create(server_url, FULL))
    say(f"writing {payments:,} payments ...")
    began = time.monotonic()
    each = payments // database.MERCHANTS
    asyncio.run(_write(url, {database.merchant(number): each for number in range(1, database.MERCHANTS + 1)}))
    say(f"written in {time.monotonic() - began:,.0f} s; checking the ledger ...")
    with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder:
        measured_processes.check_ledger(url, Path(folder))
    return url


def kept(server_url: str) -> str:
    """The same from an earlier run, with the migrations that have come since; its URL."""
    url = database.url_of(server_url, FULL)
    asyncio.run(_migrate(url))
    return url


async def _migrate(url: str) -> None:
    async with Database.opened(url, size=1) as opened:
        await migrate(opened)


def new(server_url: str) -> str:
    """As any new installation has it after a while: a merchant with some payments, and others with none."""
    url = asyncio.run(database.create(server_url, _NEW, merchants=database.MERCHANTS + 1))
    asyncio.run(_remember(url, {database.merchant(database.MERCHANTS + 1): _PAST}))
    return url


def drop_new(server_url: str) -> None:
    asyncio.run(database.drop(server_url, _NEW))


async def _write(url: str, merchants: dict[str, int]) -> None:
    connection = await asyncpg.connect(url)
    try:
        for name, value in _WHILE_WRITING.items():
            await connection.execute(f"ALTER SYSTEM SET {name} = '{value}'")
        await connection.execute("SELECT pg_reload_conf()")
        await _remember(url, merchants)
        await connection.execute("ALTER SYSTEM RESET ALL")
        await connection.execute("SELECT pg_reload_conf()")
    finally:
        await connection.close()


async def _remember(url: str, merchants: dict[str, int]) -> None:
    await write.write_all(url, merchants, first=10**9)
    await remember_work(url)


async def remember_work(url: str) -> None:
    """What is left of the work on those payments: keys, answers and deliveries."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SET bench.merchant = 'all'")
        await connection.execute(resources.files("benchmarks").joinpath("sql", "journey.sql").read_text())
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()
