"""The database of the test before is as a new copy, or it is not given to the next one."""

from collections.abc import AsyncIterator

import asyncpg
import pytest

from malipo.db import Database
from tests.conftest import create_database, drop_if_idle, make_merchant
from tests.kept_database import Contents, KeptDatabase


@pytest.fixture
async def kept(postgres: str, template: str) -> AsyncIterator[KeptDatabase]:
    kept = KeptDatabase(lambda: create_database(postgres, template), lambda url: drop_if_idle(postgres, url))
    yield kept
    await kept.leave()


async def contents(kept: KeptDatabase, url: str) -> Contents:
    async with kept.opened(url, size=1) as database, database.read() as connection:
        return await Contents.of(connection)


async def backend(database: Database) -> int:
    async with database.read() as connection:
        return int(await connection.fetchval("SELECT pg_backend_pid()"))


async def change(kept: KeptDatabase, url: str, statements: str) -> None:
    async with kept.opened(url, size=1) as database, database.begin() as tx:
        await tx.execute(statements)


async def test_rows_sequences_and_the_rows_of_migrations_are_as_before(kept: KeptDatabase) -> None:
    url = await kept.take()
    before = await contents(kept, url)
    async with kept.opened(url, size=5) as database:
        await make_merchant(database, wallet=5000)
        pid = await backend(database)
        async with database.begin() as tx:
            await tx.execute("SELECT setval('statement_lines_id_seq', 77)")
            await tx.execute("UPDATE installation SET epoch = 7, held_at = now()")
            await tx.execute("SELECT; ANALYZE merchants")  # By itself it does nothing here.
            await tx.execute("SET SESSION statement_timeout = 12345")
    assert await contents(kept, url) != before

    assert await kept.take() == url
    assert await contents(kept, url) == before
    async with kept.opened(url, size=5) as database:
        assert await backend(database) == pid, "the connection is the same"
        async with database.read() as connection:
            assert await connection.fetchval("SELECT current_setting('statement_timeout')") == "0"
            assert await connection.fetchval("SELECT current_setting('malipo.session')") == "own"
            assert await connection.fetchval("SELECT nextval('statement_lines_id_seq')") == 1


@pytest.mark.parametrize(
    "statements",
    [
        "CREATE TABLE another (id int)",
        "ALTER TABLE merchants ADD COLUMN colour text",
        "DROP TABLE float_readings",
        "ALTER TABLE merchants DISABLE TRIGGER ALL",
        "CREATE FUNCTION one() RETURNS int LANGUAGE sql AS 'SELECT 1'",
        "GRANT SELECT ON merchants TO PUBLIC",
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = %L', current_database(), '1MB'); END $$",
        "CREATE SCHEMA elsewhere",
    ],
)
async def test_a_database_in_which_more_than_rows_was_changed_is_given_to_nobody(
    kept: KeptDatabase, statements: str
) -> None:
    url = await kept.take()
    before = await contents(kept, url)
    await change(kept, url, statements)
    fresh = await kept.take()
    assert fresh != url
    assert await contents(kept, fresh) == before


async def test_nor_is_one_to_which_somebody_is_connected(kept: KeptDatabase) -> None:
    url = await kept.take()
    somebody = await asyncpg.connect(url)
    try:
        assert await kept.take() != url
    finally:
        await somebody.close()


async def test_what_a_test_has_prepared_the_next_one_finds_prepared(kept: KeptDatabase) -> None:
    """Also if it is more than asyncpg keeps by default: a hundred."""
    url = await kept.take()
    async with kept.opened(url, size=1) as database, database.read() as connection:
        for number in range(150):
            await connection.fetchval(f"SELECT {number}")
    assert await kept.take() == url
    async with kept.opened(url, size=1) as database, database.read() as connection:
        assert await connection.fetchval("SELECT count(*) FROM pg_prepared_statements") > 150


async def test_every_copy_of_the_template_has_the_same_contents(
    kept: KeptDatabase, postgres: str, template: str
) -> None:
    """So one of them is looked at, and not one for each file of tests."""
    await kept.take()
    assert kept.contents is not None
    other = KeptDatabase(lambda: create_database(postgres, template), lambda url: drop_if_idle(postgres, url))
    assert await contents(other, await other.take()) == kept.contents
    await other.leave()
