"""Refunds on a receipt, as the client verifies it: each that was paid, and what networks said of it later."""

from pathlib import Path

import pytest

from malipo.payments.transaction import Status
from malipo.receipts import check
from tests.payments.refunds.refund_steps import RefundSteps
from tests.payments.refunds.refund_steps import steps as steps
from tests.receipts.log_stack import LogStack, verifier

NOT_YET = "not yet"


@pytest.fixture
def stack(steps: RefundSteps, tmp_path: Path) -> LogStack:
    return LogStack(steps, tmp_path)


async def said(stack: LogStack, payment: str) -> str:
    """What the client says, and the sum of refunds that the receipt shows."""
    tool, keys = verifier(), await stack.keys()
    receipt = await stack.receipt(payment)
    if not receipt["facts"] or any(each["proof"] is None for each in receipt["facts"]):
        return NOT_YET
    tool.verify_receipt(receipt, tool.follow({tool.key_of(keys["keys"][-1]): None}, keys["handovers"]))
    return f"true, refunded {receipt.get('refundedAmount', 0)}"


async def in_the_log(stack: LogStack, payment: str) -> str:
    """The same, once it is in the log; before, nothing may be said."""
    assert await said(stack, payment) == NOT_YET
    await stack.number()
    await stack.sign()
    return await said(stack, payment)


async def test_a_receipt_says_what_was_refunded(stack: LogStack, steps: RefundSteps) -> None:
    paid = await steps.collected()
    await stack.number()
    await stack.sign()
    assert await said(stack, paid.id) == "true, refunded 0"
    await steps.refunded(paid, 2000)
    assert await in_the_log(stack, paid.id) == "true, refunded 2000"
    second = await steps.refunded(paid, 1000)
    assert await in_the_log(stack, paid.id) == "true, refunded 3000"
    await steps.contradict(paid, is_paid=False)
    assert await in_the_log(stack, paid.id) == "true, refunded 3000"
    assert (await stack.receipt(paid.id))["correction"]["outcome"] == "FAILED"
    # The network takes a refund back that it had paid: nothing is proven until operators have decided.
    await steps.contradict(second, is_paid=False)
    assert await in_the_log(stack, paid.id) == NOT_YET


async def test_a_refund_that_is_corrected_again_and_again(stack: LogStack, steps: RefundSteps) -> None:
    paid = await steps.collected()
    refund = await steps.refunded(paid, status=Status.FAILED)
    await stack.number()
    await stack.sign()
    assert await said(stack, paid.id) == "true, refunded 0"
    for is_paid, amount in ((True, 5000), (False, 0), (True, 5000)):
        await steps.contradict(refund, is_paid=is_paid)
        assert await in_the_log(stack, paid.id) == f"true, refunded {amount}"
    async with stack.database.snapshot() as connection:
        assert (await check.check(connection)).findings == []
