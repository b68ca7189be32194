"""Refunds that take two people: a batch of one item, whose collection is reserved when it is approved."""

import asyncio

import pytest

from malipo.payments.batches.batch import Batch
from malipo.payments.batches.request import batch_request_of_one
from malipo.payments.cancel import Cancellation
from malipo.payments.refunds.refundable import AlreadyRefunded, RefundInProgress
from malipo.payments.transaction import Status, Transaction, Type
from tests.journeys import database_facts
from tests.payments.batches.batch_steps import ASHA, BatchSteps
from tests.payments.batches.batch_steps import batches as batches
from tests.payments.refunds.refund_steps import RefundSteps


@pytest.fixture
def refund_steps(batches: BatchSteps) -> RefundSteps:
    return RefundSteps(batches.service, batches.merchant_id)


@pytest.fixture
async def collection(refund_steps: RefundSteps) -> Transaction:
    return await refund_steps.collected(5000)


async def propose(batches: BatchSteps, refund_steps: RefundSteps, of: Transaction, amount: int) -> Batch:
    order = batch_request_of_one(refund_steps.order(of, amount), ASHA, now=batches.service.clock())
    return (await batches.service.batches.create(order)).batch


async def test_a_proposed_refund_is_a_refund_once_it_is_approved(
    batches: BatchSteps, refund_steps: RefundSteps, collection: Transaction
) -> None:
    batch = await propose(batches, refund_steps, collection, 2000)
    assert (await refund_steps.seen(collection)).refunds == (), "nothing is reserved yet"

    await batches.approve(batch)
    [refund] = (await refund_steps.seen(collection)).refunds
    payout = await refund_steps.seen_by_id(refund.id)
    assert (payout.refund_of, payout.batch_id, payout.amount, payout.type) == (
        collection.id,
        batch.id,
        2000,
        Type.DISBURSEMENT,
    )
    with pytest.raises(RefundInProgress):
        await refund_steps.ask(collection, 1000)
    await database_facts.assert_clean(batches.database)


async def test_an_approved_refund_has_the_network_key_of_any_refund_of_its_collection(
    batches: BatchSteps, refund_steps: RefundSteps, collection: Transaction
) -> None:
    """So that a network which has paid it before a restore refuses it, whoever asks, and in which way."""
    alone = await refund_steps.refund(collection, 2000)
    await refund_steps.service.payments.cancel(
        Cancellation(refund_steps.merchant_id, alone.id)
    )  # What was never sent does not use its key up.
    await batches.approve(await propose(batches, refund_steps, collection, 2000))
    [by_batch] = (await batches.claim()).to_send
    assert by_batch.network_key == alone.network_key


async def test_a_collection_that_was_refunded_meanwhile_is_not_refunded_again(
    batches: BatchSteps, refund_steps: RefundSteps, collection: Transaction
) -> None:
    batch = await propose(batches, refund_steps, collection, 5000)
    await refund_steps.refunded(collection)
    with pytest.raises(AlreadyRefunded):
        await batches.approve(batch)
    assert len((await refund_steps.seen(collection)).refunds) == 1
    await database_facts.assert_clean(batches.database)


async def test_of_many_approvals_and_refunds_at_once_one_is_made(
    batches: BatchSteps, refund_steps: RefundSteps, collection: Transaction
) -> None:
    proposed = [await propose(batches, refund_steps, collection, 5000) for _ in range(5)]
    await asyncio.gather(
        *(batches.approve(each) for each in proposed),
        *(refund_steps.ask(collection, 5000) for _ in range(5)),
        return_exceptions=True,
    )
    [refund] = (await refund_steps.seen(collection)).refunds
    assert (await refund_steps.seen_by_id(refund.id)).status is Status.PENDING
    await database_facts.assert_clean(batches.database)
