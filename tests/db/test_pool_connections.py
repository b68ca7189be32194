"""Connections of a pool that cannot be made, that break, or that are not fit to be lent again."""

import asyncio
from collections.abc import Awaitable, Callable

import asyncpg
import pytest

from malipo.db import Conn
from malipo.db import pool as pool_module
from malipo.db.pool import Pool
from tests.db.pools import LONG, NOW, Maker, is_whole, start_waiting, turns
from tests.db.pools import maker as maker
from tests.db.pools import one as one


async def test_a_connect_that_fails_is_the_callers_error_and_leaves_its_place_free(maker: Maker) -> None:
    pool = Pool(maker, size=2)
    for _ in range(5):
        maker.faults = [OSError("no route")]
        with pytest.raises(OSError, match="no route"):
            await pool.take(seconds=NOW)

    assert pool.in_use == 0
    await is_whole(pool, 2)


async def test_a_connect_that_fails_gives_its_place_to_whoever_waits(one: Pool, maker: Maker) -> None:
    maker.gate.clear()
    maker.faults = [OSError("no route")]
    failing, waiting, next_one = await start_waiting(one), await start_waiting(one), await start_waiting(one)

    maker.gate.set()

    with pytest.raises(OSError, match="no route"):
        await failing
    connection = await asyncio.wait_for(waiting, NOW)
    assert not next_one.done()
    one.give_back(connection)
    assert await next_one is connection
    assert maker.most == 1


async def test_connects_that_fail_one_after_the_other_leave_nobody_waiting(one: Pool, maker: Maker) -> None:
    maker.gate.clear()
    waiting = [await start_waiting(one) for _ in range(5)]
    maker.faults = [OSError(str(number)) for number in range(4)]

    maker.gate.set()
    ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), NOW)

    assert [type(end) for end in ends[:4]] == [OSError] * 4
    assert isinstance(ends[4], asyncpg.Connection)
    one.give_back(ends[4])
    await is_whole(one, 1)


async def test_a_connect_that_is_cancelled_gives_its_place_to_whoever_waits(one: Pool, maker: Maker) -> None:
    maker.gate.clear()
    connecting, waiting = await start_waiting(one), await start_waiting(one)

    connecting.cancel()
    await turns()
    maker.gate.set()

    assert not (await asyncio.wait_for(waiting, NOW)).is_closed()
    assert connecting.cancelled()
    assert maker.most == 1


async def test_a_connect_that_is_cancelled_with_nobody_waiting_leaves_its_place_free(one: Pool, maker: Maker) -> None:
    maker.gate.clear()
    connecting = await start_waiting(one)
    connecting.cancel()
    await turns()
    maker.gate.set()

    await is_whole(one, 1)


async def _cut(connection: Conn) -> None:
    connection.terminate()


async def _begin(connection: Conn) -> None:
    await connection.execute("BEGIN")


async def _fail_in_a_transaction(connection: Conn) -> None:
    await connection.execute("BEGIN")
    with pytest.raises(asyncpg.DivisionByZeroError):
        await connection.execute("SELECT 1 / 0")


async def _end_its_session(connection: Conn) -> None:
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError, OSError)):
        await connection.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    while not connection.is_closed():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


SPOILT = [_cut, _begin, _fail_in_a_transaction, _end_its_session]


@pytest.mark.parametrize("spoil", SPOILT)
async def test_a_connection_that_broke_or_is_in_a_transaction_is_not_kept(
    one: Pool, maker: Maker, spoil: Callable[[Conn], Awaitable[None]]
) -> None:
    connection = await one.take(seconds=NOW)
    await spoil(connection)

    one.give_back(connection)

    assert (one.idle, one.in_use) == (0, 0)
    assert connection.is_closed()
    await is_whole(one, 1)
    assert maker.most == 1


@pytest.mark.parametrize("spoil", SPOILT)
async def test_the_place_of_a_connection_that_is_not_kept_goes_to_whoever_waits(
    one: Pool, maker: Maker, spoil: Callable[[Conn], Awaitable[None]]
) -> None:
    connection = await one.take(seconds=NOW)
    waiting, next_one = await start_waiting(one), await start_waiting(one)
    await spoil(connection)

    one.give_back(connection)

    fresh = await asyncio.wait_for(waiting, NOW)
    assert fresh is not connection
    assert await fresh.fetchval("SELECT 1") == 1
    one.give_back(fresh)
    assert await next_one is fresh
    assert maker.most == 1


async def test_a_connection_that_ended_while_it_was_idle_is_not_lent(maker: Maker) -> None:
    pool = Pool(maker, size=2)
    taken = [await pool.take(seconds=NOW) for _ in range(2)]
    for each in taken:
        pool.give_back(each)
    for each in taken:
        await _end_its_session(each)

    fresh = await pool.take(seconds=NOW)

    assert fresh not in taken
    pool.give_back(fresh)
    await is_whole(pool, 2)


async def test_a_connection_that_was_idle_for_too_long_is_replaced(
    one: Pool, maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "_KEPT_SECONDS", 4)
    old = await one.take(seconds=NOW)
    for _ in range(2):  # Longer than that in all, and never at one time.
        one.give_back(old)
        await asyncio.sleep(2.1)
        assert await one.take(seconds=NOW) is old

    one.give_back(old)
    await asyncio.sleep(4.1)
    fresh = await one.take(seconds=NOW)

    assert fresh is not old
    assert old.is_closed()
    assert await fresh.fetchval("SELECT 1") == 1
    assert maker.most == 1


async def test_while_the_server_is_away_those_who_wait_take_turns_to_look_whether_it_is_back(maker: Maker) -> None:
    """Each look costs this process, and a server that is just starting."""
    looks: list[float] = []

    async def connect() -> Conn:
        looks.append(asyncio.get_running_loop().time())
        return await maker()

    pool = Pool(connect, size=8)

    async def take() -> Conn:
        while True:
            try:
                return await pool.take(seconds=20)
            except OSError:
                await asyncio.sleep(0)

    maker.faults = [OSError("no route") for _ in range(8 + 6)]
    taken = await asyncio.gather(*(take() for _ in range(8)))

    assert looks[8 + 5 - 1] - looks[0] > 0.4, "five more looks have taken five turns"
    assert len(set(taken)) == 8
    for connection in taken:
        pool.give_back(connection)


async def test_those_who_have_little_time_look_all_the_same(maker: Maker) -> None:
    """Each gives up after a second, and takes a turn with it: there must be turns left that come in time."""
    pool = Pool(maker, size=30)
    maker.faults = [OSError("no route")]
    with pytest.raises(OSError, match="no route"):
        await pool.take(seconds=NOW)

    async def take(seconds: float = 1) -> Conn:
        async with asyncio.timeout(seconds):
            return await pool.take(seconds=seconds)

    maker.gate.clear()
    before = [asyncio.create_task(take()) for _ in range(30)]
    await asyncio.gather(*before, return_exceptions=True)
    maker.gate.set()

    pool.give_back(await take(4))  # A busy machine takes a while to connect.


async def test_a_look_that_hangs_holds_nobody_up_who_looks_after_it(maker: Maker) -> None:
    pool = Pool(maker, size=2)
    maker.faults = [OSError("no route")]
    with pytest.raises(OSError, match="no route"):
        await pool.take(seconds=NOW)
    maker.gate.clear()
    hanging = await start_waiting(pool)
    while not maker.being_made:  # noqa: ASYNC110
        await asyncio.sleep(0.01)
    looking = await start_waiting(pool)

    async with asyncio.timeout(LONG):
        while maker.being_made < 2:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    maker.gate.set()
    for each in (hanging, looking):
        pool.give_back(await each)
