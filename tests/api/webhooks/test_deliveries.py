"""/merchant/webhooks/{id}/deliveries: what was sent and what was answered."""

import json

import pytest

from tests.api.conftest import Desk, is_refused
from tests.api.webhooks.deliveries import until_there_are
from tests.api.webhooks.deliveries import worker as worker
from tests.journeys.webhook_receivers import Receiver, in_turn, says


@pytest.mark.usefixtures("worker")
async def test_a_delivery_of_an_event_names_its_transaction(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.url("/"))
    (transaction,) = await desk.gate.webhook_stack.open(desk.merchant)

    (delivery,) = await until_there_are(desk, endpoint["id"], 1, "DELIVERED")

    assert set(delivery) == {"id", "event", "state", "transactionId", "attempts"}
    assert (delivery["event"], delivery["transactionId"]) == ("payment.pending", transaction.id)
    (event,) = (await desk.gate.events(desk.merchant)).body["events"]
    assert event["id"] == delivery["id"] == shop.got[0].id
    assert json.loads(shop.got[0].body) == {"event": event["event"], "transaction": event["transaction"]}
    one = await desk("GET", f"/{endpoint['id']}/deliveries/{delivery['id']}")
    assert (one.status, one.body) == (200, {"success": True, "delivery": delivery})


@pytest.mark.usefixtures("worker")
async def test_an_endpoint_gets_only_events_that_it_subscribes_to(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.url("/"), "payment.cancelled", "payout.failed")
    opened = await desk.gate.webhook_stack.open(desk.merchant, 2)
    await desk.gate.webhook_stack.take_back(opened[:1])

    (delivery,) = await until_there_are(desk, endpoint["id"], 1, "DELIVERED")

    assert (delivery["event"], delivery["transactionId"]) == ("payment.cancelled", opened[0].id)


async def test_deliveries_are_paged_from_the_latest_back_without_gaps(desk: Desk, shop: Receiver) -> None:
    """While somebody turns the pages a new one arrives, and moves none of the others."""
    endpoint = await desk.register(shop.url("/"))
    async with desk.gate.webhook_stack.a_worker():
        await desk.gate.webhook_stack.open(desk.merchant, 5)
        expected = [each["id"] for each in await until_there_are(desk, endpoint["id"], 5, "DELIVERED")]
        assert expected == sorted(expected, reverse=True)

        first = await desk("GET", f"/{endpoint['id']}/deliveries?limit=2")
        await desk.gate.webhook_stack.open(desk.merchant)
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
    await desk.gate.webhook_stack.open(desk.merchant, 2)
    found = await until_there_are(desk, endpoint["id"], 2, "DELIVERED")

    answer = await desk("GET", f"/{endpoint['id']}/deliveries?limit=2")

    assert answer.body == {"success": True, "deliveries": found}


async def test_deliveries_are_filtered_by_their_state(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.behave("/", in_turn(says(200), says(500), says(200))))
    id_ = endpoint["id"]
    async with desk.gate.webhook_stack.a_worker(webhook_retry_seconds=()):
        for state in ("DELIVERED", "EXHAUSTED"):
            await desk.gate.webhook_stack.open(desk.merchant)
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
