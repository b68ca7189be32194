"""Rate-limit windows in the database: every process sees each request counted once, and none waits for a disk."""

import asyncio

from malipo import clock
from malipo.db import Conn, Database
from malipo.merchants.api_keys import hash_of
from malipo.merchants.store import api_keys
from malipo.merchants.store.api_keys import FoundKey
from malipo.rate_limit import store
from malipo.rate_limit.sliding_window import RateClass, Window
from tests.conftest import Merchant, make_merchant


async def _read(connection: Conn, merchant: Merchant, rate_class: RateClass = RateClass.CREATE) -> FoundKey:
    want = (hash_of(merchant.key.encode()), rate_class)
    return (await api_keys.find_by_hashes(connection, [want]))[want]


async def test_what_is_saved_is_what_the_next_one_finds_and_no_other_class_has_it(
    database: Database, merchant: Merchant
) -> None:
    async with database.read() as connection:
        before = await _read(connection, merchant)
        assert before.window == Window()
        _, after = before.window.admit(3, limit=100, now_ms=before.now_ms)
        key = before.key.id
        assert await store.save(connection, RateClass.CREATE, {key: (before.version, after)}) == set()
        found = {rate_class: await _read(connection, merchant, rate_class) for rate_class in RateClass}

    assert all(each.now_ms >= before.now_ms for each in found.values())
    assert {rate_class: each.window for rate_class, each in found.items()} == dict.fromkeys(RateClass, Window()) | {
        RateClass.CREATE: after
    }
    assert after.pairs == [(before.now_ms, 3)]


async def test_whoever_has_read_an_older_window_writes_nothing(database: Database, merchant: Merchant) -> None:
    async with database.read() as connection:
        first, second = await _read(connection, merchant), await _read(connection, merchant)
        key = first.key.id
        _, one = first.window.admit(1, limit=100, now_ms=first.now_ms)
        _, two = second.window.admit(2, limit=100, now_ms=second.now_ms)
        assert await store.save(connection, RateClass.CREATE, {key: (first.version, one)}) == set()
        assert await store.save(connection, RateClass.CREATE, {key: (second.version, two)}) == {key}
        assert (await _read(connection, merchant)).window == one


async def test_whoever_waits_for_another_writer_sees_that_they_came_too_late(
    database: Database, merchant: Merchant
) -> None:
    async with database.read() as connection:
        read = await _read(connection, merchant)
        key = read.key.id
        _, after = read.window.admit(1, limit=100, now_ms=read.now_ms)
        async with database.begin() as other:
            assert await store.save(other, RateClass.CREATE, {key: (read.version, after)}) == set()
            late = asyncio.create_task(store.save(connection, RateClass.CREATE, {key: (read.version, after)}))
            await asyncio.sleep(0.1)
            assert not late.done()
        assert await late == {key}


async def test_of_many_windows_those_are_written_that_nobody_else_has(database: Database, merchant: Merchant) -> None:
    others = [await make_merchant(database) for _ in range(3)]
    async with database.read() as connection:
        found = [await _read(connection, each) for each in [merchant, *others]]
        after = {each.key.id: (each.version, each.window.admit(1, limit=100, now_ms=each.now_ms)[1]) for each in found}
        taken = found[0].key.id
        assert await store.save(connection, RateClass.CREATE, {taken: after[taken]}) == set()
        assert await store.save(connection, RateClass.CREATE, after) == {taken}
        assert [len((await _read(connection, each)).window.pairs) for each in [merchant, *others]] == [1] * 4


async def test_counting_waits_for_no_disk_and_the_next_commit_does(database: Database, merchant: Merchant) -> None:
    async with database.begin() as tx:
        read = await _read(tx, merchant)
        _, after = read.window.admit(1, limit=100, now_ms=read.now_ms)
        await store.save(tx, RateClass.CREATE, {read.key.id: (read.version, after)})
        assert await tx.fetchval("SHOW synchronous_commit") == "off"
    async with database.begin() as tx:
        await api_keys.touch(tx, [read.key.id], now=clock.now())
        assert await tx.fetchval("SHOW synchronous_commit") == "off"
    async with database.read() as connection:
        assert await connection.fetchval("SHOW synchronous_commit") == "on"
