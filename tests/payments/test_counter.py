"""Who counts, and that what was forgotten before there were counts is counted the same way."""

import random
from datetime import timedelta
from importlib import resources
from typing import Any

import pytest

from malipo import clock
from malipo.db import Database
from malipo.outbox import feed
from malipo.payments.counts import counter
from malipo.payments.listing.filter import Filter
from malipo.service import Service
from tests.conftest import make_merchant
from tests.journeys.full_stack import Elsewhere, a_worker, until
from tests.payments.test_listing import Shop, agree, count, number


@pytest.fixture
async def shop(database: Database, service: Service) -> Shop:
    return Shop(service, await make_merchant(database, wallet=10**9), random.Random(11))


async def test_a_worker_counts_by_itself(database: Database, database_url: str, service: Service, shop: Shop) -> None:
    """Payments and lines of the statement, as soon as there are enough."""
    await shop.sell(2 * counter.LEAST)
    for _ in range(8):
        await shop.go_on()

    async def marks() -> set[str]:
        async with database.read() as connection:
            return {
                row["rollup"]
                for row in await connection.fetch("SELECT rollup FROM rollup_positions WHERE position > 0")
            }

    async def are_counted() -> bool:
        return await marks() == {"payments", "statement"}

    assert await marks() == set()
    async with a_worker(Elsewhere(database_url, service.settings)):
        await until(are_counted, seconds=30, what="the counting")
    await agree(database, shop, Filter())


async def test_what_the_feed_has_forgotten_is_counted_by_the_migration_as_the_counter_would(
    database: Database, shop: Shop
) -> None:
    """The counts in SQL and those in Python are written by different hands: both must come to the same."""
    await shop.sell(80)
    for _ in range(12):
        await shop.go_on()
    await number(database)
    await count(database)
    async with database.begin() as tx:
        assert await feed.prune(tx, shop.merchant.id, before=clock.now() + timedelta(days=1), most=10_000)
    by_the_counter = await _counted(database)
    assert len(by_the_counter["searches"]) > 60

    async with database.begin() as tx:
        await tx.execute("DROP TABLE rollup_counts, rollup_positions, search_index")
        await tx.execute(resources.files("malipo.db").joinpath("migrations/0006_tallies.sql").read_text())

    assert await _counted(database) == by_the_counter
    await agree(database, shop, Filter())
    await agree(database, shop, Filter(search="juma"))


async def _counted(database: Database) -> dict[str, list[tuple[Any, ...]]]:
    async with database.read() as connection:
        rollup_counts = await connection.fetch(
            "SELECT * FROM rollup_counts WHERE rollup = 'payments' ORDER BY level, bucket"
        )
        searches = await connection.fetch("SELECT * FROM search_index ORDER BY id")
        marks = await connection.fetch(
            "SELECT merchant_id, rollup, position FROM rollup_positions WHERE rollup = 'payments'"
        )
    return {
        "rollup_counts": [tuple(row) for row in rollup_counts],
        "searches": [(row["id"], row["search_text"], sorted(row["ngrams"])) for row in searches],
        "marks": [tuple(row) for row in marks],
    }
