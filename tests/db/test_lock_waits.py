"""The helper by which a test of races counts, in PostgreSQL, the statements that wait for a lock."""

import asyncio

from malipo.db import Database
from tests.db.lock_waits import are_waiting
from tests.journeys.full_stack import until


async def _take(database: Database) -> None:
    async with database.begin() as tx:
        await tx.execute("SELECT pg_advisory_xact_lock(7)")


async def test_those_who_wait_are_counted_until_they_have_the_lock(database: Database) -> None:
    async with database.begin() as tx:
        await tx.execute("SELECT pg_advisory_xact_lock(7)")
        assert not await are_waiting(database)
        waiting = [asyncio.create_task(_take(database)) for _ in range(2)]
        await until(lambda: are_waiting(database, 2), pause=0.01)
        assert await are_waiting(database, 2, of="advisory_xact_lock", but_not_of="FROM wallets")
        assert not await are_waiting(database, 3)
        assert not await are_waiting(database, of="FROM wallets")
        assert not await are_waiting(database, but_not_of="advisory_xact_lock")
    await asyncio.gather(*waiting)
    assert not await are_waiting(database)
