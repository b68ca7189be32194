"""The fan-out numbers events in the feed and inserts a delivery for each subscribed endpoint, in one commit."""

from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.outbox.event import Event
from malipo.outbox.store import PaymentEvent
from malipo.payments.transaction import Status, Type
from malipo.webhooks import manage_endpoints
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.fan_out import FanOutResult, fan_out, pairs
from malipo.webhooks.store import delivery_queue, endpoints, recovery
from tests.conftest import NOBODY, make_merchant
from tests.journeys.webhook_stack import WebhookStack, webhook_stack
from tests.payments.payment_steps import PaymentSteps

URL = "http://127.0.0.1:9/"
NOW = datetime(2026, 11, 15, tzinfo=UTC)
PENDING, CANCELLED = Event.PAYMENT_PENDING, Event.PAYMENT_CANCELLED


def _event(id_: str, merchant_id: str, event: Event) -> PaymentEvent:
    return PaymentEvent(id_, merchant_id, "txn_1", event, "{}", NOW)


def _endpoint(id_: str, merchant_id: str, *events: str) -> Endpoint:
    return Endpoint(id=id_, merchant_id=merchant_id, url=URL, events=events, is_active=True, secret=b"", created_at=NOW)


def test_each_event_goes_to_each_subscribed_endpoint_of_its_merchant_in_the_order_of_events() -> None:
    events = [
        _event("1", "a", PENDING),
        _event("2", "b", PENDING),
        _event("3", "a", CANCELLED),
        _event("4", "c", PENDING),
    ]
    listening = [_endpoint("all", "a", *Event), _endpoint("ends", "a", CANCELLED), _endpoint("b", "b", PENDING)]

    found = [(event.id, endpoint.id) for event, endpoint in pairs(events, listening)]

    assert found == [("1", "all"), ("2", "b"), ("3", "all"), ("3", "ends")]


@pytest.mark.parametrize("event", Event)
def test_an_asterisk_wants_every_event_there_is(event: Event) -> None:
    listening = [_endpoint("every", "a", "*"), _endpoint("stranger", "b", "*")]
    assert [endpoint.id for _, endpoint in pairs([_event("1", "a", event)], listening)] == ["every"]


@pytest.fixture
async def stack(database_url: str) -> AsyncIterator[WebhookStack]:
    async with webhook_stack(database_url) as stack:
        yield stack


async def _fan_out(
    stack: WebhookStack, may_claim: Callable[[str], bool] = lambda _: False, most: int = 100
) -> FanOutResult:
    async with stack.database.begin() as tx:
        return await fan_out(tx, most=most, claim_id="clm_1", lease_seconds=60, may_claim=may_claim, now=stack.clock())


async def _deliveries(stack: WebhookStack) -> list[dict[str, Any]]:
    return await stack.rows(
        """
        SELECT d.*, e.feed_number, e.body, d.leased_until > now() AS is_leased
        FROM webhook_deliveries d JOIN events e ON e.id = d.event_id ORDER BY e.merchant_id, e.feed_number, d.endpoint_id
        """
    )


async def test_only_endpoints_that_are_active_and_subscribed_get_a_delivery(stack: WebhookStack) -> None:
    merchant, other = await stack.merchant(), await stack.merchant()
    all_ = await stack.register(merchant, URL)
    ends = await stack.register(merchant, URL, [CANCELLED])
    paused, deleted = await stack.register(merchant, URL), await stack.register(merchant, URL)
    stranger = await stack.register(other, URL)
    async with stack.database.begin() as tx:
        now = clock.now()
        await manage_endpoints.change(
            tx, merchant.id, paused.id, url=None, events=None, is_active=False, actor=NOBODY, now=now
        )
        await manage_endpoints.delete(tx, merchant.id, deleted.id, actor=NOBODY, now=now)
    await stack.take_back(await stack.open(merchant))

    done = await _fan_out(stack)

    assert (done.event_count, list(done.claimed), set(done.waiting)) == (2, [], {all_.id, ends.id})
    delivered = [(row["feed_number"], row["event"], row["endpoint_id"]) for row in await _deliveries(stack)]
    assert delivered == [
        (1, "payment.pending", all_.id),
        (2, "payment.cancelled", all_.id),
        (2, "payment.cancelled", ends.id),
    ]
    assert stranger.id not in {each for _, _, each in delivered}


async def test_two_workers_who_claim_at_once_never_share_a_delivery(stack: WebhookStack) -> None:
    merchant = await stack.merchant()
    endpoint = await stack.register(merchant, URL, [PENDING])
    await stack.open(merchant, 3)
    await _fan_out(stack)
    now = stack.clock()
    async with stack.database.begin() as one, stack.database.begin() as other:
        first = await delivery_queue.claim(one, {endpoint.id: 2}, "clm_1", lease_seconds=60, now=now)
        # It does not wait for the first, which has not committed yet.
        second = await delivery_queue.claim(other, {endpoint.id: 3}, "clm_2", lease_seconds=60, now=now)
    assert (len(first), len(second)) == (2, 1)
    assert len({each.event_id for each in [*first, *second]}) == 3
    async with stack.database.begin() as tx:
        assert await delivery_queue.claim(tx, {endpoint.id: 3}, "clm_3", lease_seconds=60, now=now) == []


async def test_a_delivery_that_can_be_sent_is_claimed_as_it_is_inserted_with_the_body_of_its_event(
    stack: WebhookStack,
) -> None:
    merchant = await stack.merchant()
    endpoint = await stack.register(merchant, URL, [PENDING])
    await stack.open(merchant, 5)
    answers = iter([True, True, False])

    done = await _fan_out(stack, may_claim=lambda _: next(answers))

    # After the first that is left, nobody asks for more: an endpoint is not given the new before the old.
    rows = await _deliveries(stack)
    assert [row["claim_id"] for row in rows] == ["clm_1", "clm_1", None, None, None]
    assert [row["is_leased"] for row in rows] == [True, True, None, None, None]
    assert {(row["state"], row["attempt_count"]) for row in rows} == {("PENDING", 0)}
    assert [(each.endpoint.id, each.event_id, each.body, each.claim_id) for each in done.claimed] == [
        (endpoint.id, row["event_id"], row["body"], "clm_1") for row in rows[:2]
    ]
    assert done.waiting == {endpoint.id}


async def test_an_endpoint_without_room_leaves_the_others_theirs(stack: WebhookStack) -> None:
    merchant = await stack.merchant()
    full, free = await stack.register(merchant, URL, [PENDING]), await stack.register(merchant, URL, [PENDING])
    await stack.open(merchant, 3)

    done = await _fan_out(stack, may_claim=lambda endpoint_id: endpoint_id == free.id)

    assert [each.endpoint.id for each in done.claimed] == [free.id] * 3
    assert done.waiting == {full.id}


async def test_events_that_nobody_listens_to_have_their_places_too(stack: WebhookStack) -> None:
    merchant = await stack.merchant()
    await stack.open(merchant, 5)

    assert [(await _fan_out(stack, most=2)).event_count for _ in range(4)] == [2, 2, 1, 0]
    numbers = await stack.rows("SELECT feed_number FROM events ORDER BY feed_number")
    assert [row["feed_number"] for row in numbers] == [1, 2, 3, 4, 5]
    assert await _deliveries(stack) == []


class _TakenBack(Exception):  # noqa: N818
    """Ends a transaction without a trace."""


async def test_a_place_is_given_with_its_deliveries_or_not_at_all(stack: WebhookStack) -> None:
    merchant = await stack.merchant()
    await stack.register(merchant, URL)
    await stack.open(merchant)

    with suppress(_TakenBack):
        async with stack.database.begin() as tx:
            await fan_out(tx, most=1, claim_id="clm_1", lease_seconds=60, may_claim=lambda _: True, now=stack.clock())
            raise _TakenBack
    assert await stack.rows("SELECT FROM feeds") == []
    assert await _deliveries(stack) == []

    assert (await _fan_out(stack)).event_count == 1
    assert [row["feed_number"] for row in await _deliveries(stack)] == [1]


# The events that there were before there were events of corrections.
FORMER = [event for event in Event if not event.endswith(".corrected")]


async def test_a_correction_goes_to_endpoints_of_all_events_and_not_to_those_that_named_others(
    stack: WebhookStack,
) -> None:
    merchant = await make_merchant(stack.database, wallet=1_000_000)
    every = await stack.register(merchant, URL, ["*"])
    named = await stack.register(merchant, URL, ["payout.corrected"])
    former = await stack.register(merchant, URL, FORMER)
    steps = PaymentSteps(stack.service, merchant.id)
    for type_ in Type:
        await steps.contradicted(type_, Status.FAILED)

    await _fan_out(stack)

    delivered: dict[str, set[str]] = {each.id: set() for each in (every, named, former)}
    for row in await _deliveries(stack):
        delivered[row["endpoint_id"]].add(row["event"])
    ends = {"payment.pending", "payment.failed", "payout.failed"}
    assert delivered == {
        every.id: ends | {"payment.corrected", "payout.corrected"},
        named.id: {"payout.corrected"},
        former.id: ends,
    }


async def test_missed_events_are_sent_again_to_an_endpoint_of_all_events(stack: WebhookStack) -> None:
    merchant = await make_merchant(stack.database, wallet=1_000_000)
    await PaymentSteps(stack.service, merchant.id).contradicted(Type.DISBURSEMENT, Status.FAILED)
    await _fan_out(stack)
    every, former = await stack.register(merchant, URL, ["*"]), await stack.register(merchant, URL, FORMER)

    for endpoint in (every, former):
        async with stack.database.begin() as tx:
            stored = await endpoints.get(tx, merchant.id, endpoint.id)
            assert stored is not None
            since = stack.clock() - timedelta(hours=1)
            await recovery.recover(tx, stored, since=since, after=None, most=100, now=stack.clock())

    delivered = {(row["endpoint_id"], row["event"]) for row in await _deliveries(stack)}
    assert delivered == {(every.id, "payout.failed"), (every.id, "payout.corrected"), (former.id, "payout.failed")}
