"""/merchant/webhooks/{id}/deliveries: how to have an event sent again, and all that were missed."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest

from malipo import clock
from tests.api.conftest import Desk, is_refused
from tests.api.webhooks.deliveries import until_there_are
from tests.api.webhooks.deliveries import worker as worker
from tests.journeys.full_stack import until
from tests.journeys.webhook_receivers import Receiver, in_turn, says


@pytest.mark.usefixtures("worker")
async def test_what_is_sent_again_is_the_same_event_in_another_attempt(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.url("/"))
    await desk.gate.webhook_stack.open(desk.merchant)
    (delivery,) = await until_there_are(desk, endpoint["id"], 1, "DELIVERED")

    answer = await desk("POST", f"/{endpoint['id']}/deliveries/{delivery['id']}/redeliver")
    await until(lambda: is_sent(shop, 2), pause=0.02)
    (again,) = await until_there_are(desk, endpoint["id"], 1, "DELIVERED")

    assert (answer.status, set(answer.body)) == (202, {"success", "delivery"})
    assert answer.body["delivery"]["id"] == delivery["id"]
    first, second = shop.got
    assert (first.id, first.body) == (second.id, second.body)
    attempts = [got.headers["x-service-delivery"] for got in shop.got]
    assert [attempt["id"] for attempt in again["attempts"]] == attempts
    assert len(set(attempts)) == 2
    assert again["attempts"][0] == delivery["attempts"][0]


async def is_sent(shop: Receiver, number: int) -> bool:
    return len(shop.got) >= number


async def test_what_was_exhausted_has_all_its_attempts_again(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.behave("/", says(500)))
    async with desk.gate.webhook_stack.a_worker(webhook_retry_seconds=(0,)):
        await desk.gate.webhook_stack.open(desk.merchant)
        (delivery,) = await until_there_are(desk, endpoint["id"], 1, "EXHAUSTED")

        await desk("POST", f"/{endpoint['id']}/deliveries/{delivery['id']}/redeliver")
        await until(lambda: is_sent(shop, 4), pause=0.02)
        (again,) = await until_there_are(desk, endpoint["id"], 1, "EXHAUSTED")

    assert [len(each["attempts"]) for each in (delivery, again)] == [2, 4]


async def test_recovering_sends_what_was_not_taken_and_says_how_much(desk: Desk, shop: Receiver) -> None:
    """One was taken, one refused to the end, one happened while the endpoint was off; one is not subscribed to."""
    endpoint = await desk.register(shop.behave("/", in_turn(says(200), says(500), says(200))), "payment.pending")
    id_, webhook_stack = endpoint["id"], desk.gate.webhook_stack
    since = clock.iso(clock.now() - timedelta(minutes=1))
    async with webhook_stack.a_worker(webhook_retry_seconds=()):
        for state in ("DELIVERED", "EXHAUSTED"):
            opened = await webhook_stack.open(desk.merchant)
            await until_there_are(desk, id_, 1, state)
        await desk("PATCH", f"/{id_}", {"isActive": False})
        await webhook_stack.open(desk.merchant)
        await webhook_stack.take_back(opened)
        await until(lambda: are_told(desk, 4), pause=0.02)
        await desk("PATCH", f"/{id_}", {"isActive": True})

        answer = await desk("POST", f"/{id_}/recover", {"since": since})
        await until_there_are(desk, id_, 3, "DELIVERED")
        again = await desk("POST", f"/{id_}/recover", {"since": since})

    assert (answer.status, set(answer.body)) == (202, {"success", "recovered", "message"})
    assert answer.body["recovered"] == 2
    assert answer.body["message"].startswith("2 deliveries are")
    assert (again.status, again.body["recovered"]) == (202, 0)
    assert "nothing" in again.body["message"]
    assert [got.event for got in shop.got] == ["payment.pending"] * 4


async def are_told(desk: Desk, number: int) -> bool:
    return len((await desk.gate.events(desk.merchant)).body["events"]) >= number


async def test_recovering_takes_nothing_from_before_and_nothing_of_others(desk: Desk, shop: Receiver) -> None:
    theirs = Desk(desk.gate, await desk.gate.webhook_stack.merchant())
    for each in (desk, theirs):
        await each.gate.webhook_stack.open(each.merchant)
    async with desk.gate.webhook_stack.a_worker():
        for each in (desk, theirs):
            await until(partial(are_told, each, 1), pause=0.02)
        endpoint = await desk.register(shop.url("/"))
        later = clock.iso(clock.now() + timedelta(seconds=1))
        none = await desk("POST", f"/{endpoint['id']}/recover", {"since": later})
        one = await desk("POST", f"/{endpoint['id']}/recover", {"since": "2026-01-01"})
        await until_there_are(desk, endpoint["id"], 1, "DELIVERED")

    assert (none.body["recovered"], one.body["recovered"]) == (0, 1)
    assert one.body["message"].startswith("1 delivery is")
    assert [got.id for got in shop.got] == [
        each["id"] for each in (await desk.gate.events(desk.merchant)).body["events"]
    ]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({}, "field_required"),
        ({"since": None}, "field_required"),
        ({"since": ""}, "date_invalid"),
        ({"since": "yesterday"}, "date_invalid"),
        ({"since": 1794731412}, "date_invalid"),
        ({"since": True}, "date_invalid"),
        ({"since": ["2026-11-15"]}, "date_invalid"),
        ({"since": "2026-02-30"}, "date_invalid"),
        ({"since": "2026-11-15T08:30:00"}, "date_invalid"),
        ({"since": "0001-01-01T00:00:00+23:59"}, "date_invalid"),
        ({"since": "2026-11-15\0"}, "date_invalid"),
    ],
    ids=repr,
)
async def test_a_time_that_is_none_is_refused(desk: Desk, body: dict[str, Any], code: str) -> None:
    endpoint = await desk.register("http://127.0.0.1:9/")

    assert is_refused(await desk("POST", f"/{endpoint['id']}/recover", body), 400, code, "since")


@pytest.mark.parametrize("since", ["0001-01-01", "1970-01-01T00:00:00Z", "2026-11-15T11:30:00+03:00", "9999-12-31"])
async def test_any_time_can_be_recovered_from(desk: Desk, since: str) -> None:
    endpoint = await desk.register("http://127.0.0.1:9/")

    answer = await desk("POST", f"/{endpoint['id']}/recover", {"since": since})

    assert (answer.status, answer.body["recovered"]) == (202, 0)
