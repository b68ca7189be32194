"""The event of a complete batch is written once, in the commit that completes it."""

import asyncio
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from malipo import clock
from malipo.db import Database
from malipo.networks.connector import Verdict
from malipo.outbox import feed
from malipo.outbox.event import Event
from malipo.payments.batches import complete as completing
from malipo.payments.batches.batch import Batch, BatchStatus
from malipo.payments.check import transactions as check
from malipo.payments.dispatch import AnswerSource
from malipo.payments.rollups import counter
from malipo.webhooks.fan_out import fan_out
from malipo.worker.batch_completer import complete_batches
from tests.payments.batches.batch_steps import JUMA, BatchSteps
from tests.payments.batches.batch_steps import batches as batches
from tests.payments.payment_steps import PaymentSteps


async def _end(batches: BatchSteps, *verdicts: Verdict) -> None:
    """Send as many payouts as there are verdicts, and hear these."""
    steps = PaymentSteps(batches.service, batches.merchant_id)
    for payout, verdict in zip((await batches.claim(most=len(verdicts))).to_send, verdicts, strict=True):
        await steps.report(payout, verdict, AnswerSource.SEND)


async def _told(database: Database) -> list[dict[str, Any]]:
    async with database.read() as connection:
        return [dict(row) for row in await connection.fetch("SELECT * FROM batch_events ORDER BY id")]


async def _number(database: Database, most: int = 100) -> None:
    async with database.begin() as tx:
        await fan_out(tx, most=most, claim_id="", lease_seconds=0, may_claim=lambda _: False, now=clock.now())


async def _feed(batches: BatchSteps, *types: Event, limit: int = 100) -> list[str]:
    async with batches.database.read() as connection:
        page = await feed.page(connection, batches.merchant_id, after=None, limit=limit, types=types)
    return [each.event for each in page.entries]


async def test_the_event_of_a_completed_batch_has_its_counts_in_the_commit_that_completes_it(
    batches: BatchSteps,
) -> None:
    batch = await batches.running(3)
    await _end(batches, Verdict.CONFIRMED, Verdict.REFUSED)
    await complete_batches(batches.database)
    assert await _told(batches.database) == []
    await _end(batches, Verdict.CONFIRMED)

    woken: list[bool] = []
    await complete_batches(batches.database, lambda: woken.append(True))

    [reported] = await _told(batches.database)
    seen = (await batches.look(batch)).batch
    assert (reported["batch_id"], reported["event"], reported["created_at"]) == (
        batch.id,
        "batch.completed",
        seen.completed_at,
    )
    assert reported["feed_number"] is None, "it gets its place as all events do"
    assert msgspec.json.decode(reported["body"]) == {
        "event": "batch.completed",
        "batch": {
            "id": batch.id,
            "name": "Wages",
            "status": "COMPLETED",
            "count": 3,
            "amount": batch.amount,
            "fee": batch.fee,
            "counts": {"PENDING": 0, "PROCESSING": 0, "COMPLETED": 2, "FAILED": 1, "CANCELLED": 0},
            "createdAt": clock.iso(batch.created_at),
            "approvedAt": clock.iso(seen.approved_at or clock.now()),
            "completedAt": clock.iso(seen.completed_at or clock.now()),
        },
    }
    assert woken == [True]


async def test_a_completed_batch_has_one_event_with_any_number_of_workers(batches: BatchSteps) -> None:
    for _ in range(3):
        await batches.running(2)
    await _end(batches, *[Verdict.CONFIRMED] * 6)
    await asyncio.gather(*(complete_batches(batches.database) for _ in range(4)))
    await complete_batches(batches.database)
    assert len({each["batch_id"] for each in await _told(batches.database)}) == 3
    assert len(await _told(batches.database)) == 3


async def test_a_worker_that_dies_before_its_commit_has_written_no_event(batches: BatchSteps) -> None:
    batch = await batches.running(1)
    await _end(batches, Verdict.CONFIRMED)
    with pytest.raises(RuntimeError):
        await _complete_and_die(batches.database)
    assert await _told(batches.database) == []
    async with batches.database.read() as connection:
        assert await connection.fetchval("SELECT status FROM batches WHERE id = $1", batch.id) == "RUNNING"
    await complete_batches(batches.database)
    assert len(await _told(batches.database)) == 1


async def _complete_and_die(database: Database) -> None:
    async with database.begin() as tx:
        assert len(await completing.complete(tx, most=10)) == 1
        raise RuntimeError("the process dies")


async def test_a_batch_that_was_cancelled_while_it_ran_has_its_event_when_its_last_payout_has_ended(
    batches: BatchSteps,
) -> None:
    batch = await batches.running(3)
    await _sent_one_and_cancelled(batches, batch)
    await complete_batches(batches.database)
    [reported] = await _told(batches.database)
    shown = msgspec.json.decode(reported["body"])["batch"]
    assert (shown["status"], shown["counts"]["COMPLETED"], shown["counts"]["CANCELLED"]) == ("COMPLETED", 1, 2)
    assert "cancelledAt" in shown


async def _sent_one_and_cancelled(batches: BatchSteps, batch: Batch) -> None:
    steps = PaymentSteps(batches.service, batches.merchant_id)
    [sent] = (await batches.claim(most=1)).to_send
    await batches.cancel(batch)
    await complete_batches(batches.database)
    assert await _told(batches.database) == []
    await steps.report(sent, Verdict.CONFIRMED, AnswerSource.SEND)


async def test_a_batch_that_was_cancelled_before_its_approval_has_no_event(batches: BatchSteps) -> None:
    batch = await batches.make(2)
    assert (await batches.cancel(batch, JUMA)).status is BatchStatus.CANCELLED
    await complete_batches(batches.database)
    assert await _told(batches.database) == []


async def test_in_the_feed_it_comes_after_its_payouts_and_only_for_who_asks(batches: BatchSteps) -> None:
    await batches.running(2)
    await _end(batches, Verdict.CONFIRMED, Verdict.REFUSED)
    await complete_batches(batches.database)
    # However few are numbered at once, and though the batch was written before its payouts have their places.
    await _number(batches.database, most=1)
    await _number(batches.database, most=2)
    await _number(batches.database)

    assert await _feed(batches) == ["payout.completed", "payout.failed"]
    assert await _feed(batches, *Event) == ["payout.completed", "payout.failed", "batch.completed"]
    assert await _feed(batches, Event.BATCH_COMPLETED, limit=1) == ["batch.completed"]
    assert await _feed(batches, Event.PAYOUT_FAILED) == ["payout.failed"]
    async with batches.database.read() as connection:
        assert await check.check(connection) == []


async def test_the_check_finds_an_incomplete_batch_with_an_event_of_its_completion(batches: BatchSteps) -> None:
    batch = await batches.running(1)
    await _end(batches, Verdict.CONFIRMED)
    await complete_batches(batches.database)
    await _number(batches.database)
    async with batches.database.begin() as tx:
        await tx.execute("UPDATE batches SET status = 'RUNNING', completed_at = NULL WHERE id = $1", batch.id)
    async with batches.database.read() as connection:
        [found] = await check.check_merchants(connection)
    assert (found.what, found.where) == ("batch.completed was told and is not true", batch.id)


async def test_old_events_of_batches_are_deleted_with_those_of_payments(batches: BatchSteps) -> None:
    await batches.running(1)
    await _end(batches, Verdict.CONFIRMED)
    await complete_batches(batches.database)
    await _number(batches.database)
    async with batches.database.begin() as tx:
        await tx.execute("UPDATE events SET created_at = created_at - interval '91 days'")
    async with batches.database.begin() as tx:
        await counter.count(tx, least=1)
        before = clock.now() - timedelta(days=90)
        await feed.prune(tx, batches.merchant_id, before=before, most=10)
    assert len(await _told(batches.database)) == 1, "it is younger than the event before it"
    async with batches.database.begin() as tx:
        await tx.execute("UPDATE batch_events SET created_at = created_at - interval '91 days'")
        assert await feed.find_prunable(tx, before=before) == [batches.merchant_id]
        await feed.prune(tx, batches.merchant_id, before=before, most=10)
    assert await _told(batches.database) == []
