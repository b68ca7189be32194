"""Payouts that only people can end: Tigo Pesa has no query for them. Two operators resolve them, and the books agree."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from malipo.ledger import check as ledger_check
from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, a_worker, full_stack_started, until
from tests.journeys.operator_commands import Said, malipo

EVIDENCE = "The Mixx statement of 15 November, page 2"


@pytest.fixture
async def full_stack(tmp_path: Path, database_url: str) -> AsyncIterator[FullStack]:
    async with full_stack_started(tmp_path, database_url) as full_stack, a_worker(full_stack):
        yield full_stack


async def _operate(full_stack: FullStack, operator: str | None, *arguments: str) -> Said:
    settings: dict[str, Any] = {"database_url": full_stack.database_url, "unsettled_seconds": 3600}
    return await malipo(*arguments, **settings, **({"operator": operator} if operator else {}))


async def _unsettled(full_stack: FullStack) -> dict[str, str]:
    said = await _operate(full_stack, None, "payments", "unsettled", "--json")
    return {row["payment"]: row["why"] for row in said.json}


async def _paid_by_us(full_stack: FullStack) -> int:
    """What our book says has left the float of Tigo Pesa."""
    async with full_stack.database.read() as connection:
        return (await ledger_check.balances(connection)).get("float TIGO_PESA", 0)


async def _paid_by_them(full_stack: FullStack) -> int:
    return sum(each["amount"] for moved in (await full_stack.moved()).values() for each in moved)


async def test_two_operators_end_what_tigo_pesa_does_not_say_and_the_books_agree(full_stack: FullStack) -> None:
    for name in ("asha", "juma"):
        assert (await _operate(full_stack, None, "operators", "add", name)).code == 0
    # The reply of the first is lost after it was paid; of the second nothing ever happened; the third is paid after a no.
    paid = await full_stack.take("TIGO_PESA", "DISBURSEMENT", "+255714000104", 3000)
    unpaid = await full_stack.take("TIGO_PESA", "DISBURSEMENT", "+255714000108", 4000)
    turned = await full_stack.take("TIGO_PESA", "DISBURSEMENT", "+255714000110", 5000)

    async def both_listed() -> bool:
        return set(await _unsettled(full_stack)) == {paid, unpaid}

    await until(both_listed, what="both on the list")

    async def is_turned() -> bool:
        return (await full_stack.shown(turned))["status"] == "FAILED" and await _paid_by_them(full_stack) == 8000

    await until(is_turned, what="the third was reported failed and paid")
    before = await database_facts.wallet(full_stack.database, full_stack.merchant.id)

    for payment, truth in ((paid, "--completed"), (unpaid, "--failed")):
        resolve = ("payments", "resolve", payment, truth, "--evidence", EVIDENCE)
        assert (await _operate(full_stack, None, *resolve)).code == 2, "only somebody with a name"
        assert (await _operate(full_stack, "asha", *resolve)).code == 0
        assert (await full_stack.shown(payment))["status"] == "PROCESSING", "one is not enough"
        assert (await _operate(full_stack, "asha", "payments", "approve", payment, "--here")).code == 2, (
            "nor the same one twice"
        )
        assert (await _operate(full_stack, "juma", "payments", "approve", payment, "--here")).code == 0
    assert (await full_stack.shown(paid))["status"] == "COMPLETED"
    assert (await full_stack.shown(unpaid))["status"] == "FAILED"
    assert await _unsettled(full_stack) == {}

    # The network never reported the third: the operators found it on the statement.
    reference = (await full_stack.shown(turned))["reference"]
    resolve = ("payments", "resolve", reference, "--completed", "--evidence", EVIDENCE)
    assert (await _operate(full_stack, "juma", *resolve)).code == 0
    assert (await _operate(full_stack, "asha", "payments", "approve", reference, "--here")).code == 0
    assert (await full_stack.shown(turned))["status"] == "FAILED", "what the merchant saw stays"

    assert await _paid_by_us(full_stack) == await _paid_by_them(full_stack) == 8000
    available, in_flight = await database_facts.wallet(full_stack.database, full_stack.merchant.id)
    assert (available, in_flight) == (before[0] + 4000 - 5000, 0)
    await database_facts.assert_clean(full_stack.database)
    reported = (await _operate(full_stack, None, "audit", "--json")).json
    assert [each["what"] for each in reported].count("payment.resolved") == 3
