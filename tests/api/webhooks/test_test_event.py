"""/merchant/webhooks/{id}/test: a merchant tests an endpoint, and sees its receiver's answer."""

import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from standardwebhooks import Webhook

from malipo import clock
from tests.api.conftest import Desk
from tests.api.response_fields import EVERYWHERE, moment
from tests.api.webhooks.deliveries import try_out
from tests.api.webhooks.deliveries import worker as worker
from tests.conftest import create_database
from tests.journeys.in_process_api import in_process_api
from tests.journeys.webhook_receivers import Receiver, hangs, nobody, says
from tests.journeys.webhook_stack import webhook_stack

ANSWERED = {"id", "at", "durationMs", "status", "headers", "answer"}
UNANSWERED = {"id", "at", "durationMs", "error"}


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
    reported = body["transaction"]
    assert set(reported) == EVERYWHERE | {"type", "buyerPhone", "buyerName", "description", "metadata"}
    # Whoever hands out goods for a completed payment of the right amount hands out nothing for this one.
    assert (reported["status"], reported["amount"], reported["netAmount"], reported["reference"]) == (
        "PENDING",
        0,
        0,
        "TEST",
    )
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
    async with desk.gate.webhook_stack.a_worker(webhook_timeout_seconds=4):
        with nobody() as url:
            refused = await try_out(desk, url)
        silent = await try_out(desk, shop.behave("/", hangs))

    for delivery, why in ((refused, "refused"), (silent, "within 4 s")):
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
    async with webhook_stack(own, answer_seconds=1) as here, in_process_api(here) as gate:
        delivery = await try_out(Desk(gate, await here.merchant()), "http://127.0.0.1:9/")

    assert (delivery["state"], delivery["attempts"]) == ("PENDING", [])
    assert "nextAttemptAt" in delivery
