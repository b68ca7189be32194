"""The ledger check of refunds: whatever was tampered with is found and named."""

import pytest

from malipo.payments.transaction import Status, Type
from tests.journeys import database_facts
from tests.payments.refunds.refund_steps import RefundSteps
from tests.payments.refunds.refund_steps import steps as steps

_REFUND = "WHERE refund_id = '{completed}'"
_EVENT = """
    INSERT INTO events (merchant_id, id, transaction_id, event, body, created_at, ordinal)
    VALUES ('{merchant}', 'evt_1', '{%s}', 'payment.refunded', '{{}}', now(), %d)
"""
# What is changed by hand, and what the findings must name.
TAMPERED = {
    "a refund without its place": (f"DELETE FROM refunds {_REFUND}", "completed"),
    "a place without its refund": ("INSERT INTO refunds VALUES ('{merchant}', '{collection}', 9, 'txn_z')", "txn_z"),
    "a refund of another collection": (f"UPDATE refunds SET collection_id = '{{other}}' {_REFUND}", "completed"),
    "a payout that says that it is a refund": (
        "UPDATE transactions SET refund_of = '{collection}' WHERE id = '{payout}'",
        "payout",
    ),
    "a refund to another phone": ("UPDATE transactions SET phone = '+255754000009' WHERE id = '{failed}'", "failed"),
    "more than was collected": ("UPDATE transactions SET amount = 5001 WHERE id = '{under_way}'", "collection"),
    "a refund that was never told": ("DELETE FROM events WHERE event = 'payment.refunded'", "completed"),
    "a refund that was told and not paid": (_EVENT % ("collection", 1), "failed"),
    "an event of no refund": (_EVENT % ("other", 1), "other"),
}


@pytest.fixture
async def names(steps: RefundSteps) -> dict[str, str]:
    collection, other = await steps.collected(), await steps.collected()
    names = {"merchant": steps.merchant_id, "collection": collection.id, "other": other.id}
    names["failed"] = (await steps.refunded(collection, 2000, status=Status.FAILED)).id
    names["completed"] = (await steps.refunded(collection, 2000)).id
    names["under_way"] = (await steps.refund(collection, 1000)).id
    names["payout"] = (await steps.open(Type.DISBURSEMENT)).id
    await database_facts.assert_clean(steps.database)
    return names


@pytest.mark.parametrize("what", TAMPERED)
async def test_the_check_finds_a_refund_that_was_tampered_with(
    steps: RefundSteps, names: dict[str, str], what: str
) -> None:
    statement, name = TAMPERED[what]
    async with steps.database.begin() as tx:
        await tx.execute(statement.format(**names))
    found = {finding.where for finding in await database_facts.findings(steps.database)}
    assert names.get(name, name) in found
    async with steps.database.snapshot() as connection:
        in_pieces = {each.where for each in await database_facts.check_in_pieces(connection, rows=2)}
    assert names.get(name, name) in in_pieces
