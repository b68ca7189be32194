"""A COMMIT whose answer was lost: the refund is there once, and is answered as made."""

import pytest

from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.payments.initiate import Initiate, InitiatedPayment, PaymentRequest
from malipo.payments.refunds.refundable import RefundInProgress
from malipo.payments.transaction import Status, Type
from malipo.settings import Settings
from tests.conftest import NO_LIMITS, Merchant
from tests.journeys import database_facts
from tests.journeys.outages.database_proxy import TAKES_PAYMENTS, DatabaseProxy
from tests.journeys.outages.database_proxy import line as line
from tests.journeys.postgres_proxy import Fault
from tests.payments.refunds.refund_steps import RefundSteps
from tests.payments.refunds.refund_steps import steps as steps


async def _commit(steps: RefundSteps, orders: list[PaymentRequest], *, again: bool) -> list[object]:
    async with steps.database.begin() as tx:
        return list(await Initiate(clock=steps.service.clock)(tx, orders, again=again))


@pytest.mark.parametrize("key", [None, "return-1"])
async def test_a_refund_that_was_written_by_an_earlier_try_is_answered_as_made(
    steps: RefundSteps, key: str | None
) -> None:
    collection = await steps.collected()
    ours, late = steps.order(collection, key=key), steps.order(collection)
    [first] = await _commit(steps, [ours], again=False)

    refused, again = await _commit(steps, [late, ours], again=True)

    assert isinstance(first, InitiatedPayment)
    assert isinstance(again, InitiatedPayment)
    assert (again.transaction.id, again.is_replay) == (first.transaction.id, False)
    assert isinstance(refused, RefundInProgress)
    assert await database_facts.count(steps.database, "refunds") == 1
    assert await database_facts.wallet(steps.database, steps.merchant_id) == (1_000_000, 5000)
    await database_facts.assert_clean(steps.database)


async def test_a_try_that_was_not_written_is_made_by_the_next(steps: RefundSteps) -> None:
    collection = await steps.collected()
    [made] = await _commit(steps, [steps.order(collection)], again=True)
    assert isinstance(made, InitiatedPayment)
    assert not made.is_replay
    await database_facts.assert_clean(steps.database)


@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER, Fault.HANG_AFTER])
async def test_a_refund_whose_commit_is_cut_is_paid_once(
    line: DatabaseProxy, database: Database, merchant: Merchant, fault: Fault
) -> None:
    steps = RefundSteps(assemble(Settings(**NO_LIMITS), database), merchant.id)
    collection = await steps.ended(Type.COLLECTION, Status.COMPLETED, 5000)
    trap = line.proxy.trap(fault, after=TAKES_PAYMENTS)

    answer = await line.client("POST", f"/v1/payments/{collection.id}/refund", {})

    assert trap.sprung.is_set()
    assert (answer.status, "Idempotency-Replayed" in answer.headers) == (201, False)
    assert [each.id for each in (await steps.seen(collection)).refunds] == [answer.body["transaction"]["id"]]
    assert await database_facts.wallet(database, merchant.id) == (1_000_000, 5000)
    await database_facts.assert_clean(database)
