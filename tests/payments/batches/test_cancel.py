"""A batch that awaits approval is cancelled whole; one that is running, as far as nothing was sent."""

import pytest

from malipo.networks.connector import Verdict
from malipo.payments.batches.batch import BatchStatus
from malipo.payments.batches.cancel import BatchNotCancellable
from malipo.payments.dispatch import AnswerSource
from malipo.payments.transaction import Status
from malipo.worker.batch_completer import complete_batches
from tests.journeys import database_facts
from tests.payments.batches.batch_steps import ASHA, JUMA, BatchSteps
from tests.payments.batches.batch_steps import batches as batches
from tests.payments.payment_steps import PaymentSteps


async def test_before_approval_all_of_it_is_cancelled(batches: BatchSteps) -> None:
    batch = await batches.make()

    cancelled = await batches.cancel(batch, JUMA)

    assert (cancelled.status, cancelled.cancelled_by) == (BatchStatus.CANCELLED, JUMA.id)
    assert (await batches.look(batch)).batch == cancelled
    assert await batches.cancel(batch) == cancelled, "cancelling it again is no error"
    assert await batches.actions() == [(ASHA.id, "batch.created"), (JUMA.id, "batch.cancelled")]


async def test_while_it_runs_what_was_not_sent_is_cancelled_and_its_money_is_back(batches: BatchSteps) -> None:
    batch = await batches.running(5)
    sent = (await batches.claim(most=2)).to_send

    cancelled = await batches.cancel(batch)

    assert cancelled.status is BatchStatus.RUNNING, "what was sent has not ended"
    assert (await batches.look(batch)).counts == {Status.PROCESSING: 2, Status.CANCELLED: 3}
    held = sum(each.amount for each in sent)
    assert await database_facts.wallet(batches.database, batches.merchant_id) == (1_000_000 - held, held)
    assert await batches.cancel(batch) == cancelled
    await database_facts.assert_clean(batches.database)


async def test_a_batch_is_completed_when_its_last_payout_has_ended(batches: BatchSteps) -> None:
    batch = await batches.running(3)
    steps = PaymentSteps(batches.service, batches.merchant_id)
    first, second, third = (await batches.claim()).to_send
    await steps.report(first, Verdict.CONFIRMED, AnswerSource.SEND)
    await steps.report(second, Verdict.REFUSED, AnswerSource.SEND)
    assert not await complete_batches(batches.database)
    assert (await batches.look(batch)).batch.status is BatchStatus.RUNNING

    last = (await steps.report(third, Verdict.CONFIRMED, AnswerSource.SEND)).transaction

    seen = await batches.look(batch)
    assert (seen.batch.status, seen.batch.completed_at) == (BatchStatus.COMPLETED, last.ended_at)
    assert seen.counts == {Status.COMPLETED: 2, Status.FAILED: 1}
    await complete_batches(batches.database)
    async with batches.database.read() as connection:
        row = await connection.fetchrow("SELECT status, completed_at FROM batches")
    assert row is not None
    assert (row["status"], row["completed_at"]) == ("COMPLETED", last.ended_at), "the worker stores the same"
    with pytest.raises(BatchNotCancellable):
        await batches.cancel(batch)


async def test_a_running_batch_of_which_all_was_cancelled_has_ended(batches: BatchSteps) -> None:
    batch = await batches.running(3)
    await batches.cancel(batch)
    await complete_batches(batches.database)

    seen = await batches.look(batch)
    assert (seen.batch.status, seen.counts) == (BatchStatus.COMPLETED, {Status.CANCELLED: 3})
    assert await batches.cancel(batch) == seen.batch, "a client without an answer may repeat the request"
