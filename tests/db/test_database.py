"""The pool outlives the server's restarts, reads are tried again, and what goes wrong is said by its meaning."""

import asyncio
import os
import shutil
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from malipo.db import Conn, ConnectionLost, Contention, Database, DataError
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


async def _one(connection: Conn) -> int:
    return int(await connection.fetchval("SELECT 1"))


async def _backend_pids(database: Database, number: int) -> set[int]:
    """Open so many connections, and say who is at their other ends."""
    there = asyncio.Barrier(number)

    async def look() -> int:
        async with database.read() as connection:
            await there.wait()
            return int(await connection.fetchval("SELECT pg_backend_pid()"))

    return set(await asyncio.gather(*(look() for _ in range(number))))


async def test_a_pool_survives_a_restart_of_its_server(data_dir: Path) -> None:
    with server(data_dir) as url:
        database = Database(url, size=5)
        await database.open()
        before = await _backend_pids(database, 5)
    with pytest.raises(ConnectionLost):  # It is down now: nobody else uses it.
        async with database.read() as connection:
            await _one(connection)

    with server(data_dir):
        answers = await asyncio.gather(*(database.ask(_one, patience_seconds=5) for _ in range(20)))
        after = await _backend_pids(database, 5)
        await database.close()

    assert answers == [1] * 20
    assert not before & after


async def test_a_pool_survives_a_crash_of_its_server_with_every_connection_in_use(data_dir: Path) -> None:
    with server(data_dir) as url:
        database = Database(url, size=5)
        await database.open()
        asleep = [asyncio.create_task(_sleep(database)) for _ in range(5)]
        await _until_in_use(database, 5)
        postmaster = (data_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0]
        os.kill(int(postmaster), signal.SIGKILL)

        lost = await asyncio.gather(*asleep, return_exceptions=True)
        answers = await asyncio.gather(*(database.ask(_one, patience_seconds=20) for _ in range(20)))
        in_use = database.in_use
        await database.close()

    assert [type(each) for each in lost] == [ConnectionLost] * 5
    assert answers == [1] * 20
    assert in_use == 0


async def _sleep(database: Database) -> None:
    async with database.read() as connection:
        await connection.execute("SELECT pg_sleep(60)")


async def _until_in_use(database: Database, number: int) -> None:
    while database.in_use < number:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    await asyncio.sleep(0.1)  # And its statement has reached the server.


async def test_a_pool_may_be_opened_before_its_server(data_dir: Path) -> None:
    with server(data_dir) as url:
        pass
    database = Database(url, size=5)
    await database.open()
    with pytest.raises(ConnectionLost):
        await database.ask(_one, patience_seconds=0.3)

    with server(data_dir):
        assert await database.ask(_one, patience_seconds=5) == 1
        await database.close()


@pytest.mark.parametrize("is_snapshot", [False, True])
async def test_a_read_whose_session_is_ended_is_tried_again(database: Database, is_snapshot: bool) -> None:
    tries = 0

    async def ask(connection: Conn) -> int:
        nonlocal tries
        tries += 1
        if tries <= 2:
            await _end(database, connection)
        return await _one(connection)

    assert await database.ask(ask, patience_seconds=5, is_snapshot=is_snapshot) == 1
    assert tries == 3


async def _end(database: Database, connection: Conn) -> None:
    pid = await connection.fetchval("SELECT pg_backend_pid()")
    async with database.read() as other:
        await other.execute("SELECT pg_terminate_backend($1, 5000)", pid)


async def test_a_read_is_tried_no_longer_than_the_patience_lasts(database_url: str) -> None:
    nowhere = Database(database_url.replace("host=", "host=/nowhere"))
    await nowhere.open()
    loop = asyncio.get_running_loop()
    began = loop.time()

    with pytest.raises(ConnectionLost):
        await nowhere.ask(_one, patience_seconds=0.5)

    assert 0.3 < loop.time() - began < 5
    await nowhere.close()


async def test_a_read_that_is_wrong_is_not_tried_again(database: Database) -> None:
    tries = 0

    async def ask(connection: Conn) -> Any:
        nonlocal tries
        tries += 1
        return await connection.fetchval("SELECT 1 / 0")

    with pytest.raises(DataError):
        await database.ask(ask, patience_seconds=5)
    assert tries == 1


async def test_a_snapshot_sees_one_moment_and_cannot_write(numbers: Database) -> None:
    async with numbers.snapshot() as connection:
        before = await connection.fetchval("SELECT count(*) FROM numbers")
        async with numbers.begin() as tx:
            await tx.execute("INSERT INTO numbers VALUES (3, 'tre')")
        after = await connection.fetchval("SELECT count(*) FROM numbers")

    assert (before, after) == (2, 2)
    # A primary that became a standby says the same, so it is taken for a server that has gone away.
    with pytest.raises(ConnectionLost):
        async with numbers.snapshot() as connection:
            await connection.execute("DELETE FROM numbers")


async def test_a_transaction_is_all_or_nothing(numbers: Database) -> None:
    async def break_off() -> None:
        async with numbers.begin() as tx:
            await tx.execute("INSERT INTO numbers VALUES (3, 'tre')")
            raise KeyError

    with pytest.raises(KeyError):
        await break_off()
    async with numbers.begin() as tx:
        await tx.execute("INSERT INTO numbers VALUES (4, 'four')")

    async with numbers.read() as connection:
        found = await connection.fetch("SELECT number FROM numbers ORDER BY number")
    assert [row["number"] for row in found] == [1, 2, 4]
    assert numbers.in_use == 0


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
    assert await numbers.ask(_one, patience_seconds=1) == 1


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

    assert await one_connection.ask(all_of_them, patience_seconds=1) == 2
    async with numbers.begin() as tx:
        await tx.execute("ALTER TABLE numbers ALTER number TYPE bigint")

    with pytest.raises(Contention):
        async with one_connection.begin() as tx:
            await all_of_them(tx)
    assert await one_connection.ask(all_of_them, patience_seconds=1) == 2
    await one_connection.close()


async def test_a_session_ended_before_the_commit_is_lost_without_doubt(numbers: Database) -> None:
    async def work() -> None:
        async with numbers.begin() as tx:
            await tx.execute("INSERT INTO numbers VALUES (3, 'tre')")
            await _end(numbers, tx)
            await _one(tx)

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
            await _end(numbers, tx)

    with pytest.raises(ConnectionLost) as lost:
        await work()
    assert lost.value.in_doubt


async def test_a_pool_that_is_full_is_a_connection_that_could_not_be_had(database_url: str) -> None:
    small = Database(database_url, size=1, connect_seconds=0.2)
    await small.open()

    async with small.read():
        with pytest.raises(ConnectionLost):
            async with small.read() as connection:
                await _one(connection)

    assert await small.ask(_one, patience_seconds=1) == 1
    await small.close()


async def test_a_server_with_no_room_for_another_session_is_waited_for(data_dir: Path) -> None:
    with (data_dir / "postgres" / "data" / "postgresql.conf").open("a") as settings:
        settings.write("max_connections = 5\nsuperuser_reserved_connections = 0\nmax_wal_senders = 0\n")
    with server(data_dir) as url:
        taken = [await asyncpg.connect(url) for _ in range(5)]
        database = Database(url, size=5)
        await database.open()
        with pytest.raises(ConnectionLost):
            await database.ask(_one, patience_seconds=0.3)
        asking = asyncio.create_task(database.ask(_one, patience_seconds=10))
        await asyncio.sleep(0.3)
        assert not asking.done()

        for each in taken:
            await each.close()

        assert await asking == 1
        await database.close()


async def test_closing_waits_for_nobody_who_works_too_long(database_url: str) -> None:
    database = Database(database_url, size=2)
    await database.open()
    asleep = asyncio.create_task(_sleep(database))
    await _until_in_use(database, 1)
    loop = asyncio.get_running_loop()
    began = loop.time()

    await database.close()

    assert loop.time() - began < 4
    with pytest.raises(ConnectionLost):
        await asleep


@pytest.mark.parametrize("way", ["read", "snapshot", "begin"])
async def test_a_caller_who_is_cancelled_leaves_no_connection_behind(database: Database, way: str) -> None:
    open_one: Callable[[], Any] = getattr(database, way)

    async def sleep() -> None:
        async with open_one() as connection:
            await connection.execute("SELECT pg_sleep(60)")

    callers = [asyncio.create_task(sleep()) for _ in range(5)]
    await _until_in_use(database, 5)
    for caller in callers:
        caller.cancel()
    ends = await asyncio.gather(*callers, return_exceptions=True)

    assert all(isinstance(end, asyncio.CancelledError) for end in ends)
    assert database.in_use == 0
    assert await asyncio.gather(*(database.ask(_one, patience_seconds=1) for _ in range(20))) == [1] * 20


@pytest.mark.parametrize("sqlstate", ["53100", "53200", "57014", "58030"])
async def test_a_server_that_is_short_of_something_is_no_mistake_of_the_caller_or_ours(
    database: Database, sqlstate: str
) -> None:
    """A full disk, no memory, a statement that the operator cancelled, a failing disk: nothing was done."""
    with pytest.raises((ConnectionLost, Contention)):
        async with database.begin() as tx:
            await tx.execute(f"DO $$ BEGIN RAISE EXCEPTION 'forced' USING ERRCODE = '{sqlstate}'; END $$")


async def test_the_server_ends_a_transaction_whose_client_has_vanished(database: Database) -> None:
    """A machine that loses its power says no goodbye: its locks on wallets and keys must not stay for hours."""

    async def ask(connection: Conn) -> str:
        return str(await connection.fetchval("SHOW idle_in_transaction_session_timeout"))

    assert await database.ask(ask, patience_seconds=1) != "0"
