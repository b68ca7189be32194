"""/merchant/webhooks/{id}/deliveries: what was sent and what was answered, and how to have it sent again."""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from standardwebhooks import Webhook

from malipo import clock
from malipo.service import Service
from tests.api.conftest import Desk, is_refused
from tests.api.contract import EVERYWHERE, moment
from tests.conftest import create_database
from tests.journeys.door import door
from tests.journeys.market import market
from tests.journeys.receivers import Receiver, hangs, in_turn, nobody, says
from tests.journeys.town import until

ANSWERED = {"id", "at", "durationMs", "status", "headers", "answer"}
UNANSWERED = {"id", "at", "durationMs", "error"}


@pytest.fixture
async def worker(desk: Desk) -> AsyncIterator[Service]:
    async with desk.gate.market.a_worker() as worker:
        yield worker


async def try_out(desk: Desk, url: str) -> dict[str, Any]:
    """What comes of a test of a new endpoint."""
    endpoint = await desk.register(url)
    answer = await desk("POST", f"/{endpoint['id']}/test")
    assert (answer.status, set(answer.body)) == (200, {"success", "delivery"})
    delivery: dict[str, Any] = answer.body["delivery"]
    return delivery


async def until_there_are(desk: Desk, id_: str, number: int, state: str) -> list[dict[str, Any]]:
    async def find() -> list[dict[str, Any]] | None:
        found = await desk.deliveries(id_, f"?state={state}&limit=100")
        return found if len(found) >= number else None

    found: list[dict[str, Any]] = await until(find, pause=0.02, what=f"{number} × {state}")
    assert len(found) == number
    return found


# A test


@pytest.mark.usefixtures("worker")
async def test_a_test_is_answered_with_what_the_receiver_said(desk: Desk, shop: Receiver) -> None:
    before = clock.now() - timedelta(milliseconds=1)

    delivery = await try_out(desk, shop.behave("/hook", says(202, b"asante", headers=(("X-Till", b"7"),))))

    assert set(delivery) == {"id", "event", "state", "attempts"}
    assert (delivery["event"], delivery["state"]) == ("webhook.test", "DELIVERED")
    (attempt,) = delivery["attempts"]
    assert set(attempt) == ANSWERED
    assert (attempt["status"], attempt["answer"]) == (202, "asante")
    assert attempt["headers"] == {"Content-Length": "6", "X-Till": "7"}
    assert before <= moment(attempt["at"]) <= clock.now()
    assert attempt["durationMs"] >= 0
    (got,) = shop.got
    assert (got.path, got.id, got.headers["x-service-delivery"]) == ("/hook", delivery["id"], attempt["id"])


@pytest.mark.usefixtures("worker")
async def test_a_test_is_signed_has_the_shape_of_an_event_and_is_none(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.url("/"))

    await desk("POST", f"/{endpoint['id']}/test")

    (got,) = shop.got
    Webhook(endpoint["secret"]).verify(got.body, dict(got.headers))
    signature = hmac.new(endpoint["secret"].encode(), got.body, hashlib.sha256).hexdigest()
    assert got.headers["x-service-signature"] == signature
    assert (got.event, got.headers["content-type"]) == ("webhook.test", "application/json")
    body = json.loads(got.body)
    assert (set(body), body["event"]) == ({"event", "transaction"}, "webhook.test")
    assert set(body["transaction"]) == EVERYWHERE | {
        "type", "buyerPhone", "buyerName", "description", "metadata", "completedAt",
    }  # fmt: skip
    feed = await desk.gate.events(desk.merchant)
    assert feed.body["events"] == []


@pytest.mark.usefixtures("worker")
async def test_a_receiver_that_refuses_a_test_is_shown_with_its_answer_and_not_asked_again(
    desk: Desk, shop: Receiver
) -> None:
    delivery = await try_out(desk, shop.behave("/", says(503, b"later")))

    assert set(delivery) == {"id", "event", "state", "attempts"}
    (attempt,) = delivery["attempts"]
    assert (delivery["state"], attempt["status"], attempt["answer"]) == ("EXHAUSTED", 503, "later")


async def test_where_nobody_answers_the_attempt_says_why(desk: Desk, shop: Receiver) -> None:
    async with desk.gate.market.a_worker(webhook_timeout_seconds=1):
        with nobody() as url:
            refused = await try_out(desk, url)
        silent = await try_out(desk, shop.behave("/", hangs))

    for delivery, why in ((refused, "refused"), (silent, "within 1 s")):
        (attempt,) = delivery["attempts"]
        assert delivery["state"] == "EXHAUSTED"
        assert set(attempt) == UNANSWERED
        assert why in attempt["error"]


@pytest.mark.usefixtures("worker")
async def test_an_answer_is_kept_as_far_as_2_kib_whatever_its_bytes(desk: Desk, shop: Receiver) -> None:
    odd = b"\xff\x00" + b"x" * 5_000
    twice = (("Set-Cookie", b"a=1"), ("Set-Cookie", b"b=\xe9"))

    delivery = await try_out(desk, shop.behave("/", says(200, odd, headers=twice)))

    (attempt,) = delivery["attempts"]
    assert attempt["answer"] == "\ufffd\0" + "x" * 2_046
    assert attempt["headers"]["Set-Cookie"] == "a=1, b=é"


async def test_without_a_worker_a_test_is_answered_as_pending_before_the_caller_gives_up(
    postgres: str, template: str
) -> None:
    own = await create_database(postgres, template)
    async with market(own, webhook_timeout_seconds=1) as here, door(here) as gate:
        delivery = await try_out(Desk(gate, await here.merchant()), "http://127.0.0.1:9/")

    assert (delivery["state"], delivery["attempts"]) == ("PENDING", [])
    assert "nextAttemptAt" in delivery


# What was sent


@pytest.mark.usefixtures("worker")
async def test_a_delivery_of_an_event_names_its_transaction(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.url("/"))
    (transaction,) = await desk.gate.market.open(desk.merchant)

    (delivery,) = await until_there_are(desk, endpoint["id"], 1, "DELIVERED")

    assert set(delivery) == {"id", "event", "state", "transactionId", "attempts"}
    assert (delivery["event"], delivery["transactionId"]) == ("payment.pending", transaction.id)
    (event,) = (await desk.gate.events(desk.merchant)).body["events"]
    assert event["id"] == delivery["id"] == shop.got[0].id
    assert json.loads(shop.got[0].body) == {"event": event["event"], "transaction": event["transaction"]}
    one = await desk("GET", f"/{endpoint['id']}/deliveries/{delivery['id']}")
    assert (one.status, one.body) == (200, {"success": True, "delivery": delivery})


@pytest.mark.usefixtures("worker")
async def test_an_endpoint_is_told_only_what_it_subscribes_to(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.url("/"), "payment.cancelled", "payout.failed")
    opened = await desk.gate.market.open(desk.merchant, 2)
    await desk.gate.market.take_back(opened[:1])

    (delivery,) = await until_there_are(desk, endpoint["id"], 1, "DELIVERED")

    assert (delivery["event"], delivery["transactionId"]) == ("payment.cancelled", opened[0].id)


async def test_deliveries_are_paged_from_the_latest_back_without_gaps(desk: Desk, shop: Receiver) -> None:
    """While somebody turns the pages a new one arrives, and moves none of the others."""
    endpoint = await desk.register(shop.url("/"))
    async with desk.gate.market.a_worker():
        await desk.gate.market.open(desk.merchant, 5)
        expected = [each["id"] for each in await until_there_are(desk, endpoint["id"], 5, "DELIVERED")]
        assert expected == sorted(expected, reverse=True)

        first = await desk("GET", f"/{endpoint['id']}/deliveries?limit=2")
        await desk.gate.market.open(desk.merchant)
        await until_there_are(desk, endpoint["id"], 6, "DELIVERED")
    pages = [first.body]
    while "next" in pages[-1]:
        answer = await desk("GET", f"/{endpoint['id']}/deliveries?limit=2&before={pages[-1]['next']}")
        pages.append(answer.body)

    assert [[each["id"] for each in page["deliveries"]] for page in pages] == [
        expected[:2],
        expected[2:4],
        expected[4:],
    ]
    assert [set(page) for page in pages] == [{"success", "deliveries", "next"}] * 2 + [{"success", "deliveries"}]


@pytest.mark.usefixtures("worker")
async def test_a_page_that_ends_with_the_last_delivery_names_no_next_one(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.url("/"))
    await desk.gate.market.open(desk.merchant, 2)
    found = await until_there_are(desk, endpoint["id"], 2, "DELIVERED")

    answer = await desk("GET", f"/{endpoint['id']}/deliveries?limit=2")

    assert answer.body == {"success": True, "deliveries": found}


async def test_deliveries_are_filtered_by_their_state(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.behave("/", in_turn(says(200), says(500), says(200))))
    id_ = endpoint["id"]
    async with desk.gate.market.a_worker(webhook_retry_seconds=()):
        for state in ("DELIVERED", "EXHAUSTED"):
            await desk.gate.market.open(desk.merchant)
            await until_there_are(desk, id_, 1, state)
    delivered = await desk.deliveries(id_, "?state=DELIVERED")
    exhausted = await desk.deliveries(id_, "?state=EXHAUSTED")
    pending = (await desk("POST", f"/{id_}/deliveries/{delivered[0]['id']}/redeliver")).body["delivery"]

    assert [each["attempts"][0]["status"] for each in (*delivered, *exhausted)] == [200, 500]
    assert await desk.deliveries(id_, "?state=PENDING") == [pending]
    assert await desk.deliveries(id_, "?state=EXHAUSTED") == exhausted
    assert await desk.deliveries(id_, "?state=DELIVERED") == []
    assert await desk.deliveries(id_) == [*exhausted, pending]


async def test_every_bad_parameter_is_named_at_once(desk: Desk) -> None:
    endpoint = await desk.register("http://127.0.0.1:9/")
    at = f"/{endpoint['id']}/deliveries"

    assert is_refused(
        await desk("GET", f"{at}?state=LOST&limit=0&before=%00"), 400, "validation_failed", "state", "limit", "before"
    )
    for query, field, code in (
        ("state=pending", "state", "state_invalid"),
        ("state=", "state", "state_invalid"),
        ("limit=101", "limit", "limit_invalid"),
        (f"before={'x' * 65}", "before", "text_too_long"),
        ("before=%01", "before", "text_invalid"),
    ):
        assert is_refused(await desk("GET", f"{at}?{query}"), 400, code, field), query


@pytest.mark.usefixtures("worker")
async def test_a_delivery_is_found_only_at_its_own_endpoint(desk: Desk, shop: Receiver) -> None:
    one, other = await desk.register(shop.url("/one")), await desk.register(shop.url("/other"))
    delivery = (await desk("POST", f"/{one['id']}/test")).body["delivery"]

    for id_, name in ((other["id"], delivery["id"]), (one["id"], "evt_unknown"), (one["id"], "%00")):
        at = f"/{id_}/deliveries/{name}"
        assert is_refused(await desk("GET", at), 404, "delivery_not_found")
        assert is_refused(await desk("POST", f"{at}/redeliver"), 404, "delivery_not_found")
    assert [got.path for got in shop.got] == ["/one"]


# Once more


@pytest.mark.usefixtures("worker")
async def test_what_is_sent_again_is_the_same_event_in_another_attempt(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.url("/"))
    await desk.gate.market.open(desk.merchant)
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
    async with desk.gate.market.a_worker(webhook_retry_seconds=(0,)):
        await desk.gate.market.open(desk.merchant)
        (delivery,) = await until_there_are(desk, endpoint["id"], 1, "EXHAUSTED")

        await desk("POST", f"/{endpoint['id']}/deliveries/{delivery['id']}/redeliver")
        await until(lambda: is_sent(shop, 4), pause=0.02)
        (again,) = await until_there_are(desk, endpoint["id"], 1, "EXHAUSTED")

    assert [len(each["attempts"]) for each in (delivery, again)] == [2, 4]


async def test_recovering_sends_what_was_not_taken_and_says_how_much(desk: Desk, shop: Receiver) -> None:
    """One was taken, one refused to the end, one happened while the endpoint was off; one is not subscribed to."""
    endpoint = await desk.register(shop.behave("/", in_turn(says(200), says(500), says(200))), "payment.pending")
    id_, market = endpoint["id"], desk.gate.market
    since = clock.iso(clock.now() - timedelta(minutes=1))
    async with market.a_worker(webhook_retry_seconds=()):
        for state in ("DELIVERED", "EXHAUSTED"):
            opened = await market.open(desk.merchant)
            await until_there_are(desk, id_, 1, state)
        await desk("PATCH", f"/{id_}", {"isActive": False})
        await market.open(desk.merchant)
        await market.take_back(opened)
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
    theirs = Desk(desk.gate, await desk.gate.market.merchant())
    for each in (desk, theirs):
        await each.gate.market.open(each.merchant)
    async with desk.gate.market.a_worker():
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
