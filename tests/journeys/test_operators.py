"""Payouts that only people can end: Tigo Pesa has no query for them. Two operators resolve them, and the books agree."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from malipo.ledger import audit
from tests.journeys import witness
from tests.journeys.terminal import Said, malipo
from tests.journeys.town import Town, a_worker, founded, until

EVIDENCE = "The Mixx statement of 15 November, page 2"


@pytest.fixture
async def town(tmp_path: Path, database_url: str) -> AsyncIterator[Town]:
    async with founded(tmp_path, database_url) as town, a_worker(town):
        yield town


async def _operate(town: Town, operator: str | None, *arguments: str) -> Said:
    settings: dict[str, Any] = {"database_url": town.database_url, "unsettled_seconds": 3600}
    return await malipo(*arguments, **settings, **({"operator": operator} if operator else {}))


async def _unsettled(town: Town) -> dict[str, str]:
    said = await _operate(town, None, "payments", "unsettled", "--json")
    return {row["payment"]: row["why"] for row in said.json}


async def _paid_by_us(town: Town) -> int:
    """What our book says has left the float of Tigo Pesa."""
    async with town.database.read() as connection:
        return (await audit.balances(connection)).get("float TIGO_PESA", 0)


async def _paid_by_them(town: Town) -> int:
    return sum(each["amount"] for moved in (await town.moved()).values() for each in moved)


async def test_two_operators_end_what_tigo_pesa_does_not_say_and_the_books_agree(town: Town) -> None:
    for name in ("asha", "juma"):
        assert (await _operate(town, None, "operators", "add", name)).code == 0
    # The reply of the first is lost after it was paid; of the second nothing ever happened; the third is paid after a no.
    paid = await town.take("TIGO_PESA", "DISBURSEMENT", "+255714000104", 3000)
    unpaid = await town.take("TIGO_PESA", "DISBURSEMENT", "+255714000108", 4000)
    turned = await town.take("TIGO_PESA", "DISBURSEMENT", "+255714000110", 5000)

    async def both_listed() -> bool:
        return set(await _unsettled(town)) == {paid, unpaid}

    await until(both_listed, what="both on the list")

    async def is_turned() -> bool:
        return (await town.shown(turned))["status"] == "FAILED" and await _paid_by_them(town) == 8000

    await until(is_turned, what="the third was told failed and paid")
    before = await witness.wallet(town.database, town.merchant.id)

    for payment, truth in ((paid, "--completed"), (unpaid, "--failed")):
        resolve = ("payments", "resolve", payment, truth, "--evidence", EVIDENCE)
        assert (await _operate(town, None, *resolve)).code == 2, "only somebody with a name"
        assert (await _operate(town, "asha", *resolve)).code == 0
        assert (await town.shown(payment))["status"] == "PROCESSING", "one is not enough"
        assert (await _operate(town, "asha", "payments", "approve", payment)).code == 2, "nor the same one twice"
        assert (await _operate(town, "juma", "payments", "approve", payment)).code == 0
    assert (await town.shown(paid))["status"] == "COMPLETED"
    assert (await town.shown(unpaid))["status"] == "FAILED"
    assert await _unsettled(town) == {}

    # The network never told us of the third: the operators found it on the statement.
    reference = (await town.shown(turned))["reference"]
    resolve = ("payments", "resolve", reference, "--completed", "--evidence", EVIDENCE)
    assert (await _operate(town, "juma", *resolve)).code == 0
    assert (await _operate(town, "asha", "payments", "approve", reference)).code == 0
    assert (await town.shown(turned))["status"] == "FAILED", "what the merchant saw stays"

    assert await _paid_by_us(town) == await _paid_by_them(town) == 8000
    available, in_flight = await witness.wallet(town.database, town.merchant.id)
    assert (available, in_flight) == (before[0] + 4000 - 5000, 0)
    await witness.assert_clean(town.database)
    told = (await _operate(town, None, "audit", "--json")).json
    assert [each["what"] for each in told].count("payment.resolved") == 3
