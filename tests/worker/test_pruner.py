"""What is no longer kept is forgotten, and nothing else; and the books still add up."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from malipo import ids
from malipo.outbox import feed
from malipo.payments import status_writer
from malipo.payments.transaction import Type
from malipo.webhooks import manage_endpoints, send_test
from malipo.webhooks.fan_out import fan_out
from malipo.worker import rollups
from malipo.worker.pruner import prune
from tests.conftest import NOBODY
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.journeys.full_stack import until
from tests.journeys.operator_commands import malipo
from tests.journeys.webhook_stack import ManualClock, WebhookStack, webhook_stack

URL = "http://127.0.0.1:9/"
KEPT_DAYS = 10
A_MOMENT = timedelta(milliseconds=1)


@pytest.fixture
def manual_clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
async def stack(database_url: str, manual_clock: ManualClock) -> AsyncIterator[WebhookStack]:
    async with webhook_stack(database_url, clock=manual_clock, events_keep_days=KEPT_DAYS) as stack:
        yield stack


async def _fan_out(stack: WebhookStack) -> None:
    """Everything gets its place, and nothing is sent."""
    events = 1
    while events:
        async with stack.database.begin() as tx:
            done = await fan_out(
                tx,
                most=1000,
                claim_id=ids.mint("clm_", stack.clock()),
                lease_seconds=1,
                may_claim=lambda _: False,
                now=stack.clock(),
            )
        events = done.event_count


async def _try_each(stack: WebhookStack) -> None:
    """An attempt of each delivery, as if it had been tried."""
    async with stack.database.begin() as tx:
        await tx.execute(
            """
            INSERT INTO webhook_attempts SELECT endpoint_id, event_id, 'att_1', due_at, 1, 500, '[]', '', NULL FROM webhook_deliveries
            ON CONFLICT DO NOTHING
            """
        )


async def _counts(stack: WebhookStack) -> dict[str, int]:
    return {
        table: await database_facts.count(stack.database, table)
        for table in ("events", "webhook_deliveries", "webhook_attempts")
    }


async def test_what_is_older_than_is_kept_goes_and_the_rest_stays(
    stack: WebhookStack, manual_clock: ManualClock
) -> None:
    merchant = await stack.merchant()
    endpoint, deleted = await stack.register(merchant, URL), await stack.register(merchant, URL)
    await stack.make_events(merchant, 2)
    manual_clock.move(A_MOMENT)
    began = manual_clock()
    await stack.make_events(merchant, 4)
    async with stack.database.begin() as tx:
        await send_test.send_test(tx, merchant.id, endpoint.id, actor=NOBODY, now=manual_clock())
    await _fan_out(stack)
    manual_clock.move(timedelta(days=1))
    await stack.make_events(merchant, 6)
    await _fan_out(stack)
    await _try_each(stack)
    async with stack.database.begin() as tx:
        await manage_endpoints.delete(tx, merchant.id, deleted.id, actor=NOBODY, now=manual_clock())
    assert await _counts(stack) == {"events": 12, "webhook_deliveries": 25, "webhook_attempts": 25}

    manual_clock.move_to(began + timedelta(days=KEPT_DAYS))
    await prune(stack.service.queries.database, stack.service.settings, stack.service.clock)
    assert await _counts(stack) == {"events": 10, "webhook_deliveries": 21, "webhook_attempts": 21}, (
        "not a millisecond earlier"
    )
    manual_clock.move(A_MOMENT)
    await prune(stack.service.queries.database, stack.service.settings, stack.service.clock)
    assert await _counts(stack) == {"events": 6, "webhook_deliveries": 12, "webhook_attempts": 12}
    await prune(stack.service.queries.database, stack.service.settings, stack.service.clock)
    assert await _counts(stack) == {"events": 6, "webhook_deliveries": 12, "webhook_attempts": 12}
    manual_clock.move(timedelta(days=KEPT_DAYS))
    await prune(stack.service.queries.database, stack.service.settings, stack.service.clock)
    assert set((await _counts(stack)).values()) == {0}
    assert await database_facts.findings(stack.database) == []


async def test_more_than_is_forgotten_at_once_is_forgotten_by_two_at_once(
    stack: WebhookStack, manual_clock: ManualClock
) -> None:
    merchant, other = await stack.merchant(), await stack.merchant()
    for each in (merchant, merchant, other):
        await stack.register(each, URL)
    await stack.make_events(merchant, 1100)
    await stack.make_events(other, 10)
    await _fan_out(stack)
    manual_clock.move(timedelta(days=KEPT_DAYS + 1))
    await stack.make_events(other, 2)
    await _fan_out(stack)

    await asyncio.gather(
        prune(stack.service.queries.database, stack.service.settings, stack.service.clock),
        prune(stack.service.queries.database, stack.service.settings, stack.service.clock),
    )

    assert await _counts(stack) == {"events": 2, "webhook_deliveries": 2, "webhook_attempts": 0}
    feeds = await stack.rows("SELECT merchant_id, last_number, pruned_to FROM feeds")
    assert {row["merchant_id"]: (row["last_number"], row["pruned_to"]) for row in feeds} == {
        merchant.id: (1100, 1100),
        other.id: (12, 10),
    }
    assert await database_facts.findings(stack.database) == []


async def test_an_event_is_kept_until_its_payment_is_counted(stack: WebhookStack, manual_clock: ManualClock) -> None:
    """Totals of lists are counted from events: one that is deleted before would be missing for ever."""
    merchant = await stack.merchant()
    await stack.make_events(merchant, 20)
    await _fan_out(stack)

    async def deleted() -> int:
        async with stack.database.begin() as tx:
            return await feed.prune(tx, merchant.id, before=manual_clock() + A_MOMENT, most=100)

    assert await deleted() == 0
    while await rollups.count(stack.database, least=1):
        pass
    assert await deleted() == 20


async def test_some_old_events_are_deleted_without_reading_all_old_ones(
    stack: WebhookStack, manual_clock: ManualClock
) -> None:
    merchant = await stack.merchant()
    await stack.make_events(merchant, 200)
    await _fan_out(stack)
    while await rollups.count(stack.database, least=1):
        pass

    rows_read = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables WHERE relname = 'events'"
    async with stack.database.begin() as tx:
        # What this connection has read before may not be reported yet, and would be in it.
        before = await tx.fetchval(rows_read) or 0
        deleted = await feed.prune(tx, merchant.id, before=manual_clock() + A_MOMENT, most=10)
        read = await tx.fetchval(rows_read)

    assert deleted == 10
    assert read - before <= 2 * deleted, "once to look for one that is kept, once to delete them"


async def test_a_worker_keeps_house_by_itself(stack: WebhookStack, manual_clock: ManualClock) -> None:
    merchant = await stack.merchant()
    await stack.make_events(merchant, 4)
    await _fan_out(stack)
    manual_clock.move(timedelta(days=KEPT_DAYS + 1))

    async def is_tidy() -> bool:
        return await database_facts.count(stack.database, "events") == 0

    async with stack.a_worker():
        await until(is_tidy, pause=0.05, what="tidying up")


async def _told_late(stack: WebhookStack, at: datetime) -> None:
    """An event of before, told only now, because its commit took so long."""
    merchant_id = (await stack.rows("SELECT id FROM merchants"))[0]["id"]
    draft = order(merchant_id, Type.COLLECTION, 1000).draft
    assert draft is not None
    async with stack.database.begin() as tx:
        await status_writer.open_all(tx, [replace(draft, created_at=at)], {}, now=at)


async def test_what_is_kept_of_a_feed_has_no_gap_even_if_its_times_are_not_in_order(
    stack: WebhookStack, manual_clock: ManualClock
) -> None:
    merchant = await stack.merchant()
    began = manual_clock()
    await stack.open(merchant, 2)
    await _fan_out(stack)
    manual_clock.move(timedelta(days=2))
    await stack.open(merchant, 2)
    await _fan_out(stack)
    await _told_late(stack, began)
    await _fan_out(stack)

    manual_clock.move_to(began + timedelta(days=KEPT_DAYS + 1))
    await prune(stack.service.queries.database, stack.service.settings, stack.service.clock)

    rows = await stack.rows("SELECT feed_number, created_at FROM events ORDER BY feed_number")
    assert [(row["feed_number"], row["created_at"] == began) for row in rows] == [(3, False), (4, False), (5, True)]
    assert await database_facts.findings(stack.database) == []


async def test_the_ledger_check_knows_what_was_forgotten_from_what_was_lost(
    stack: WebhookStack, manual_clock: ManualClock, database_url: str
) -> None:
    merchant = await stack.merchant()
    await stack.make_events(merchant, 4)
    await _fan_out(stack)
    manual_clock.move(timedelta(days=5))
    await stack.take_back(await stack.open(merchant, 2))
    await _fan_out(stack)
    manual_clock.move(timedelta(days=6))
    await prune(stack.service.queries.database, stack.service.settings, stack.service.clock)

    clean = await malipo("ledger", "check", database_url=database_url)
    assert clean.code == 0, clean.err
    [lost] = await stack.rows("DELETE FROM events WHERE feed_number = 7 RETURNING transaction_id, event")
    wrong = await malipo("ledger", "check", database_url=database_url)
    assert wrong.code == 1
    [line] = [line for line in wrong.err.splitlines() if lost["transaction_id"] in line]
    assert f"{lost['event']} was never told" in line
