"""What must not wait for the receipt log."""

import pytest

from malipo import clock, ids
from malipo.db import DataError
from malipo.payments.transaction import Status, Type
from malipo.receipts.catch_up import catch_up
from malipo.webhooks.fan_out import fan_out
from malipo.worker.receipt_log import ReceiptLog
from tests.receipts.log_stack import NAME, LogStack


async def _fan_out(stack: LogStack, receipts: ReceiptLog) -> int:
    async with stack.database.begin() as tx:
        done = await fan_out(
            tx,
            most=100,
            claim_id=ids.mint("clm_", clock.now()),
            lease_seconds=1,
            may_claim=lambda _: False,
            now=clock.now(),
            append_receipts=receipts.append,
        )
    return done.event_count


async def test_events_get_their_numbers_where_the_log_cannot_be_appended_to(stack: LogStack) -> None:
    await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    receipts = ReceiptLog(stack.steps.service, lambda: "wrk_1")
    async with stack.database.begin() as tx:
        await tx.execute("ALTER TABLE receipt_facts ADD CONSTRAINT nothing_goes_in CHECK (false)")

    with pytest.raises(DataError):
        await _fan_out(stack, receipts)
    assert await _fan_out(stack, receipts) > 0
    assert await stack.rows("SELECT FROM events WHERE feed_number IS NULL") == []

    async with stack.database.begin() as tx:
        await tx.execute("ALTER TABLE receipt_facts DROP CONSTRAINT nothing_goes_in")
    while await catch_up(stack.database, log_name=NAME):
        pass
    assert len(await stack.rows("SELECT FROM receipt_facts")) == 1
