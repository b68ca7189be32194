"""The pool outlives the server's restarts, reads are tried again, and a caller leaves nothing behind."""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import pytest

from malipo.db import Conn, ConnectionLost, Database, DataError, retry
from malipo.db.embedded import server
from tests.db.servers import data_dir as data_dir
from tests.db.servers import end_session, select_one, sleep_long, until_in_use
from tests.db.servers import made_once as made_once
from tests.db.servers import numbers as numbers


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
            await select_one(connection)

    with server(data_dir):
        answers = await asyncio.gather(*(retry.read(database, select_one, patience_seconds=5) for _ in range(20)))
        after = await _backend_pids(database, 5)
        await database.close()

    assert answers == [1] * 20
    assert not before & after


async def test_a_pool_survives_a_crash_of_its_server_with_every_connection_in_use(data_dir: Path) -> None:
    with server(data_dir) as url:
        database = Database(url, size=5)
        await database.open()
        asleep = [asyncio.create_task(sleep_long(database)) for _ in range(5)]
        await until_in_use(database, 5)
        postmaster = (data_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0]
        os.kill(int(postmaster), signal.SIGKILL)

        lost = await asyncio.gather(*asleep, return_exceptions=True)
        answers = await asyncio.gather(*(retry.read(database, select_one, patience_seconds=20) for _ in range(20)))
        in_use = database.in_use
        await database.close()

    assert [type(each) for each in lost] == [ConnectionLost] * 5
    assert answers == [1] * 20
    assert in_use == 0


async def test_a_pool_may_be_opened_before_its_server(data_dir: Path) -> None:
    with server(data_dir) as url:
        pass
    database = Database(url, size=5)
    await database.open()
    with pytest.raises(ConnectionLost):
        await retry.read(database, select_one, patience_seconds=0.3)

    with server(data_dir):
        assert await retry.read(database, select_one, patience_seconds=5) == 1
        await database.close()


@pytest.mark.parametrize("is_snapshot", [False, True])
async def test_a_read_whose_session_is_ended_is_tried_again(database: Database, is_snapshot: bool) -> None:
    tries = 0

    async def ask(connection: Conn) -> int:
        nonlocal tries
        tries += 1
        if tries <= 2:
            await end_session(database, connection)
        return await select_one(connection)

    assert await retry.read(database, ask, patience_seconds=5, is_snapshot=is_snapshot) == 1
    assert tries == 3


async def test_a_read_is_tried_no_longer_than_the_patience_lasts(database_url: str) -> None:
    nowhere = Database(database_url.replace("host=", "host=/nowhere"))
    await nowhere.open()
    loop = asyncio.get_running_loop()
    began = loop.time()

    with pytest.raises(ConnectionLost):
        await retry.read(nowhere, select_one, patience_seconds=0.5)

    assert 0.3 < loop.time() - began < 30
    await nowhere.close()


async def test_a_read_that_is_wrong_is_not_tried_again(database: Database) -> None:
    tries = 0

    async def ask(connection: Conn) -> Any:
        nonlocal tries
        tries += 1
        return await connection.fetchval("SELECT 1 / 0")

    with pytest.raises(DataError):
        await retry.read(database, ask, patience_seconds=5)
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


async def test_a_server_with_no_room_for_another_session_is_waited_for(data_dir: Path) -> None:
    with (data_dir / "postgres" / "data" / "postgresql.conf").open("a") as settings:
        settings.write("max_connections = 5\nsuperuser_reserved_connections = 0\nmax_wal_senders = 0\n")
    with server(data_dir) as url:
        taken = [await asyncpg.connect(url) for _ in range(5)]
        database = Database(url, size=5)
        await database.open()
        with pytest.raises(ConnectionLost):
            await retry.read(database, select_one, patience_seconds=0.3)
        asking = asyncio.create_task(retry.read(database, select_one, patience_seconds=10))
        await asyncio.sleep(0.3)
        assert not asking.done()

        for each in taken:
            await each.close()

        assert await asking == 1
        await database.close()


async def test_closing_waits_for_nobody_who_works_too_long(database_url: str) -> None:
    database = Database(database_url, size=2)
    await database.open()
    asleep = asyncio.create_task(sleep_long(database))
    await until_in_use(database, 1)
    loop = asyncio.get_running_loop()
    began = loop.time()

    await database.close()

    assert loop.time() - began < 30, "half of what it sleeps"
    with pytest.raises(ConnectionLost):
        await asleep


@pytest.mark.parametrize("way", ["read", "snapshot", "begin"])
async def test_a_caller_who_is_cancelled_leaves_no_connection_behind(database: Database, way: str) -> None:
    open_one: Callable[[], Any] = getattr(database, way)

    async def sleep() -> None:
        async with open_one() as connection:
            await connection.execute("SELECT pg_sleep(60)")

    callers = [asyncio.create_task(sleep()) for _ in range(5)]
    await until_in_use(database, 5)
    for caller in callers:
        caller.cancel()
    ends = await asyncio.gather(*callers, return_exceptions=True)

    assert all(isinstance(end, asyncio.CancelledError) for end in ends)
    assert database.in_use == 0
    assert await asyncio.gather(*(retry.read(database, select_one, patience_seconds=60) for _ in range(20))) == [1] * 20


async def test_the_server_ends_a_transaction_whose_client_has_vanished(database: Database) -> None:
    """A machine that loses its power says no goodbye: its locks on wallets and keys must not stay for hours."""

    async def ask(connection: Conn) -> str:
        return str(await connection.fetchval("SHOW idle_in_transaction_session_timeout"))

    assert await retry.read(database, ask, patience_seconds=60) != "0"
