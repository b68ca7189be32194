"""A server that a test may restart, a table of numbers to work on, and sessions that sleep or are ended."""

import asyncio
import shutil
from pathlib import Path

import pytest

from malipo.db import Conn, Database
from malipo.db.embedded import server


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster to copy, because making one is most of a first start."""
    data_dir = tmp_path_factory.mktemp("made")
    with server(data_dir):
        pass
    return data_dir / "postgres" / "data"


@pytest.fixture
def data_dir(tmp_path: Path, made_once: Path) -> Path:
    data_dir = tmp_path / "malipo"
    (data_dir / "postgres").mkdir(parents=True)
    shutil.copytree(made_once, data_dir / "postgres" / "data")
    return data_dir


@pytest.fixture
async def numbers(database: Database) -> Database:
    async with database.begin() as tx:
        await tx.execute(
            """
            CREATE TABLE numbers (
                number int PRIMARY KEY, word text CONSTRAINT words_are_short CHECK (length(word) < 5)
            );
            INSERT INTO numbers VALUES (1, 'one'), (2, 'two');
            """
        )
    return database


async def select_one(connection: Conn) -> int:
    return int(await connection.fetchval("SELECT 1"))


async def sleep_long(database: Database) -> None:
    async with database.read() as connection:
        await connection.execute("SELECT pg_sleep(60)")


async def until_in_use(database: Database, number: int) -> None:
    while database.in_use < number:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)  # And its statement has reached the server.


async def end_session(database: Database, connection: Conn) -> None:
    pid = await connection.fetchval("SELECT pg_backend_pid()")
    async with database.read() as other:
        await other.execute("SELECT pg_terminate_backend($1, 5000)", pid)
