"""A caller that leaves the queue of a pool: a connection that is handed to it at that moment is not lost."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import pytest

from malipo.db import Conn
from malipo.db.pool import Pool
from tests.db.pools import LONG, NOW, Maker, is_whole, start_waiting, turns
from tests.db.pools import maker as maker
from tests.db.pools import one as one


async def test_whoever_waits_too_long_is_told_and_is_no_longer_waited_for(one: Pool) -> None:
    connection = await one.take(seconds=NOW)
    loop = asyncio.get_running_loop()
    began = loop.time()

    with pytest.raises(TimeoutError):
        await one.take(seconds=0.05)
    assert 0.04 < loop.time() - began < LONG
    one.give_back(connection)

    assert (one.idle, one.in_use) == (1, 0)
    await is_whole(one, 1)


async def test_whoever_is_cancelled_while_they_wait_is_passed_over(one: Pool) -> None:
    connection = await one.take(seconds=NOW)
    leaving, staying = await start_waiting(one), await start_waiting(one)
    leaving.cancel()
    await turns()

    one.give_back(connection)

    assert await staying is connection
    assert leaving.cancelled()


Leave = Callable[[Pool, Conn], Awaitable[None]]


async def _cancelled_as_it_comes(pool: Pool, connection: Conn) -> None:
    leaving = await start_waiting(pool)
    pool.give_back(connection)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def _cancelled_before_it_comes(pool: Pool, connection: Conn) -> None:
    leaving = await start_waiting(pool)
    leaving.cancel()
    pool.give_back(connection)
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def _late_as_it_comes(pool: Pool, connection: Conn) -> None:
    await _with_the_timeout_in_the_same_turn(pool, connection, seconds=0.02)


async def _late_before_it_comes(pool: Pool, connection: Conn) -> None:
    await _with_the_timeout_in_the_same_turn(pool, connection, seconds=0.05)


async def _with_the_timeout_in_the_same_turn(pool: Pool, connection: Conn, *, seconds: float) -> None:
    leaving = await start_waiting(pool, seconds=0.04)
    asyncio.get_running_loop().call_later(seconds, pool.give_back, connection)
    time.sleep(0.06)  # noqa: ASYNC251 — so that both are due at once
    with pytest.raises(TimeoutError):
        await leaving


LEAVING: list[Leave] = [
    _cancelled_as_it_comes,
    _cancelled_before_it_comes,
    _late_as_it_comes,
    _late_before_it_comes,
]


@pytest.mark.parametrize("leave", LEAVING)
@pytest.mark.parametrize("is_broken", [False, True])
async def test_what_comes_to_one_who_leaves_in_that_moment_is_not_lost(
    maker: Maker, leave: Leave, is_broken: bool
) -> None:
    pool = Pool(maker, size=2)
    connection, _other = [await pool.take(seconds=NOW) for _ in range(2)]
    if is_broken:
        connection.terminate()  # Then it is a place that comes.

    await leave(pool, connection)

    assert (pool.idle, pool.in_use) == (0 if is_broken else 1, 1)
    pool.give_back(_other)
    await is_whole(pool, 2)
    assert maker.most == 2


@pytest.mark.parametrize("leave", LEAVING)
@pytest.mark.parametrize("is_broken", [False, True])
async def test_what_comes_to_one_who_leaves_in_that_moment_goes_to_the_next(
    one: Pool, maker: Maker, leave: Leave, is_broken: bool
) -> None:
    connection = await one.take(seconds=NOW)
    if is_broken:
        connection.terminate()

    async def come_second() -> Conn:
        await turns(2)
        return await one.take(seconds=LONG)

    staying = asyncio.create_task(come_second())
    await leave(one, connection)

    got = await asyncio.wait_for(staying, NOW)
    assert (got is connection) == (not is_broken)
    assert await got.fetchval("SELECT 1") == 1
    assert one.in_use == maker.open == 1
