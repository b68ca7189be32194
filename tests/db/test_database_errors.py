"""Database errors get the error of their meaning: bad data, contention, a lost connection, an unknown outcome."""

import asyncio

import asyncpg
import pytest

from malipo.db import Conn, ConnectionLost, Contention, Database, DataError, retry
from tests.db.servers import end_session, select_one
from tests.db.servers import numbers as numbers

# What is asked for, and the constraint that refuses it, if it is one.
BAD_DATA: dict[str, tuple[str, list[object], str | None]] = {
    "a row that is there": ("INSERT INTO numbers VALUES (1, 'one')", [], "numbers_pkey"),
    "a check": ("INSERT INTO numbers VALUES (9, 'seven')", [], "words_are_short"),
    "no value": ("INSERT INTO numbers VALUES (NULL)", [], None),
    "text with a zero byte": ("INSERT INTO numbers VALUES (9, $1)", ["\0"], None),
    "a number too large for the server": ("SELECT 2147483647 + $1::int", [1], None),
    "a number too large for the driver": ("INSERT INTO numbers VALUES ($1)", [2**40], None),
    "something of another type": ("INSERT INTO numbers VALUES ($1)", ["one"], None),
    "half of a character": ("INSERT INTO numbers VALUES (9, $1)", ["\ud800"], None),
    "a division by zero": ("SELECT 1 / 0", [], None),
}


@pytest.mark.parametrize("what", BAD_DATA)
async def test_data_that_the_server_or_the_driver_refuses_are_bad_data(numbers: Database, what: str) -> None:
    statement, values, constraint = BAD_DATA[what]

    with pytest.raises(DataError) as refusal:
        async with numbers.begin() as tx:
            await tx.execute(statement, *values)

    assert refusal.value.constraint == constraint
    assert await retry.read(numbers, select_one, patience_seconds=60) == 1


async def test_a_mistake_in_the_sql_is_nobody_elses_fault(database: Database) -> None:
    with pytest.raises(asyncpg.UndefinedTableError):
        async with database.begin() as tx:
            await tx.execute("SELECT * FROM nowhere")


async def test_a_deadlock_is_contention_for_one_and_nothing_for_the_other(numbers: Database) -> None:
    both_hold_one = asyncio.Barrier(2)

    async def take(*those: int) -> None:
        async with numbers.begin() as tx:
            await tx.execute("SET LOCAL deadlock_timeout = '50ms'")
            await tx.execute("SELECT * FROM numbers WHERE number = $1 FOR UPDATE", those[0])
            await both_hold_one.wait()
            await tx.execute("SELECT * FROM numbers WHERE number = $1 FOR UPDATE", those[1])

    ends = await asyncio.gather(take(1, 2), take(2, 1), return_exceptions=True)

    assert sorted(type(end).__name__ for end in ends) == ["Contention", "NoneType"]


async def test_a_lock_that_is_not_given_in_time_is_contention(numbers: Database) -> None:
    async def hurry() -> None:
        async with numbers.begin() as tx:
            await tx.execute("SET LOCAL lock_timeout = '20ms'")
            await tx.execute("SELECT * FROM numbers FOR UPDATE")

    async with numbers.begin() as tx:
        await tx.execute("SELECT * FROM numbers FOR UPDATE")
        with pytest.raises(Contention):
            await hurry()


async def test_two_who_cannot_be_put_in_an_order_are_contention(numbers: Database) -> None:
    async def read_and_write(seen: asyncio.Barrier) -> None:
        async with numbers.begin() as tx:
            await tx.execute("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
            await tx.fetchval("SELECT sum(number) FROM numbers")
            await seen.wait()
            await tx.execute("UPDATE numbers SET number = number + 100")

    seen = asyncio.Barrier(2)
    ends = await asyncio.gather(read_and_write(seen), read_and_write(seen), return_exceptions=True)

    assert sorted(type(end).__name__ for end in ends) == ["Contention", "NoneType"]


async def test_a_plan_that_a_migration_made_stale_is_contention_and_good_the_next_time(
    numbers: Database, database_url: str
) -> None:
    one_connection = Database(database_url, size=1)
    await one_connection.open()

    async def all_of_them(connection: Conn) -> int:
        return len(await connection.fetch("SELECT * FROM numbers"))

    assert await retry.read(one_connection, all_of_them, patience_seconds=60) == 2
    async with numbers.begin() as tx:
        await tx.execute("ALTER TABLE numbers ALTER number TYPE bigint")

    with pytest.raises(Contention):
        async with one_connection.begin() as tx:
            await all_of_them(tx)
    assert await retry.read(one_connection, all_of_them, patience_seconds=60) == 2
    await one_connection.close()


async def test_a_session_ended_before_the_commit_is_lost_without_doubt(numbers: Database) -> None:
    async def work() -> None:
        async with numbers.begin() as tx:
            await tx.execute("INSERT INTO numbers VALUES (3, 'tre')")
            await end_session(numbers, tx)
            await select_one(tx)

    with pytest.raises(ConnectionLost) as lost:
        await work()
    assert not lost.value.in_doubt


async def test_a_session_ended_in_the_commit_is_in_doubt(numbers: Database) -> None:
    async with numbers.begin() as tx:
        await tx.execute(
            """
            CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(5); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON numbers DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION dawdle();
            """
        )

    async def commit() -> None:
        async with numbers.begin() as tx:
            await tx.execute("INSERT INTO numbers VALUES (3, 'tre')")

    committing = asyncio.create_task(commit())
    async with numbers.read() as connection:
        while not await connection.fetchval(  # noqa: ASYNC110
            """
            SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
            WHERE datname = current_database() AND query = 'COMMIT;' AND state = 'active'
            """
        ):
            await asyncio.sleep(0.01)

    with pytest.raises(ConnectionLost) as lost:
        await committing
    assert lost.value.in_doubt


async def test_a_session_that_ended_before_its_commit_was_sent_is_in_doubt_to_be_safe(numbers: Database) -> None:
    async def work() -> None:
        async with numbers.begin() as tx:
            await tx.execute("INSERT INTO numbers VALUES (3, 'tre')")
            await end_session(numbers, tx)

    with pytest.raises(ConnectionLost) as lost:
        await work()
    assert lost.value.in_doubt


async def test_a_pool_that_is_full_is_a_connection_that_could_not_be_had(database_url: str) -> None:
    small = Database(database_url, size=1, connect_seconds=0.2)
    await small.open()

    async with small.read():
        with pytest.raises(ConnectionLost):
            async with small.read() as connection:
                await select_one(connection)

    assert await retry.read(small, select_one, patience_seconds=60) == 1
    await small.close()


@pytest.mark.parametrize("sqlstate", ["53100", "53200", "57014", "58030"])
async def test_a_server_that_is_short_of_something_is_no_mistake_of_the_caller_or_ours(
    database: Database, sqlstate: str
) -> None:
    """A full disk, no memory, a statement that the operator cancelled, a failing disk: nothing was done."""
    with pytest.raises((ConnectionLost, Contention)):
        async with database.begin() as tx:
            await tx.execute(f"DO $$ BEGIN RAISE EXCEPTION 'forced' USING ERRCODE = '{sqlstate}'; END $$")
