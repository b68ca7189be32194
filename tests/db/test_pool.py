"""The pool on a real PostgreSQL: never too many connections, none lost, and each to whoever has waited longest."""

import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import suppress

import asyncpg
import pytest

from malipo.db import Conn, Database, DataError, Use
from malipo.db import pool as pool_module
from malipo.db.pool import Pool

_LONG = 5.0
_NOW = 2.0  # Long enough to make a connection.


class Maker:
    """Makes real connections, and can be made to dawdle and to fail. It knows how many there are."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.made: list[Conn] = []
        self.being_made = 0
        self.most = 0
        self.faults: list[Exception] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def __call__(self) -> Conn:
        self.being_made += 1
        self.most = max(self.most, self.open)
        try:
            await self.gate.wait()
            if self.faults:
                raise self.faults.pop()
            connection = await asyncpg.connect(self._url, server_settings={"application_name": "pool"})
        finally:
            self.being_made -= 1
        self.made.append(connection)
        return connection

    @property
    def open(self) -> int:
        return self.being_made + sum(not connection.is_closed() for connection in self.made)


@pytest.fixture
async def maker(postgres: str) -> AsyncIterator[Maker]:
    maker = Maker(postgres)
    yield maker
    for connection in maker.made:
        connection.terminate()


@pytest.fixture
async def one(maker: Maker) -> Pool:
    """A pool with room for one."""
    return Pool(maker, size=1)


async def _turns(number: int = 5) -> None:
    """Let whoever can go on go on."""
    for _ in range(number):
        await asyncio.sleep(0)


async def _waiting(pool: Pool, *, seconds: float = _LONG) -> "asyncio.Task[Conn]":
    """Somebody who waits for a connection."""
    task = asyncio.create_task(pool.take(seconds=seconds))
    await _turns()
    assert not task.done()
    return task


async def _is_whole(pool: Pool, size: int) -> None:
    """So many can be had at once and not one more, and all come back."""
    async with asyncio.timeout(_LONG):
        taken = [await pool.take(seconds=0.1) for _ in range(size)]
    assert len(set(taken)) == size
    assert [await each.fetchval("SELECT 1") for each in taken] == [1] * size
    with pytest.raises(TimeoutError):
        await pool.take(seconds=0)
    assert (pool.idle, pool.in_use) == (0, size)
    for each in taken:
        pool.give_back(each)
    assert (pool.idle, pool.in_use) == (size, 0)


# How many, and whose turn it is


async def test_there_are_never_more_connections_than_there_is_room_for_however_many_come_at_once(maker: Maker) -> None:
    pool = Pool(maker, size=3)
    there: list[int] = []

    async def work() -> None:
        connection = await pool.take(seconds=_LONG)
        query = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pool' AND pid = ANY($1)"
        pids = [each.get_server_pid() for each in maker.made]
        there.append(await connection.fetchval(query, pids))
        pool.give_back(connection)

    await asyncio.gather(*(work() for _ in range(50)))

    assert len(there) == 50
    assert max(there) == 3
    assert maker.most == len(maker.made) == 3
    await _is_whole(pool, 3)


async def test_connections_are_made_only_when_they_are_needed(maker: Maker) -> None:
    pool = Pool(maker, size=3)
    assert (maker.made, pool.idle, pool.in_use) == ([], 0, 0)

    for _ in range(5):
        pool.give_back(await pool.take(seconds=_NOW))

    assert len(maker.made) == 1
    assert (pool.idle, pool.in_use) == (1, 0)


async def test_the_connection_that_was_used_last_is_lent_first(maker: Maker) -> None:
    pool = Pool(maker, size=3)
    taken = [await pool.take(seconds=_NOW) for _ in range(3)]
    for each in (taken[1], taken[2], taken[0]):
        pool.give_back(each)

    again = [await pool.take(seconds=_NOW) for _ in range(3)]

    assert again == [taken[0], taken[2], taken[1]]


async def test_an_idle_connection_is_lent_without_a_turn_of_the_event_loop(one: Pool) -> None:
    connection = await one.take(seconds=_NOW)
    one.give_back(connection)

    taking = one.take(seconds=_NOW)

    with pytest.raises(StopIteration) as end:
        taking.send(None)
    assert end.value.value is connection


async def test_whoever_has_waited_longest_is_first(one: Pool) -> None:
    order: list[int] = []

    async def work(number: int) -> None:
        connection = await one.take(seconds=_LONG)
        order.append(number)
        await asyncio.sleep(0)
        one.give_back(connection)

    first = await one.take(seconds=_NOW)
    workers = [asyncio.create_task(work(number)) for number in range(10)]
    await _turns()
    one.give_back(first)
    await asyncio.gather(*workers)

    assert order == list(range(10))


async def test_a_newcomer_cannot_take_a_connection_that_is_being_handed_to_one_who_waits(one: Pool) -> None:
    connection = await one.take(seconds=_NOW)
    waiting = await _waiting(one)

    one.give_back(connection)
    assert (one.idle, one.in_use) == (0, 1)
    with pytest.raises(TimeoutError):
        await one.take(seconds=0.02)

    assert await waiting is connection


async def test_a_newcomer_cannot_take_a_place_that_is_being_handed_to_one_who_waits(one: Pool, maker: Maker) -> None:
    connection = await one.take(seconds=_NOW)
    waiting = await _waiting(one)

    maker.gate.clear()
    connection.terminate()
    one.give_back(connection)
    with pytest.raises(TimeoutError):
        await one.take(seconds=0.02)
    maker.gate.set()

    assert not (await waiting).is_closed()
    assert maker.most == 1


# Who leaves while they wait


async def test_whoever_waits_too_long_is_told_and_is_no_longer_waited_for(one: Pool) -> None:
    connection = await one.take(seconds=_NOW)
    loop = asyncio.get_running_loop()
    began = loop.time()

    with pytest.raises(TimeoutError):
        await one.take(seconds=0.05)
    assert 0.04 < loop.time() - began < 1
    one.give_back(connection)

    assert (one.idle, one.in_use) == (1, 0)
    await _is_whole(one, 1)


async def test_whoever_is_cancelled_while_they_wait_is_passed_over(one: Pool) -> None:
    connection = await one.take(seconds=_NOW)
    leaving, staying = await _waiting(one), await _waiting(one)
    leaving.cancel()
    await _turns()

    one.give_back(connection)

    assert await staying is connection
    assert leaving.cancelled()


Leave = Callable[[Pool, Conn], Awaitable[None]]


async def _cancelled_as_it_comes(pool: Pool, connection: Conn) -> None:
    leaving = await _waiting(pool)
    pool.give_back(connection)
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def _cancelled_before_it_comes(pool: Pool, connection: Conn) -> None:
    leaving = await _waiting(pool)
    leaving.cancel()
    pool.give_back(connection)
    with pytest.raises(asyncio.CancelledError):
        await leaving


async def _late_as_it_comes(pool: Pool, connection: Conn) -> None:
    await _with_the_timeout_in_the_same_turn(pool, connection, seconds=0.02)


async def _late_before_it_comes(pool: Pool, connection: Conn) -> None:
    await _with_the_timeout_in_the_same_turn(pool, connection, seconds=0.05)


async def _with_the_timeout_in_the_same_turn(pool: Pool, connection: Conn, *, seconds: float) -> None:
    leaving = await _waiting(pool, seconds=0.04)
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
    connection, _other = [await pool.take(seconds=_NOW) for _ in range(2)]
    if is_broken:
        connection.terminate()  # Then it is a place that comes.

    await leave(pool, connection)

    assert (pool.idle, pool.in_use) == (0 if is_broken else 1, 1)
    pool.give_back(_other)
    await _is_whole(pool, 2)
    assert maker.most == 2


@pytest.mark.parametrize("leave", LEAVING)
@pytest.mark.parametrize("is_broken", [False, True])
async def test_what_comes_to_one_who_leaves_in_that_moment_goes_to_the_next(
    one: Pool, maker: Maker, leave: Leave, is_broken: bool
) -> None:
    connection = await one.take(seconds=_NOW)
    if is_broken:
        connection.terminate()

    async def come_second() -> Conn:
        await _turns(2)
        return await one.take(seconds=_LONG)

    staying = asyncio.create_task(come_second())
    await leave(one, connection)

    got = await asyncio.wait_for(staying, _NOW)
    assert (got is connection) == (not is_broken)
    assert await got.fetchval("SELECT 1") == 1
    assert one.in_use == maker.open == 1


# Connections that cannot be made, or break


async def test_a_connect_that_fails_is_the_callers_error_and_leaves_its_place_free(maker: Maker) -> None:
    pool = Pool(maker, size=2)
    for _ in range(5):
        maker.faults = [OSError("no route")]
        with pytest.raises(OSError, match="no route"):
            await pool.take(seconds=_NOW)

    assert pool.in_use == 0
    await _is_whole(pool, 2)


async def test_a_connect_that_fails_gives_its_place_to_whoever_waits(one: Pool, maker: Maker) -> None:
    maker.gate.clear()
    maker.faults = [OSError("no route")]
    failing, waiting, next_one = await _waiting(one), await _waiting(one), await _waiting(one)

    maker.gate.set()

    with pytest.raises(OSError, match="no route"):
        await failing
    connection = await asyncio.wait_for(waiting, _NOW)
    assert not next_one.done()
    one.give_back(connection)
    assert await next_one is connection
    assert maker.most == 1


async def test_connects_that_fail_one_after_the_other_leave_nobody_waiting(one: Pool, maker: Maker) -> None:
    maker.gate.clear()
    waiting = [await _waiting(one) for _ in range(5)]
    maker.faults = [OSError(str(number)) for number in range(4)]

    maker.gate.set()
    ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), _NOW)

    assert [type(end) for end in ends[:4]] == [OSError] * 4
    assert isinstance(ends[4], asyncpg.Connection)
    one.give_back(ends[4])
    await _is_whole(one, 1)


async def test_a_connect_that_is_cancelled_gives_its_place_to_whoever_waits(one: Pool, maker: Maker) -> None:
    maker.gate.clear()
    connecting, waiting = await _waiting(one), await _waiting(one)

    connecting.cancel()
    await _turns()
    maker.gate.set()

    assert not (await asyncio.wait_for(waiting, _NOW)).is_closed()
    assert connecting.cancelled()
    assert maker.most == 1


async def test_a_connect_that_is_cancelled_with_nobody_waiting_leaves_its_place_free(one: Pool, maker: Maker) -> None:
    maker.gate.clear()
    connecting = await _waiting(one)
    connecting.cancel()
    await _turns()
    maker.gate.set()

    await _is_whole(one, 1)


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
    connection = await one.take(seconds=_NOW)
    await spoil(connection)

    one.give_back(connection)

    assert (one.idle, one.in_use) == (0, 0)
    assert connection.is_closed()
    await _is_whole(one, 1)
    assert maker.most == 1


@pytest.mark.parametrize("spoil", SPOILT)
async def test_the_place_of_a_connection_that_is_not_kept_goes_to_whoever_waits(
    one: Pool, maker: Maker, spoil: Callable[[Conn], Awaitable[None]]
) -> None:
    connection = await one.take(seconds=_NOW)
    waiting, next_one = await _waiting(one), await _waiting(one)
    await spoil(connection)

    one.give_back(connection)

    fresh = await asyncio.wait_for(waiting, _NOW)
    assert fresh is not connection
    assert await fresh.fetchval("SELECT 1") == 1
    one.give_back(fresh)
    assert await next_one is fresh
    assert maker.most == 1


async def test_a_connection_that_ended_while_it_was_idle_is_not_lent(maker: Maker) -> None:
    pool = Pool(maker, size=2)
    taken = [await pool.take(seconds=_NOW) for _ in range(2)]
    for each in taken:
        pool.give_back(each)
    for each in taken:
        await _end_its_session(each)

    fresh = await pool.take(seconds=_NOW)

    assert fresh not in taken
    pool.give_back(fresh)
    await _is_whole(pool, 2)


async def test_a_connection_that_was_idle_for_too_long_is_replaced(
    one: Pool, maker: Maker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "_KEPT_SECONDS", 0.2)
    old = await one.take(seconds=_NOW)
    for _ in range(2):  # Longer than that in all, and never at one time.
        one.give_back(old)
        await asyncio.sleep(0.11)
        assert await one.take(seconds=_NOW) is old

    one.give_back(old)
    await asyncio.sleep(0.21)
    fresh = await one.take(seconds=_NOW)

    assert fresh is not old
    assert old.is_closed()
    assert await fresh.fetchval("SELECT 1") == 1
    assert maker.most == 1


# The end


async def test_a_closed_pool_lends_nothing_and_keeps_nothing(maker: Maker) -> None:
    pool = Pool(maker, size=3)
    for each in [await pool.take(seconds=_NOW) for _ in range(3)]:
        pool.give_back(each)

    await asyncio.wait_for(pool.close(), _NOW)

    assert [each.is_closed() for each in maker.made] == [True] * 3
    assert (pool.idle, pool.in_use) == (0, 0)
    with pytest.raises(asyncpg.InterfaceError):
        await pool.take(seconds=_NOW)


async def test_closing_refuses_those_who_wait_and_waits_for_those_who_work(maker: Maker) -> None:
    pool = Pool(maker, size=2)
    taken = [await pool.take(seconds=_NOW) for _ in range(2)]
    waiting = [await _waiting(pool) for _ in range(3)]

    closing = asyncio.create_task(pool.close())
    ends = await asyncio.wait_for(asyncio.gather(*waiting, return_exceptions=True), _NOW)
    assert [type(end) for end in ends] == [asyncpg.InterfaceError] * 3

    for each in taken:
        await asyncio.sleep(0.01)
        assert not closing.done()
        assert await each.fetchval("SELECT 1") == 1
        pool.give_back(each)
        assert each.is_closed()
    await asyncio.wait_for(closing, _NOW)
    assert (pool.idle, pool.in_use) == (0, 0)


async def test_closing_waits_for_one_to_whom_a_connection_was_just_handed(one: Pool) -> None:
    connection = await one.take(seconds=_NOW)
    waiting = await _waiting(one)
    one.give_back(connection)

    closing = asyncio.create_task(one.close())
    assert await waiting is connection
    await asyncio.sleep(0.01)
    assert not closing.done()
    one.give_back(connection)

    await asyncio.wait_for(closing, _NOW)
    assert connection.is_closed()


async def test_one_who_is_refused_and_cancelled_in_the_same_moment_is_cancelled(one: Pool) -> None:
    connection = await one.take(seconds=_NOW)
    waiting = await _waiting(one)

    closing = asyncio.create_task(one.close())
    await asyncio.sleep(0)
    waiting.cancel()

    with pytest.raises((asyncio.CancelledError, asyncpg.InterfaceError)):
        await waiting
    one.give_back(connection)
    await asyncio.wait_for(closing, _NOW)


async def test_terminating_cuts_off_whoever_still_works(one: Pool) -> None:
    async def work() -> None:
        connection = await one.take(seconds=_NOW)
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
        await asyncio.wait_for(working, _NOW)
    await asyncio.wait_for(closing, _NOW)
    assert (one.idle, one.in_use) == (0, 0)


# All of it at once


@pytest.mark.parametrize("seed", [1, 2])
async def test_a_pool_is_whole_after_any_amount_of_leaving_breaking_and_failing(maker: Maker, seed: int) -> None:
    chance = random.Random(seed)
    pool = Pool(maker, size=3)
    held: set[Conn] = set()
    worked = 0

    async def work() -> None:
        nonlocal worked
        connection = await pool.take(seconds=chance.choice([0.001, 0.02, _LONG, _LONG]))
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

    async with asyncio.timeout(20):
        await asyncio.gather(*(come_and_go() for _ in range(300)))

    assert worked > 20
    assert maker.most <= 3
    assert pool.in_use == 0
    assert pool.idle <= 3
    maker.faults.clear()
    await _is_whole(pool, 3)


# A transaction in which a statement failed, and nobody said so


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
    async def work(way: Callable[[], Use]) -> None:
        async with way() as connection:
            await _swallow(connection, "SELECT 1 / 0")
            raise KeyError

    for way in (notes.read, notes.snapshot, notes.begin):
        with pytest.raises(KeyError):
            await work(way)
        assert (notes.idle, notes.in_use) == (1, 0)
        assert await _written(notes) == []


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
