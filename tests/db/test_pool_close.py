"""Closing a pool: no caller waits for ever, and running work may finish."""

import asyncio

import asyncpg
import pytest

from malipo.db.pool import Pool
from tests.db.pools import NOW, Maker, start_waiting
from tests.db.pools import maker as maker
from tests.db.pools import one as one


async def test_a_closed_pool_lends_nothing_and_keeps_nothing(maker: Maker) -> None:
    pool = Pool(maker, size=3)
    for each in [await pool.take(seconds=NOW) for _ in range(3)]:
        pool.give_back(each)

    await asyncio.wait_for(pool.close(), NOW)

    assert [each.is_closed() for each in maker.made] == [True] * 3
    assert (pool.idle, pool.in_use) == (0, 0)
    with pytest.raises(asyncpg.InterfaceError):
        await pool.take(seconds=NOW)


async def test_closing_refuses_those_who_wait_and_waits_for_those_who_work(maker: Maker) -> None:
    pool = Pool(maker, size=2)
    taken = [await pool.take(seconds=NOW) for _ in range(2)]
    waiting = [await start_waiting(pool) for _ in range(3)]

    closing = asyncio.create_task(pool.close())
    ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), NOW)
    assert [type(end) for end in ends] == [asyncpg.InterfaceError] * 3

    for each in taken:
        await asyncio.sleep(0.01)
        assert not closing.done()
        assert await each.fetchval("SELECT 1") == 1
        pool.give_back(each)
        assert each.is_closed()
    await asyncio.wait_for(closing, NOW)
    assert (pool.idle, pool.in_use) == (0, 0)


async def test_closing_waits_for_one_to_whom_a_connection_was_just_handed(one: Pool) -> None:
    connection = await one.take(seconds=NOW)
    waiting = await start_waiting(one)
    one.give_back(connection)

    closing = asyncio.create_task(one.close())
    assert await waiting is connection
    await asyncio.sleep(0.01)
    assert not closing.done()
    one.give_back(connection)

    await asyncio.wait_for(closing, NOW)
    assert connection.is_closed()


async def test_one_who_is_refused_and_cancelled_in_the_same_moment_is_cancelled(one: Pool) -> None:
    connection = await one.take(seconds=NOW)
    waiting = await start_waiting(one)

    closing = asyncio.create_task(one.close())
    await asyncio.sleep(0)
    waiting.cancel()

    with pytest.raises((asyncio.CancelledError, asyncpg.InterfaceError)):
        await waiting
    one.give_back(connection)
    await asyncio.wait_for(closing, NOW)


async def test_terminating_cuts_off_whoever_still_works(one: Pool) -> None:
    async def work() -> None:
        connection = await one.take(seconds=NOW)
        try:
            await connection.execute("SELECT pg_sleep(60)")
        finally:
            one.give_back(connection)

    working = asyncio.create_task(work())
    while not one.in_use:  # noqa: ASYNC110
        await asyncio.sleep(0.001)
    await asyncio.sleep(0.01)
    closing = asyncio.create_task(one.close())
    await asyncio.sleep(0.01)
    assert not closing.done()

    one.terminate()

    with pytest.raises((asyncpg.InterfaceError, asyncpg.PostgresError, ConnectionError)):
        await asyncio.wait_for(working, NOW)
    await asyncio.wait_for(closing, NOW)
    assert (one.idle, one.in_use) == (0, 0)


async def test_whoever_connects_while_the_pool_is_closed_gets_nothing(postgres: str) -> None:
    gate = asyncio.Event()

    async def connect() -> asyncpg.Connection:
        await gate.wait()
        return await asyncpg.connect(postgres)

    pool = Pool(connect, size=1)
    taking = asyncio.create_task(pool.take(seconds=5))
    await asyncio.sleep(0)
    await pool.close()
    gate.set()

    with pytest.raises(asyncpg.InterfaceError, match="closed"):
        await taking
    assert pool.in_use == 0
