"""The pool on a real PostgreSQL: never too many connections, none lost, and the longest waiting caller gets the next
one."""

import asyncio
import random
from contextlib import suppress

import pytest

from malipo.db import Conn
from malipo.db.pool import Pool
from tests.db.pools import LONG, NOW, Maker, is_whole, start_waiting, turns
from tests.db.pools import maker as maker
from tests.db.pools import one as one

# How many, and whose turn it is


async def test_there_are_never_more_connections_than_there_is_room_for_however_many_come_at_once(maker: Maker) -> None:
    pool = Pool(maker, size=3)
    there: list[int] = []

    async def work() -> None:
        connection = await pool.take(seconds=LONG)
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pool' AND pid = ANY($1)"
        pids = [each.get_server_pid() for each in maker.made]
        there.append(await connection.fetchval(query, pids))
        pool.give_back(connection)

    await asyncio.gather(*(work() for _ in range(50)))

    assert len(there) == 50
    assert max(there) == 3
    assert maker.most == len(maker.made) == 3
    await is_whole(pool, 3)


async def test_connections_are_made_only_when_they_are_needed(maker: Maker) -> None:
    pool = Pool(maker, size=3)
    assert (maker.made, pool.idle, pool.in_use) == ([], 0, 0)

    for _ in range(5):
        pool.give_back(await pool.take(seconds=NOW))

    assert len(maker.made) == 1
    assert (pool.idle, pool.in_use) == (1, 0)


async def test_the_connection_that_was_used_last_is_lent_first(maker: Maker) -> None:
    pool = Pool(maker, size=3)
    taken = [await pool.take(seconds=NOW) for _ in range(3)]
    for each in (taken[1], taken[2], taken[0]):
        pool.give_back(each)

    again = [await pool.take(seconds=NOW) for _ in range(3)]

    assert again == [taken[0], taken[2], taken[1]]


async def test_an_idle_connection_is_lent_without_a_turn_of_the_event_loop(one: Pool) -> None:
    connection = await one.take(seconds=NOW)
    one.give_back(connection)

    taking = one.take(seconds=NOW)

    with pytest.raises(StopIteration) as end:
        taking.send(None)
    assert end.value.value is connection


async def test_whoever_has_waited_longest_is_first(one: Pool) -> None:
    order: list[int] = []

    async def work(number: int) -> None:
        connection = await one.take(seconds=LONG)
        order.append(number)
        await asyncio.sleep(0)
        one.give_back(connection)

    first = await one.take(seconds=NOW)
    workers = [asyncio.create_task(work(number)) for number in range(10)]
    await turns()
    one.give_back(first)
    await asyncio.gather(*workers)

    assert order == list(range(10))


async def test_a_newcomer_cannot_take_a_connection_that_is_being_handed_to_one_who_waits(one: Pool) -> None:
    connection = await one.take(seconds=NOW)
    waiting = await start_waiting(one)

    one.give_back(connection)
    assert (one.idle, one.in_use) == (0, 1)
    with pytest.raises(TimeoutError):
        await one.take(seconds=0.02)

    assert await waiting is connection


async def test_a_newcomer_cannot_take_a_place_that_is_being_handed_to_one_who_waits(one: Pool, maker: Maker) -> None:
    connection = await one.take(seconds=NOW)
    waiting = await start_waiting(one)

    maker.gate.clear()
    connection.terminate()
    one.give_back(connection)
    with pytest.raises(TimeoutError):
        await one.take(seconds=0.02)
    maker.gate.set()

    assert not (await waiting).is_closed()
    assert maker.most == 1


# All of it at once


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_pool_is_whole_after_any_amount_of_leaving_breaking_and_failing(maker: Maker, seed: int) -> None:
    chance = random.Random(seed)
    pool = Pool(maker, size=3)
    held: set[Conn] = set()
    worked = 0

    async def work() -> None:
        nonlocal worked
        connection = await pool.take(seconds=chance.choice([0.001, 0.02, LONG, LONG]))
        assert connection not in held
        held.add(connection)
        try:
            for _ in range(chance.randrange(3)):
                await asyncio.sleep(0)
            if chance.random() < 0.3:
                await connection.fetchval("SELECT 1")
            if chance.random() < 0.1:
                await connection.execute("BEGIN")
            worked += 1
        except BaseException:
            connection.terminate()  # Its statement may still be under way.
            raise
        finally:
            held.remove(connection)
            if chance.random() < 0.1:
                connection.terminate()
            pool.give_back(connection)

    async def come_and_go() -> None:
        task = asyncio.create_task(work())
        for _ in range(chance.randrange(30)):
            await asyncio.sleep(0)
        if chance.random() < 0.5:
            await asyncio.sleep(chance.random() * 0.05)
        if chance.random() < 0.1:
            maker.faults.append(OSError("no route"))
        if chance.random() < 0.4:
            task.cancel()
        with suppress(asyncio.CancelledError, TimeoutError, OSError):
            await task
        assert pool.idle + pool.in_use <= 3

    async with asyncio.timeout(240):
        await asyncio.gather(*(come_and_go() for _ in range(300)))

    assert worked, "those who wait for long get one, however slow the machine is"
    assert maker.most <= 3
    assert pool.in_use == 0
    assert pool.idle <= 3
    maker.faults.clear()
    await is_whole(pool, 3)
