"""`malipo ledger check` holds what is counted against what it counts: half counted is clean, and wrongly counted is not."""

import random

import pytest

from malipo.db import Database
from malipo.ledger import check as ledger_check
from malipo.ledger import statement_counts
from malipo.payments.check import transactions as transactions_check
from malipo.service import Service
from tests.conftest import make_merchant
from tests.payments.test_listing import Shop, count, number


@pytest.fixture
async def shop(database: Database, service: Service) -> Shop:
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
        await statement_counts.count(tx, least=1)


async def findings(database: Database, tampering: str = "SELECT") -> list[str]:
    """What both audits say after this was done, which is then taken back."""
    async with database.begin() as tx:
        await tx.execute("SAVEPOINT before")
        await tx.execute(tampering)
        found = [*await ledger_check.check(tx), *await transactions_check.check(tx)]
        await tx.execute("ROLLBACK TO SAVEPOINT before")
    return [each.what for each in found]


async def test_what_is_counted_and_what_is_not_yet_are_both_clean(database: Database, shop: Shop) -> None:
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
@pytest.mark.parametrize(("book", "what"), [("payments", "payments"), ("statement", "statement lines")])
@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE tallies SET counts[2] = counts[2] + 1 WHERE {}",
        "UPDATE tallies SET counts = counts[2:] || counts[1] WHERE {}",
        "UPDATE tallies SET bucket = bucket + 1000 WHERE {}",
        "DELETE FROM tallies WHERE {}",
        "INSERT INTO tallies SELECT merchant_id, book, level, bucket + 1000, counts FROM tallies WHERE {}",
    ],
)
async def test_a_wrong_count_is_found(
    database: Database, shop: Shop, tampering: str, book: str, what: str, level: int
) -> None:
    which = f"""
        (merchant_id, book, level, bucket) = (
            SELECT merchant_id, book, level, bucket FROM tallies WHERE book = '{book}' AND level = {level} LIMIT 1)
    """
    found = await findings(database, tampering.format(which))
    assert set(found) == {f"{what} counted"}


@pytest.mark.parametrize(
    "tampering",
    [
        "DELETE FROM searches WHERE id = (SELECT min(id) FROM searches)",
        "UPDATE searches SET searchable = searchable || 'x' WHERE id = (SELECT min(id) FROM searches)",
        "UPDATE searches SET windows = '{}' WHERE id = (SELECT min(id) FROM searches)",
        "INSERT INTO searches SELECT merchant_id, id || 'x', searchable, windows FROM searches LIMIT 1",
        "UPDATE searches SET merchant_id = 'mer_1' WHERE id = (SELECT min(id) FROM searches)",
    ],
)
async def test_what_a_search_would_not_find_is_found(database: Database, shop: Shop, tampering: str) -> None:
    assert set(await findings(database, tampering)) == {"is not found as it is by a search"}


@pytest.mark.parametrize(
    ("book", "upto", "what"),
    [
        ("payments", "upto - 10", {"payments counted", "is not found as it is by a search"}),
        ("payments", "(SELECT max(last) FROM feeds)", {"payments counted", "is not found as it is by a search"}),
        ("statement", "upto - 10", {"statement lines counted"}),
        ("statement", "(SELECT max(lines) FROM wallets)", {"statement lines counted"}),
    ],
)
async def test_a_mark_that_does_not_fit_is_found(
    database: Database, shop: Shop, book: str, upto: str, what: set[str]
) -> None:
    """It says that less was counted than was; or more, where more has happened since."""
    await shop.sell(30)
    for _ in range(4):
        await shop.go_on()
    await number(database)
    found = await findings(database, f"UPDATE tally_marks SET upto = {upto} WHERE book = '{book}'")
    assert set(found) == what
