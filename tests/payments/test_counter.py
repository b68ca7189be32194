"""The worker counts payments and statement lines as soon as there are enough."""

import random

import pytest

from malipo.app.assemble import Service
from malipo.db import Database
from malipo.payments.listing.filters import TransactionFilter
from malipo.payments.rollups import counter
from tests.conftest import make_merchant
from tests.journeys.full_stack import Elsewhere, a_worker, until
from tests.payments.test_listing import Shop, agree


@pytest.fixture
async def shop(database: Database, service: Service) -> Shop:
    return Shop(service, await make_merchant(database, wallet=10**9), random.Random(11))


async def test_a_worker_counts_without_a_command(
    database: Database, database_url: str, service: Service, shop: Shop
) -> None:
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
        await until(are_counted, seconds=90, what="the counting")
    await agree(database, shop, TransactionFilter())
