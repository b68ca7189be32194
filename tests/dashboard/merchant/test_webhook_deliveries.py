"""/dashboard/webhooks: what was sent to an endpoint, what it answered, and sending again."""

import asyncio
import re
from datetime import timedelta
from zoneinfo import ZoneInfo

import pytest

from malipo import clock
from malipo.payments.transaction import Type
from malipo.webhooks.delivery_state import DeliveryState
from malipo.webhooks.fan_out import fan_out
from tests.dashboard.merchant.webhook_pages import PATH, ROW, WebhookPages
from tests.dashboard.merchant.webhook_pages import desk as desk
from tests.dashboard.merchant.webhook_pages import surfer as surfer
from tests.journeys.concurrency import order


async def test_a_test_shows_what_the_receiver_answered(desk: WebhookPages) -> None:
    endpoint = await desk.add()

    async def receive() -> None:
        while not (waiting := await desk.deliveries(endpoint)):  # noqa: ASYNC110 - the other side is another process.
            await asyncio.sleep(0.02)
        await desk.answer(endpoint, waiting[0].event_id, status=202, body=b"thank you")

    sent, _ = await asyncio.gather(desk.surfer.post(f"{PATH}/{endpoint.id}/test"), receive())

    assert sent.status == 303
    shown = await desk.surfer.get(sent.to)
    assert "HTTP 202" in shown.words
    assert "thank you" in shown.words
    assert "Your server has taken it." in shown.words


async def test_a_paused_endpoint_sends_nothing_and_says_so(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)
    path = f"{PATH}/{endpoint.id}"
    await desk.surfer.post(f"{path}/pause")

    for act, fields in (
        ("test", {}),
        (f"deliveries/{event_id}/redeliver", {}),
        ("recover", {"since": "2026-01-01T00:00"}),
    ):
        refused = await desk.surfer.post(f"{path}/{act}", fields)
        assert refused.status == 409, act
        assert "The endpoint is paused. Resume it first." in refused.words


async def test_every_try_is_shown_with_all_that_was_answered_and_only_as_text(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)
    await desk.answer(endpoint, event_id, status=None, error="The connection was refused.")
    body = b"<script>alert(1)</script>\xff"
    await desk.answer(endpoint, event_id, status=503, body=body, headers=[("server", "<i>nginx"), ("x-a", "1")])

    seen = await desk.surfer.get(f"{PATH}/{endpoint.id}/deliveries/{event_id}")

    assert "2 tries" in seen.words
    assert "The connection was refused." in seen.words
    assert "HTTP 503" in seen.words
    assert seen.words.count("1,234 ms") == 2
    assert "&lt;script&gt;alert(1)&lt;/script&gt;\ufffd" in seen.text
    assert "server: &lt;i&gt;nginx" in seen.text
    assert "<script>alert" not in seen.text
    assert seen.words.index("HTTP 503") < seen.words.index("The connection was refused.")


async def test_deliveries_are_listed_by_key_and_by_state(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    began = clock.now() - timedelta(minutes=5)
    made = [await desk.deliver(endpoint, began + timedelta(seconds=n)) for n in range(30)][::-1]
    await desk.answer(endpoint, made[3], status=200)
    path = f"{PATH}/{endpoint.id}"

    first = await desk.surfer.get(path)
    older = re.search(r'rel="next" href="([^"]+)"', first.text)
    assert older is not None
    second = await desk.surfer.get(older[1].replace("&amp;", "&"))

    assert (ROW.findall(first.text), ROW.findall(second.text)) == (made[:25], made[25:])
    assert 'rel="next"' not in second.text
    assert ROW.findall((await desk.surfer.get(f"{path}?state=DELIVERED")).text) == [made[3]]
    waiting = await desk.surfer.get(f"{path}?state=PENDING")
    assert made[3] not in ROW.findall(waiting.text)
    beyond = re.search(r'rel="next" href="([^"]+)"', waiting.text)
    assert beyond is not None
    assert "state=PENDING" in beyond[1]
    assert "There is no delivery in this state." in (await desk.surfer.get(f"{path}?state=EXHAUSTED")).words


@pytest.mark.parametrize("query", ["?state=%00", "?before=%00", "?before=" + "x" * 5000, "?state=NONSENSE"])
async def test_nonsense_in_the_address_is_as_good_as_nothing(desk: WebhookPages, query: str) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)

    assert ROW.findall((await desk.surfer.get(f"{PATH}/{endpoint.id}{query}")).text) == [event_id]


async def test_a_delivery_is_sent_again_from_the_first_try(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    event_id = await desk.deliver(endpoint)
    await desk.answer(endpoint, event_id, status=200)
    path = f"{PATH}/{endpoint.id}/deliveries/{event_id}"

    assert (await desk.surfer.post(f"{path}/redeliver")).to == path

    assert [each.state for each in await desk.deliveries(endpoint)] == [DeliveryState.PENDING]


async def test_what_was_missed_since_a_time_of_dar_es_salaam_is_sent(desk: WebhookPages) -> None:
    endpoint = await desk.add()
    path = f"{PATH}/{endpoint.id}"
    await desk.surfer.post(f"{path}/pause")
    await desk.service.payments.initiate(order(desk.merchant.id, Type.COLLECTION, 1000))
    async with desk.service.queries.database.begin() as tx:
        await fan_out(
            tx, most=1000, claim_id="clm_1", lease_seconds=60, may_claim=lambda endpoint_id: False, now=clock.now()
        )
    await desk.surfer.post(f"{path}/resume")
    assert await desk.deliveries(endpoint) == []
    here = clock.now().astimezone(ZoneInfo("Africa/Dar_es_Salaam"))

    missed = await desk.surfer.post(f"{path}/recover", {"since": f"{here - timedelta(minutes=2):%Y-%m-%dT%H:%M}"})

    assert missed.to == path
    assert [each.event for each in await desk.deliveries(endpoint)] == ["payment.pending"]


@pytest.mark.parametrize("since", ["", "yesterday", "2999-01-01T00:00", "0001-01-01T00:00", "2026-01-01T00:00Z"])
async def test_a_time_that_cannot_be_is_asked_for_again(desk: WebhookPages, since: str) -> None:
    endpoint = await desk.add()

    seen = await desk.surfer.post(f"{PATH}/{endpoint.id}/recover", {"since": since})

    assert seen.status == 400
    assert 'id="field-since-wrong"' in seen.text
