"""`malipo ledger check` compares rollups with payments: a backlog is no finding, and a wrong count is one."""

import random
from collections.abc import AsyncIterator

import pytest

from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.ledger.store import statement_rollups
from malipo.payments.check import transactions as transactions_check
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, create_database, make_merchant
from tests.journeys import database_facts
from tests.kept_database import PlanningDatabase
from tests.payments.test_listing import Shop, count, number


@pytest.fixture
async def shop(database: Database, service: Service) -> Shop:
    return await _counted_shop(database, service)


@pytest.fixture(scope="module")
async def counted(postgres: str, template: str) -> AsyncIterator[Database]:
    """A shop that no test changes: each takes its tampering back."""
    async with PlanningDatabase.opened(await create_database(postgres, template), size=4) as database:
        service = assemble(Settings(**NO_LIMITS), database)
        await _counted_shop(database, service)
        yield database
        await service.finish()


async def _counted_shop(database: Database, service: Service) -> Shop:
    """Everything that has ended is counted, and so is the statement."""
    shop = Shop(service, await make_merchant(database, wallet=10**9), random.Random(7))
    await shop.sell(60)
    for _ in range(6):
        await shop.go_on()
    await number(database)
    await count(database)
    await count_lines(database)
    return shop


async def count_lines(database: Database) -> None:
    async with database.begin() as tx:
        await statement_rollups.count(tx, least=1)


async def findings(database: Database, tampering: str = "SELECT") -> list[str]:
    """The findings of both checks after this was done, which is then rolled back."""
    async with database.begin() as tx:
        await tx.execute("SAVEPOINT before")
        await tx.execute(tampering)
        found = [*await ledger_check.check(tx), *await transactions_check.check(tx)]
        # Whoever checks in pieces finds the same, of the same sort.
        pieces = await database_facts.check_in_pieces(tx, rows=17)
        assert {each.what for each in pieces} == {each.what for each in found}
        await tx.execute("ROLLBACK TO SAVEPOINT before")
    return [each.what for each in found]


async def test_rollups_are_clean_before_and_after_payments_are_counted(database: Database, shop: Shop) -> None:
    assert await findings(database) == []
    await shop.sell(40)
    for _ in range(4):
        await shop.go_on()
        assert await findings(database) == []
        await number(database, most=30)
        assert await findings(database) == []
    await count(database)
    assert await findings(database) == []
    await count_lines(database)
    assert await findings(database) == []


@pytest.mark.parametrize("level", range(4))
@pytest.mark.parametrize(("rollup", "what"), [("payments", "payments"), ("statement", "statement lines")])
@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE rollup_counts SET counts[2] = coalesce(counts[2], 0) + 1 WHERE {}",
        "UPDATE rollup_counts SET counts = 0 || counts WHERE {}",
        "UPDATE rollup_counts SET bucket = bucket + 1000 WHERE {}",
        "DELETE FROM rollup_counts WHERE {}",
        "INSERT INTO rollup_counts SELECT merchant_id, rollup, level, bucket + 1000, counts FROM rollup_counts WHERE {}",
    ],
)
async def test_a_wrong_count_is_found(counted: Database, tampering: str, rollup: str, what: str, level: int) -> None:
    which = f"""
        (merchant_id, rollup, level, bucket) = (
            SELECT merchant_id, rollup, level, bucket FROM rollup_counts WHERE rollup = '{rollup}' AND level = {level} LIMIT 1)
    """
    found = await findings(counted, tampering.format(which))
    assert set(found) == {f"{what} counted"}


@pytest.mark.parametrize(
    "tampering",
    [
        "DELETE FROM search_index WHERE id = (SELECT min(id) FROM search_index)",
        "UPDATE search_index SET search_text = search_text || 'x' WHERE id = (SELECT min(id) FROM search_index)",
        "UPDATE search_index SET ngrams = '{}' WHERE id = (SELECT min(id) FROM search_index)",
        "INSERT INTO search_index SELECT merchant_id, id || 'x', search_text, ngrams FROM search_index LIMIT 1",
        "UPDATE search_index SET merchant_id = 'mer_1' WHERE id = (SELECT min(id) FROM search_index)",
    ],
)
async def test_the_check_finds_a_payment_that_a_search_would_not_find(counted: Database, tampering: str) -> None:
    assert set(await findings(counted, tampering)) == {"is not found as it is by a search"}


@pytest.mark.parametrize(
    ("rollup", "position", "what"),
    [
        ("payments", "position - 10", {"payments counted", "is not found as it is by a search"}),
        ("payments", "(SELECT max(last_number) FROM feeds)", {"payments counted", "is not found as it is by a search"}),
        ("statement", "position - 10", {"statement lines counted"}),
        ("statement", "(SELECT max(statement_lines) FROM wallets)", {"statement lines counted"}),
    ],
)
async def test_a_mark_that_does_not_fit_is_found(
    database: Database, shop: Shop, rollup: str, position: str, what: set[str]
) -> None:
    """It says that less was counted than was; or more, where more has happened since."""
    await shop.sell(30)
    for _ in range(4):
        await shop.go_on()
    await number(database)
    found = await findings(database, f"UPDATE rollup_positions SET position = {position} WHERE rollup = '{rollup}'")
    assert set(found) == what
