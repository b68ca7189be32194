"""Approvals and cancellations at once, and commits whose answer was lost."""

import asyncio

import pytest

from malipo.app.assemble import assemble
from malipo.db import Database
from malipo.errors import OutcomeUnknown, Refusal
from malipo.payments.batches.batch import Batch, BatchStatus
from malipo.payments.initiate import InsufficientBalance
from malipo.payments.transaction import Status, Type
from malipo.restore.store import installation
from malipo.settings import Settings
from tests.conftest import NO_LIMITS
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, order
from tests.journeys.postgres_proxy import Fault, proxy_to
from tests.payments.batches.batch_steps import JUMA, BatchSteps, items
from tests.payments.batches.batch_steps import batches as batches

CUTS = [Fault.CUT_AFTER, Fault.CUT_BEFORE, Fault.CUT_DURING]


async def _processes(database: Database, merchant_id: str, number: int) -> list[BatchSteps]:
    """So many API processes on one database."""
    return [BatchSteps(assemble(Settings(**NO_LIMITS), database), merchant_id) for _ in range(number)]


async def test_many_approvals_at_once_approve_once(batches: BatchSteps) -> None:
    batch = await batches.make(20)
    processes = await _processes(batches.database, batches.merchant_id, 10)

    approved = await at_once([each.approve(batch) for each in processes])

    assert len({each.first_payout_id for each in approved}) == 1
    assert len(await database_facts.ids(batches.database)) == 20
    assert await database_facts.wallet(batches.database, batches.merchant_id) == (
        1_000_000 - batch.amount,
        batch.amount,
    )
    assert [action for _, action in await batches.actions()] == ["batch.created", "batch.approved"]
    await database_facts.assert_clean(batches.database)


@pytest.mark.parametrize("round_", range(5))
async def test_of_an_approval_and_a_cancellation_at_once_either_comes_first(batches: BatchSteps, round_: int) -> None:
    batch = await batches.make(10)
    one, other = await _processes(batches.database, batches.merchant_id, 2)
    calls = [one.approve(batch), other.cancel(batch)]

    answers = await asyncio.gather(*(calls if round_ % 2 else calls[::-1]), return_exceptions=True)

    assert all(isinstance(each, Batch | Refusal) for each in answers), answers
    seen = await batches.look(batch)
    if seen.batch.status is BatchStatus.CANCELLED:
        assert await database_facts.ids(batches.database) == []
    else:
        # It was approved first, so the cancellation has found payouts that were not sent.
        assert seen.counts == {Status.CANCELLED: 10}
    assert await database_facts.wallet(batches.database, batches.merchant_id) == (1_000_000, 0)
    await database_facts.assert_clean(batches.database)


async def test_batches_and_payouts_at_once_never_spend_more_than_there_is(batches: BatchSteps) -> None:
    made = [await batches.make(items(3, amount=90_000)) for _ in range(4)]
    processes = await _processes(batches.database, batches.merchant_id, 2)

    answers = await asyncio.gather(
        *(processes[0].approve(each) for each in made),
        *(
            processes[1].service.payments.initiate(order(batches.merchant_id, Type.DISBURSEMENT, 100_000))
            for _ in range(6)
        ),
        return_exceptions=True,
    )

    refused = [each for each in answers if isinstance(each, BaseException)]
    assert refused, "together they want more than there is"
    assert all(isinstance(each, InsufficientBalance) for each in refused)
    available, in_flight = await database_facts.wallet(batches.database, batches.merchant_id)
    assert available + in_flight == 1_000_000
    counts = [sum((await batches.look(each)).counts.values()) for each in made]
    assert set(counts) <= {0, 3}, "all of a batch, or nothing"
    await database_facts.assert_clean(batches.database)


async def test_a_batch_that_is_being_cancelled_while_a_worker_takes_it_up_is_sent_or_cancelled_line_by_line(
    batches: BatchSteps,
) -> None:
    batch = await batches.running(60)
    worker, door = await _processes(batches.database, batches.merchant_id, 2)

    async def work() -> list[str]:
        taken: list[str] = []
        while more := (await worker.claim(most=7)).to_send:
            taken += [each.id for each in more]
        return taken

    sent, _ = await asyncio.gather(work(), door.cancel(batch))

    counts = (await batches.look(batch)).counts
    assert counts.get(Status.PROCESSING, 0) == len(sent)
    assert sum(counts.values()) == 60
    assert Status.PENDING not in counts
    await database_facts.assert_clean(batches.database)


@pytest.mark.parametrize("fault", CUTS)
async def test_an_approval_whose_commit_was_not_confirmed_is_done_once(
    batches: BatchSteps, database_url: str, fault: Fault
) -> None:
    batch = await batches.make(20)
    async with proxy_to(database_url) as (wire, url), Database.opened(url, size=4) as database:
        [through_proxy] = await _processes(database, batches.merchant_id, 1)
        trap = wire.trap(fault, after="SET status = $3, approved_at = $4")

        approved = await through_proxy.approve(batch)

        assert trap.sprung.is_set()
        await through_proxy.service.finish()
    assert approved == (await batches.look(batch)).batch
    assert (approved.status, approved.approved_by) == (BatchStatus.RUNNING, JUMA.id)
    assert len(await database_facts.ids(batches.database)) == 20
    assert await database_facts.wallet(batches.database, batches.merchant_id) == (
        1_000_000 - batch.amount,
        batch.amount,
    )
    await database_facts.assert_clean(batches.database)


@pytest.mark.parametrize("key", [None, "wages-46"])
@pytest.mark.parametrize("fault", CUTS)
async def test_a_batch_whose_commit_was_not_confirmed_is_made_once(
    batches: BatchSteps, database_url: str, fault: Fault, key: str | None
) -> None:
    async with proxy_to(database_url) as (wire, url), Database.opened(url, size=4) as database:
        [through_proxy] = await _processes(database, batches.merchant_id, 1)
        trap = wire.trap(fault, after="INSERT INTO batch_items")

        made = await through_proxy.try_to_make(5, key=key)

        assert trap.sprung.is_set()
        await through_proxy.service.finish()
    assert not made.is_replay
    assert await database_facts.count(batches.database, "batches") == 1
    assert await database_facts.count(batches.database, "batch_items") == 5


@pytest.mark.parametrize("fault", CUTS)
async def test_a_hold_that_comes_while_the_commit_of_a_batch_is_in_doubt_does_not_say_that_nothing_was_done(
    batches: BatchSteps, database_url: str, fault: Fault
) -> None:
    async with proxy_to(database_url) as (wire, url), Database.opened(url, size=4) as database:
        [through_proxy] = await _processes(database, batches.merchant_id, 1)
        trap = wire.trap(fault, after="INSERT INTO batch_items", stays_away=True)
        making = asyncio.create_task(through_proxy.try_to_make(5))
        await trap.sprung.wait()
        if fault is not Fault.CUT_BEFORE:
            await asyncio.wait_for(trap.server_is_done.wait(), 60)
        async with batches.database.begin() as tx:
            await installation.set_hold(tx, held_by="asha@operators.example", reason="a drill")
        wire.come_back()

        if fault is Fault.CUT_BEFORE:
            with pytest.raises(OutcomeUnknown):
                await making
        else:
            assert not (await making).is_replay
        await through_proxy.service.finish()
    assert await database_facts.count(batches.database, "batches") == (0 if fault is Fault.CUT_BEFORE else 1)


@pytest.mark.parametrize("fault", CUTS)
async def test_a_cancellation_whose_commit_was_not_confirmed_is_done_once(
    batches: BatchSteps, database_url: str, fault: Fault
) -> None:
    batch = await batches.running(5)
    async with proxy_to(database_url) as (wire, url), Database.opened(url, size=4) as database:
        [through_proxy] = await _processes(database, batches.merchant_id, 1)
        trap = wire.trap(fault, after="SET status = $3, cancelled_at = $4")

        await through_proxy.cancel(batch)

        assert trap.sprung.is_set()
        await through_proxy.service.finish()
    assert (await batches.look(batch)).counts == {Status.CANCELLED: 5}
    assert await database_facts.wallet(batches.database, batches.merchant_id) == (1_000_000, 0)
    await database_facts.assert_clean(batches.database)
