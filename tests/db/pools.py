"""Pools of real connections, whose maker can be made to dawdle and to fail; and whether a pool is whole."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg
import pytest

from malipo.db import Conn
from malipo.db.pool import Pool

LONG = 5.0
NOW = 2.0  # Long enough to make a connection.


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


async def turns(number: int = 5) -> None:
    """Let whoever can go on go on."""
    for _ in range(number):
        await asyncio.sleep(0)


async def start_waiting(pool: Pool, *, seconds: float = LONG) -> "asyncio.Task[Conn]":
    """Somebody who waits for a connection."""
    task = asyncio.create_task(pool.take(seconds=seconds))
    await turns()
    assert not task.done()
    return task


async def is_whole(pool: Pool, size: int) -> None:
    """So many can be had at once and not one more, and all come back."""
    async with asyncio.timeout(LONG):
        taken = [await pool.take(seconds=0.1) for _ in range(size)]
    assert len(set(taken)) == size
    assert [await each.fetchval("SELECT 1") for each in taken] == [1] * size
    with pytest.raises(TimeoutError):
        await pool.take(seconds=0)
    assert (pool.idle, pool.in_use) == (0, size)
    for each in taken:
        pool.give_back(each)
    assert (pool.idle, pool.in_use) == (size, 0)
