"""A transaction with a failed statement does not count as committed, even if its code ignored the failure."""

from collections.abc import Callable
from contextlib import suppress

import asyncpg
import pytest

from malipo.db import Conn, Database, DataError
from malipo.db.transaction import PooledConnection


async def _swallow(connection: Conn, statement: str) -> None:
    with suppress(asyncpg.PostgresError):
        await connection.execute(statement)


@pytest.fixture
async def notes(database: Database) -> Database:
    async with database.begin() as tx:
        await tx.execute("CREATE TABLE notes (note int PRIMARY KEY)")
    return database


async def _written(database: Database) -> list[int]:
    async with database.read() as connection:
        return [row["note"] for row in await connection.fetch("SELECT note FROM notes ORDER BY note")]


async def test_a_transaction_with_a_failure_that_was_swallowed_is_not_taken_for_committed(notes: Database) -> None:
    async def work() -> None:
        async with notes.begin() as tx:
            await tx.execute("INSERT INTO notes VALUES (1)")
            await _swallow(tx, "INSERT INTO notes VALUES (1)")

    with pytest.raises(RuntimeError, match="cannot be committed"):
        await work()

    assert await _written(notes) == []
    assert (notes.idle, notes.in_use) == (1, 0)


async def test_a_snapshot_with_a_failure_that_was_swallowed_raises_too(notes: Database) -> None:
    with pytest.raises(RuntimeError, match="cannot be committed"):
        async with notes.snapshot() as connection:
            await _swallow(connection, "SELECT 1 / 0")

    assert (notes.idle, notes.in_use) == (1, 0)


async def test_a_failure_behind_a_savepoint_spoils_nothing(notes: Database) -> None:
    async with notes.begin() as tx:
        await tx.execute("INSERT INTO notes VALUES (1)")
        await tx.execute("SAVEPOINT here")
        await _swallow(tx, "INSERT INTO notes VALUES (1)")
        await tx.execute("ROLLBACK TO SAVEPOINT here")

    assert await _written(notes) == [1]


async def test_where_each_statement_stands_alone_a_failure_that_was_swallowed_is_nobody_elses(notes: Database) -> None:
    async with notes.read() as connection:
        await connection.execute("INSERT INTO notes VALUES (1)")
        await _swallow(connection, "INSERT INTO notes VALUES (1)")
        await connection.execute("INSERT INTO notes VALUES (2)")

    assert await _written(notes) == [1, 2]


async def test_a_constraint_that_is_looked_at_only_in_the_commit_is_bad_data_and_the_connection_is_kept(
    notes: Database,
) -> None:
    async with notes.begin() as tx:
        await tx.execute("ALTER TABLE notes ADD CONSTRAINT once UNIQUE (note) DEFERRABLE INITIALLY DEFERRED")
        await tx.execute("ALTER TABLE notes DROP CONSTRAINT notes_pkey")

    async def work() -> None:
        async with notes.begin() as tx:
            await tx.execute("INSERT INTO notes VALUES (1), (1)")

    with pytest.raises(DataError) as refusal:
        await work()

    assert refusal.value.constraint == "once"
    assert await _written(notes) == []
    assert (notes.idle, notes.in_use) == (1, 0)


async def test_a_block_that_raises_gives_its_connection_back_fit_for_the_next(notes: Database) -> None:
    async def work(way: Callable[[], PooledConnection]) -> None:
        async with way() as connection:
            await _swallow(connection, "SELECT 1 / 0")
            raise KeyError

    for way in (notes.read, notes.snapshot, notes.begin):
        with pytest.raises(KeyError):
            await work(way)
        assert (notes.idle, notes.in_use) == (1, 0)
        assert await _written(notes) == []
