"""The gate against a real PostgreSQL: who waits, who goes on, what is lost, and that a seed decides it."""

import asyncio
import os
import random
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

import asyncpg
import pytest

from simulation.postgres_backends import state_of
from simulation.postgres_connection import PostgresExchange
from simulation.postgres_gate import EPOCH
from simulation.template import Server
from tests.simulation.stage import Stage, staged

ADD = "UPDATE counters SET value = value + 1 WHERE id = {}"
LOST = (asyncpg.PostgresConnectionError, asyncpg.InterfaceError, OSError)


@pytest.fixture
def stage(prepared: Server) -> Iterator[Stage]:
    yield from staged(prepared, 0)


def _is_stopped(pid: int) -> bool:
    return state_of(pid) == "T"


# Locks.


def test_the_second_who_wants_a_row_is_held_and_goes_on_after_the_commit(stage: Stage) -> None:
    pids: list[int] = []

    async def first() -> float:
        connection = await stage.connect()
        async with connection.transaction():
            await connection.execute(ADD.format(1))
            await asyncio.sleep(5)
            assert [_is_stopped(pid) for pid in pids] == [True]
        return stage.loop.time()

    async def second() -> float:
        await asyncio.sleep(1)
        connection = await stage.connect()
        pids.append(connection.get_server_pid())
        await connection.execute(ADD.format(1))
        return stage.loop.time()

    assert stage.run(first, second) == [5, 5]
    assert stage.gate.blocks == 1
    assert stage.events("blocked", "free", "resume") == ["blocked", "free", "resume"]
    assert stage.values() == [2, 0]


def test_whoever_wants_another_row_is_not_held(stage: Stage) -> None:
    async def add(row: int) -> None:
        connection = await stage.connect()
        async with connection.transaction():
            await connection.execute(ADD.format(row))
            await asyncio.sleep(5)

    stage.run(lambda: add(1), lambda: add(2))
    assert (stage.gate.blocks, stage.values()) == (0, [1, 1])


def test_when_the_holder_dies_the_one_who_waits_goes_on(stage: Stage) -> None:
    async def holder() -> None:
        connection = await stage.connect()
        await connection.execute("BEGIN")
        await connection.execute(ADD.format(1))
        await asyncio.sleep(100)

    async def waiter() -> float:
        await asyncio.sleep(1)
        connection = await stage.connect()
        await connection.execute(ADD.format(1))
        return stage.loop.time()

    async def killer() -> float:
        stage.loop.start("holder", holder())
        await asyncio.sleep(7)
        stage.loop.kill("holder")
        return 7

    assert stage.run(waiter, killer) == [7, 7]
    assert stage.values() == [1, 0]


def test_a_statement_of_a_process_that_died_while_it_waited_is_done_all_the_same(stage: Stage) -> None:
    """The server has it already. That is what a real one does."""

    async def waiter() -> None:
        await asyncio.sleep(1)
        connection = await stage.connect()
        await connection.execute(ADD.format(1))

    async def holder() -> None:
        stage.loop.start("waiter", waiter())
        connection = await stage.connect()
        async with connection.transaction():
            await connection.execute(ADD.format(1))
            await asyncio.sleep(5)
            stage.loop.kill("waiter")
            await asyncio.sleep(5)
        await asyncio.sleep(1)

    assert stage.run(holder) == [None]
    assert stage.values() == [2, 0]


def _deadlock(server: Server, seed: int) -> tuple[int, str]:
    """Who was the victim, and the history."""
    for stage in staged(server, seed):

        async def add(first: int, second: int, stage: Stage = stage) -> None:
            connection = await stage.connect()
            async with connection.transaction():
                await connection.execute(ADD.format(first))
                await asyncio.sleep(1)
                await connection.execute(ADD.format(second))

        results = stage.run(lambda: add(1, 2), lambda: add(2, 1))
        victims = [n for n, each in enumerate(results) if isinstance(each, asyncpg.DeadlockDetectedError)]
        assert (len(victims), results.count(None)) == (1, 1)
        assert stage.values() == [1, 1]
        found = victims[0], stage.loop.history.digest
    return found


def test_a_deadlock_has_one_victim_and_the_seed_says_which(prepared: Server) -> None:
    found = [_deadlock(prepared, seed) for seed in range(6)]
    assert [_deadlock(prepared, seed) for seed in range(6)] == found
    assert {victim for victim, _ in found} == {0, 1}


# What is lost.


@pytest.mark.parametrize(("moment", "value"), [("before", 0), ("after", 1)])
def test_a_commit_can_be_lost_before_or_after_the_server_has_it(stage: Stage, moment: str, value: int) -> None:
    def fate(exchange: PostgresExchange) -> str | None:
        return moment if exchange.sql.startswith("COMMIT") else None

    async def commit() -> None:
        connection = await stage.connect()
        async with connection.transaction():
            await connection.execute(ADD.format(1))

    stage.gate.fate = fate
    [error] = stage.run(commit)
    assert isinstance(error, LOST)
    assert stage.values() == [value, 0]


def test_a_server_that_went_away_loses_every_connection_and_what_was_not_committed(stage: Stage) -> None:
    async def write() -> str:
        connection = await stage.connect()
        await connection.execute(ADD.format(2))
        await connection.execute("BEGIN")
        await connection.execute(ADD.format(1))
        await asyncio.sleep(5)
        with pytest.raises(LOST):
            await connection.execute("COMMIT")
        with pytest.raises(ConnectionRefusedError):
            await stage.connect()
        await asyncio.sleep(5)
        await (await stage.connect()).execute(ADD.format(2))
        return "went on"

    async def restart() -> None:
        await asyncio.sleep(3)
        stage.database.stop()
        await asyncio.sleep(5)
        stage.database.start_again()

    assert stage.run(write, restart) == ["went on", None]
    assert stage.values() == [0, 2]


def test_a_restore_brings_back_what_the_backup_holds(stage: Stage) -> None:
    async def add() -> None:
        await (await stage.connect()).execute(ADD.format(1))

    stage.run(add)
    stage.database.back_up()
    stage.run(add)
    assert stage.values() == [2, 0]
    stage.database.stop()
    stage.database.bring_back()
    stage.database.start_again()
    assert stage.values() == [1, 0]
    stage.run(add)
    assert stage.values() == [2, 0]


# Time, notifications, cancels.


def test_the_servers_now_is_the_loops_time_and_stands_still_in_a_transaction(stage: Stage) -> None:
    async def look() -> list[datetime]:
        connection = await stage.connect()
        seen = []
        await asyncio.sleep(42)
        seen.append(await connection.fetchval("SELECT now()"))
        async with connection.transaction():
            seen.append(await connection.fetchval("SELECT now()"))
            await asyncio.sleep(1000)
            seen.append(await connection.fetchval("SELECT now()"))
        seen.append(await connection.fetchval("SELECT clock_timestamp()"))
        return seen

    [seen] = stage.run(look)
    assert [each - EPOCH for each in seen] == [timedelta(seconds=n) for n in (42, 42, 42, 1042)]


def test_a_notification_reaches_whoever_listens_in_the_same_moment(stage: Stage) -> None:
    received: list[tuple[float, str]] = []

    async def listen() -> None:
        connection = await stage.connect()
        await connection.add_listener("malipo", lambda *about: received.append((stage.loop.time(), about[3])))
        await asyncio.sleep(10)

    async def notify() -> None:
        connection = await stage.connect()
        await asyncio.sleep(3)
        await connection.execute("SELECT pg_notify('malipo', word) FROM unnest(ARRAY['one', 'two']) word")

    stage.run(listen, notify)
    assert received == [(3, "one"), (3, "two")]


def test_a_statement_that_took_too_long_is_cancelled_and_its_connection_goes_on(stage: Stage) -> None:
    async def hold() -> None:
        connection = await stage.connect()
        async with connection.transaction():
            await connection.execute(ADD.format(1))
            await asyncio.sleep(60)

    async def want() -> tuple[float, int]:
        await asyncio.sleep(1)
        connection = await stage.connect()
        with pytest.raises(TimeoutError):
            await connection.execute(ADD.format(1), timeout=2)
        return stage.loop.time(), await connection.fetchval("SELECT 7")

    assert stage.run(hold, want) == [None, (3, 7)]
    assert stage.values() == [1, 0]


# The whole of it, under a seed.


def _contend(server: Server, seed: int) -> str:
    for stage in staged(server, seed):
        latencies = random.Random(seed)
        stage.gate.latency = partial(latencies.choice, (0.0, 0.001))

        async def write(number: int, stage: Stage = stage) -> None:
            chance = random.Random(number)
            connection = await stage.connect()
            for _ in range(6):
                rows = chance.sample((1, 2), 2)
                try:
                    async with connection.transaction():
                        for row in rows:
                            await connection.execute(ADD.format(row))
                except asyncpg.DeadlockDetectedError:
                    await asyncio.sleep(chance.random())

        results = stage.run(*(partial(write, number) for number in range(5)))
        assert results == [None] * 5
        assert stage.gate.blocks > 5
        digest = stage.loop.history.digest
    return digest


def test_the_same_seed_gives_the_same_history_for_writers_that_contend(prepared: Server) -> None:
    assert [_contend(prepared, seed) for seed in range(3)] == [_contend(prepared, seed) for seed in range(3)]
    assert _contend(prepared, 0) != _contend(prepared, 1)


def test_the_history_depends_neither_on_the_databases_name_nor_on_a_cancelled_backend(prepared: Server) -> None:
    digests = []
    for name in ("gate_one", "gate_other"):
        for stage in staged(prepared, 0, name):

            async def want(stage: Stage = stage) -> None:
                connection = await stage.connect()
                await connection.execute("BEGIN")
                await connection.execute(ADD.format(1), timeout=2)
                await asyncio.sleep(9)

            results = stage.run(want, want)
            assert [type(each) for each in results].count(TimeoutError) == 1
            digests.append(stage.loop.history.digest)
    assert digests[0] == digests[1]


def test_no_backend_is_left_behind_stopped(prepared: Server) -> None:
    for stage in staged(prepared, 5):

        async def hold(stage: Stage = stage) -> None:
            connection = await stage.connect()
            await connection.execute("BEGIN")
            await connection.execute(ADD.format(1))
            await asyncio.sleep(1000)

        for number in range(3):
            stage.loop.start(f"holder{number}", hold())
        stage.loop.run_until_complete(asyncio.sleep(5))
        assert stage.gate.blocks == 2
        pids = [each.pid for each in stage.gate._connections.values() if each.pid is not None]
    assert not [pid for pid in pids if os.path.exists(f"/proc/{pid}") and _is_stopped(pid)]
