"""A batch that pays again what has failed: a network may report, before its approval, that it was paid after all."""

import asyncio

import pytest

from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.networks.connector import Verdict
from malipo.payments.apply_network_answers import ApplyNetworkAnswers
from malipo.payments.batches.approve import PaidAfterAll, PaidPerhaps
from malipo.payments.batches.batch import Batch, BatchStatus, Requester
from malipo.payments.batches.request import retrying
from malipo.payments.batches.spreadsheet.draft import Again
from malipo.payments.dispatch import AnswerSource, QueryRules
from malipo.payments.transaction import Status, Transaction
from malipo.settings import Settings
from tests.conftest import NO_LIMITS
from tests.db.lock_waits import are_waiting
from tests.journeys import database_facts
from tests.journeys.full_stack import until
from tests.payments.batches.batch_steps import ASHA, BatchSteps, items
from tests.payments.batches.batch_steps import batches as batches
from tests.payments.payment_steps import PaymentSteps, a_report


class Wages:
    """Three payouts of a batch that have failed, and a batch that pays them again."""

    def __init__(self, batches: BatchSteps) -> None:
        self.batches = batches
        self.steps = PaymentSteps(batches.service, batches.merchant_id)

    async def failed(self, batch: Batch | None = None, number: int = 3) -> tuple[Batch, list[Transaction]]:
        first = batch or await self.batches.make(number)
        await self.batches.approve(first)
        sent = (await self.batches.claim()).to_send
        for each in sent:
            await self.steps.report(each, Verdict.REFUSED, AnswerSource.SEND)
        return first, sent

    async def again(self, failed: list[Transaction], *, key: str | None = None) -> Batch:
        order = self.batches.order(items(len(failed)), key=key)
        return (await self.batches.service.batches.create(retrying(order, [each.id for each in failed]))).batch

    async def paid(self, failed: Transaction) -> None:
        assert (await self.steps.report(failed, Verdict.CONFIRMED)).is_contradiction

    async def assert_nothing_opened(self, batch: Batch) -> None:
        seen = await self.batches.look(batch)
        assert (seen.batch.status, seen.counts) == (BatchStatus.AWAITING_APPROVAL, {})
        await database_facts.assert_clean(self.batches.database)


@pytest.fixture
def wages(batches: BatchSteps) -> Wages:
    return Wages(batches)


async def test_a_payout_that_still_counts_as_failed_is_paid_again(wages: Wages) -> None:
    _, failed = await wages.failed()
    batch = await wages.again(failed)

    await wages.batches.approve(batch)

    assert [each.amount for each in (await wages.batches.claim()).to_send] == [1000, 1001, 1002]


async def test_a_batch_with_a_line_that_was_paid_after_all_is_not_approved(wages: Wages) -> None:
    _, failed = await wages.failed()
    batch = await wages.again(failed)
    await wages.paid(failed[1])
    wallet = await database_facts.wallet(wages.batches.database, batch.merchant_id)

    with pytest.raises(PaidAfterAll) as refused:
        await wages.batches.approve(batch)

    assert refused.value.details == {"items[1]": [f"It pays {failed[1].id} again, which was paid after all."]}
    assert refused.value.values == {"lines": "2"}
    assert await database_facts.wallet(wages.batches.database, batch.merchant_id) == wallet
    await wages.assert_nothing_opened(batch)


async def test_while_it_is_in_doubt_whether_a_line_was_paid_the_batch_is_not_approved(wages: Wages) -> None:
    _, failed = await wages.failed()
    batch = await wages.again(failed)
    await wages.steps.report(failed[2], Verdict.CONFIRMED, AnswerSource.CALLBACK, is_trusted=False)

    with pytest.raises(PaidPerhaps) as refused:
        await wages.batches.approve(batch)

    assert refused.value.values == {"lines": "3"}
    await wages.assert_nothing_opened(batch)
    await wages.steps.report(failed[2], Verdict.REFUSED)
    assert (await wages.batches.approve(batch)).status is BatchStatus.RUNNING


async def test_a_retry_of_a_retry_counts_too(wages: Wages) -> None:
    """The first payout fails, its retry fails, and that is retried: the first turns out paid."""
    _, failed = await wages.failed(number=1)
    _, failed_again = await wages.failed(await wages.again(failed))
    third = await wages.again(failed_again)
    await wages.paid(failed[0])

    with pytest.raises(PaidAfterAll):
        await wages.batches.approve(third)

    await wages.assert_nothing_opened(third)


async def test_a_report_that_is_being_written_is_waited_for(wages: Wages, database_url: str) -> None:
    _, failed = await wages.failed(number=1)
    batch = await wages.again(failed)
    apply_answers = ApplyNetworkAnswers(
        clock=wages.steps.service.clock, rules=QueryRules.of(wages.steps.service.settings)
    )
    async with Database.opened(database_url, size=2) as other:
        async with other.begin() as tx:
            [settled] = await apply_answers(tx, [a_report(failed[0], Verdict.CONFIRMED)], again=False)
            assert settled is not None
            assert settled.is_contradiction
            approval = asyncio.ensure_future(wages.batches.approve(batch))
            await until(lambda: are_waiting(other), pause=0.02, what="the approval at the lock")
        with pytest.raises(PaidAfterAll):
            await approval
    await wages.assert_nothing_opened(batch)


async def test_of_an_approval_and_a_report_at_once_the_money_goes_out_once_or_is_kept_back(wages: Wages) -> None:
    """Whichever comes first: an approval that did not see the report is found by the claim."""
    _, failed = await wages.failed(number=3)
    batch = await wages.again(failed)
    await asyncio.gather(wages.batches.approve(batch), *(wages.paid(each) for each in failed), return_exceptions=True)

    assert (await wages.batches.claim()).to_send == []
    assert set((await wages.batches.look(batch)).counts) <= {Status.CANCELLED}
    await database_facts.assert_clean(wages.batches.database)


async def test_lines_equal_to_paid_ones_that_are_no_retry_are_approved(wages: Wages) -> None:
    """A program sends the same items again on purpose, and is warned."""
    _, failed = await wages.failed()
    await wages.paid(failed[0])
    batch = await wages.batches.make(3, requester=Requester("key_1", ASHA.person))

    assert [(each.index, each.code, each.other) for each in batch.warnings] == [(0, "paid_before", failed[0].id)]
    assert (await wages.batches.approve(batch)).status is BatchStatus.RUNNING
    assert len((await wages.batches.claim()).to_send) == 3


async def _forget_links(batches: BatchSteps) -> None:
    async with batches.database.begin() as tx:
        await tx.execute("UPDATE batch_items SET retry_of = NULL")


async def test_of_a_batch_from_before_the_lines_said_it_the_key_says_what_it_pays_again(wages: Wages) -> None:
    first, failed = await wages.failed()
    batch = await wages.again(failed, key=Again(first.id, 1).key)
    await _forget_links(wages.batches)
    await wages.paid(failed[1])

    with pytest.raises(PaidAfterAll) as refused:
        await wages.batches.approve(batch)

    assert refused.value.values == {"lines": "2"}
    await wages.assert_nothing_opened(batch)


async def test_a_line_from_before_whose_number_was_corrected_may_pay_any_of_them_again(wages: Wages) -> None:
    first, failed = await wages.failed()
    corrected = [*items(1), items(2)[1] | {"recipientPhone": "+255759999999"}]
    batch = await wages.batches.make(corrected, key=Again(first.id, 1).key)
    await wages.paid(failed[1])

    with pytest.raises(PaidAfterAll) as refused:
        await wages.batches.approve(batch)

    assert refused.value.values == {"lines": "2"}


async def test_of_a_payout_from_before_the_key_says_what_it_pays_again(wages: Wages) -> None:
    _, failed = await wages.failed(number=1)
    batch = await wages.batches.make(1, key=f"dashboard-again-{failed[0].id}-1")
    approved = await wages.batches.make(1, key=f"dashboard-again-{failed[0].id}-2")
    await wages.batches.approve(approved)
    await wages.paid(failed[0])

    with pytest.raises(PaidAfterAll):
        await wages.batches.approve(batch)
    assert (await wages.batches.claim()).to_send == [], "nor is the one sent that was approved before"


async def test_a_key_of_a_program_that_looks_like_one_of_the_dashboard_is_none(wages: Wages) -> None:
    first, failed = await wages.failed()
    await wages.paid(failed[0])
    batch = await wages.batches.make(3, key=Again(first.id, 1).key, requester=Requester("key_1", ASHA.person))

    assert (await wages.batches.approve(batch)).status is BatchStatus.RUNNING


async def test_after_a_restore_a_batch_still_knows_what_it_pays_again(wages: Wages) -> None:
    """The restore has lost the approval. The network reports of the failed payout meanwhile, and of the retry nothing."""
    _, failed = await wages.failed(number=1)
    batch = await wages.again(failed)
    async with wages.batches.database.begin() as tx:
        await tx.execute("UPDATE batches SET created_at = created_at - interval '1 minute'")
        await tx.execute("UPDATE installation SET epoch = 2, epoch_began_at = now()")
    await wages.paid(failed[0])

    with pytest.raises(PaidAfterAll):
        await wages.batches.approve(batch)

    await wages.assert_nothing_opened(batch)


async def test_two_approvals_and_reports_at_once_do_not_block_each_other(wages: Wages) -> None:
    _, failed = await wages.failed(number=20)
    batch = await wages.again(failed)
    processes = [
        BatchSteps(assemble(Settings(**NO_LIMITS), wages.batches.database), batch.merchant_id) for _ in range(3)
    ]
    reports = [
        PaymentSteps(each.service, batch.merchant_id).report(payout, Verdict.REFUSED)
        for each in processes
        for payout in reversed(failed)
    ]

    await asyncio.gather(*(each.approve(batch) for each in processes), *reports)

    assert (await wages.batches.look(batch)).counts == {Status.PENDING: 20}
    await database_facts.assert_clean(wages.batches.database)
