"""What is no longer kept is forgotten, and nothing else; and the books still add up."""

import asyncio
from collections.abc import AsyncIterator
from datetime import datetime, timedelta

import pytest
from msgspec.structs import replace

from malipo import ids
from malipo.payments import status_writer
from malipo.payments.transaction import Type
from malipo.webhooks import manage_endpoints, resend
from malipo.webhooks.fan_out import fan_out
from malipo.worker.pruner import prune
from tests.conftest import NOBODY
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.journeys.full_stack import until
from tests.journeys.operator_commands import malipo
from tests.journeys.webhook_stack import Hand, WebhookStack, webhook_stack

URL = "http://127.0.0.1:9/"
KEPT_DAYS = 10
A_MOMENT = timedelta(milliseconds=1)


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
async def place(database_url: str, hand: Hand) -> AsyncIterator[WebhookStack]:
    async with webhook_stack(database_url, clock=hand, events_keep_days=KEPT_DAYS) as place:
        yield place


async def _fan_out(place: WebhookStack) -> None:
    """Everything gets its place, and nothing is sent."""
    facts = 1
    while facts:
        async with place.database.begin() as tx:
            done = await fan_out(
                tx,
                most=1000,
                claim_id=ids.mint("clm_", place.clock()),
                lease_seconds=1,
                may_take=lambda _: False,
                now=place.clock(),
            )
        facts = done.facts


async def _try_each(place: WebhookStack) -> None:
    """An attempt of each delivery, as if it had been tried."""
    async with place.database.begin() as tx:
        await tx.execute(
            """
            INSERT INTO webhook_attempts SELECT endpoint_id, event_id, 'att_1', due_at, 1, 500, '[]', '', NULL FROM webhook_deliveries
            ON CONFLICT DO NOTHING
            """
        )


async def _counts(place: WebhookStack) -> dict[str, int]:
    return {
        table: await database_facts.count(place.database, table)
        for table in ("events", "webhook_deliveries", "webhook_attempts")
    }


async def test_what_is_older_than_is_kept_goes_and_the_rest_stays(place: WebhookStack, hand: Hand) -> None:
    merchant = await place.merchant()
    stand, deleted = await place.register(merchant, URL), await place.register(merchant, URL)
    await place.tell(merchant, 2)
    hand.move(A_MOMENT)
    began = hand()
    await place.tell(merchant, 4)
    async with place.database.begin() as tx:
        await resend.send_test(tx, merchant.id, stand.id, actor=NOBODY, now=hand())
    await _fan_out(place)
    hand.move(timedelta(days=1))
    await place.tell(merchant, 6)
    await _fan_out(place)
    await _try_each(place)
    async with place.database.begin() as tx:
        await manage_endpoints.delete(tx, merchant.id, deleted.id, actor=NOBODY, now=hand())
    assert await _counts(place) == {"events": 12, "webhook_deliveries": 25, "webhook_attempts": 25}

    hand.move_to(began + timedelta(days=KEPT_DAYS))
    await prune(place.service)
    assert await _counts(place) == {"events": 10, "webhook_deliveries": 21, "webhook_attempts": 21}, (
        "not a millisecond earlier"
    )
    hand.move(A_MOMENT)
    await prune(place.service)
    assert await _counts(place) == {"events": 6, "webhook_deliveries": 12, "webhook_attempts": 12}
    await prune(place.service)
    assert await _counts(place) == {"events": 6, "webhook_deliveries": 12, "webhook_attempts": 12}
    hand.move(timedelta(days=KEPT_DAYS))
    await prune(place.service)
    assert set((await _counts(place)).values()) == {0}
    assert await database_facts.findings(place.database) == []


async def test_more_than_is_forgotten_at_once_is_forgotten_by_two_at_once(place: WebhookStack, hand: Hand) -> None:
    merchant, other = await place.merchant(), await place.merchant()
    for each in (merchant, merchant, other):
        await place.register(each, URL)
    await place.tell(merchant, 1100)
    await place.tell(other, 10)
    await _fan_out(place)
    hand.move(timedelta(days=KEPT_DAYS + 1))
    await place.tell(other, 2)
    await _fan_out(place)

    await asyncio.gather(prune(place.service), prune(place.service))

    assert await _counts(place) == {"events": 2, "webhook_deliveries": 2, "webhook_attempts": 0}
    feeds = await place.rows("SELECT merchant_id, last_number, pruned_to FROM feeds")
    assert {row["merchant_id"]: (row["last_number"], row["pruned_to"]) for row in feeds} == {
        merchant.id: (1100, 1100),
        other.id: (12, 10),
    }
    assert await database_facts.findings(place.database) == []


async def test_a_worker_keeps_house_by_itself(place: WebhookStack, hand: Hand) -> None:
    merchant = await place.merchant()
    await place.tell(merchant, 4)
    await _fan_out(place)
    hand.move(timedelta(days=KEPT_DAYS + 1))

    async def is_tidy() -> bool:
        return await database_facts.count(place.database, "events") == 0

    async with place.a_worker():
        await until(is_tidy, pause=0.05, what="tidying up")


async def _told_late(place: WebhookStack, at: datetime) -> None:
    """An event of before, told only now, because its commit took so long."""
    merchant_id = (await place.rows("SELECT id FROM merchants"))[0]["id"]
    draft = order(merchant_id, Type.COLLECTION, 1000).draft
    assert draft is not None
    async with place.database.begin() as tx:
        await status_writer.open_all(tx, [replace(draft, created_at=at)], {}, now=at)


async def test_what_is_kept_of_a_feed_has_no_gap_even_if_its_times_are_not_in_order(
    place: WebhookStack, hand: Hand
) -> None:
    merchant = await place.merchant()
    began = hand()
    await place.open(merchant, 2)
    await _fan_out(place)
    hand.move(timedelta(days=2))
    await place.open(merchant, 2)
    await _fan_out(place)
    await _told_late(place, began)
    await _fan_out(place)

    hand.move_to(began + timedelta(days=KEPT_DAYS + 1))
    await prune(place.service)

    rows = await place.rows("SELECT feed_number, created_at FROM events ORDER BY feed_number")
    assert [(row["feed_number"], row["created_at"] == began) for row in rows] == [(3, False), (4, False), (5, True)]
    assert await database_facts.findings(place.database) == []


async def test_the_ledger_check_knows_what_was_forgotten_from_what_was_lost(
    place: WebhookStack, hand: Hand, database_url: str
) -> None:
    merchant = await place.merchant()
    await place.tell(merchant, 4)
    await _fan_out(place)
    hand.move(timedelta(days=5))
    await place.take_back(await place.open(merchant, 2))
    await _fan_out(place)
    hand.move(timedelta(days=6))
    await prune(place.service)

    clean = await malipo("ledger", "check", database_url=database_url)
    assert clean.code == 0, clean.err
    [lost] = await place.rows("DELETE FROM events WHERE feed_number = 7 RETURNING transaction_id, event")
    wrong = await malipo("ledger", "check", database_url=database_url)
    assert wrong.code == 1
    [line] = [line for line in wrong.err.splitlines() if lost["transaction_id"] in line]
    assert f"{lost['event']} was never told" in line
