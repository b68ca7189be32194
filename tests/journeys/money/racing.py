"""Two processes on one database, commits that are held up, and news about a payment."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import asyncpg
import pytest

from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause
from tests.conftest import NO_LIMITS, Client, Merchant, Running, until_ready
from tests.db.lock_waits import count_waiting


@pytest.fixture
async def apis(
    start: Callable[..., Running], database_url: str, merchant: Merchant
) -> AsyncIterator[tuple[Client, Client]]:
    """Two processes of one fleet, called by the same merchant."""
    first, second = (start("api", database_url=database_url, **NO_LIMITS) for _ in range(2))
    await asyncio.gather(until_ready(first), until_ready(second))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        yield Client(http, first.url, merchant.key), Client(http, second.url, merchant.key)


@asynccontextmanager
async def held_up(
    database_url: str, statement: str, *values: object
) -> AsyncIterator[Callable[[int], Awaitable[None]]]:
    """Hold what this statement locks, so that whoever wants it queues; yields a wait for so many in the queue."""
    connection, watching = await asyncpg.connect(database_url), await asyncpg.connect(database_url)

    async def until_waiting(number: int) -> None:
        waiting = 0
        while waiting < number:
            await asyncio.sleep(0.01)
            waiting = await count_waiting(watching)

    try:
        async with asyncio.timeout(240), connection.transaction():
            await connection.execute(statement, *values)
            yield until_waiting
    finally:
        await connection.close()
        await watching.close()


def news_of(merchant: Merchant, transaction_id: str, cause: Cause) -> StatusChange:
    refusal = {"failure_code": "declined", "failure_reason": "No."} if cause is Cause.REFUSED else {}
    return StatusChange(merchant_id=merchant.id, transaction_id=transaction_id, cause=cause, **refusal)
