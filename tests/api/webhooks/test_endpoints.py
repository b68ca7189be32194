"""/merchant/webhooks/{id}: endpoints are read, changed, disabled and deleted."""

from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.audit_log import store as audit_log
from tests.api.conftest import Desk, is_refused
from tests.api.response_fields import moment
from tests.api.webhooks.endpoints import REGISTERED, SHOWN, URL, Regular
from tests.api.webhooks.endpoints import here as here
from tests.journeys.full_stack import until
from tests.journeys.webhook_receivers import Receiver, says


async def test_endpoints_are_listed_oldest_first_and_read_one_by_one_without_their_secrets(desk: Desk) -> None:
    before = clock.now() - timedelta(milliseconds=1)
    made = [await desk.register(f"https://shop.example.com/{n}") for n in range(3)]

    listed = await desk("GET")

    assert set(listed.body) == {"success", "endpoints"}
    assert [each["id"] for each in listed.body["endpoints"]] == [each["id"] for each in made]
    for endpoint, shown in zip(made, listed.body["endpoints"], strict=True):
        assert set(shown) == SHOWN
        assert {name: shown[name] for name in REGISTERED} == {name: endpoint[name] for name in REGISTERED}
        assert before <= moment(shown["createdAt"]) <= clock.now()
        assert await desk.shown(endpoint["id"]) == shown


async def test_a_change_is_of_what_is_named_and_of_nothing_else(desk: Desk) -> None:
    endpoint = await desk.register(URL)
    at, now = f"/{endpoint['id']}", await desk.shown(endpoint["id"])
    changes: list[dict[str, Any]] = [
        {"url": "https://shop.example.com/elsewhere"},
        {"events": ["payout.completed"]},
        {"url": None, "events": None, "isActive": None},
        {},
        {"isActive": True, "secret": "whsec_mine", "id": "wh_mine", "unknown": 1},
    ]

    for change in changes:
        answer = await desk("PATCH", at, change)
        now |= {name: value for name, value in change.items() if value is not None and name in ("url", "events")}
        assert (answer.status, answer.body) == (200, {"success": True, "endpoint": now})
        assert await desk.shown(endpoint["id"]) == now


@pytest.mark.parametrize("value", ["true", "", 1, 0, [], {}, [True]], ids=repr)
async def test_active_is_true_or_false(here: Regular, value: Any) -> None:
    _, answer = await here.refusals({"isActive": value, "url": ""})
    assert is_refused(answer, 400, "validation_failed", "isActive", "url")
    answer = await here.desk("PATCH", f"/{here.id}", {"isActive": value})
    assert is_refused(answer, 400, "field_invalid", "isActive")


async def test_an_endpoint_is_switched_off_and_on_again(desk: Desk) -> None:
    endpoint = await desk.register(URL)
    on = await desk.shown(endpoint["id"])

    off = (await desk("PATCH", f"/{endpoint['id']}", {"isActive": False})).body["endpoint"]
    again = (await desk("PATCH", f"/{endpoint['id']}", {"isActive": False})).body["endpoint"]

    assert off == on | {"isActive": False, "switchedOffAt": off["switchedOffAt"]}
    assert moment(on["createdAt"]) <= moment(off["switchedOffAt"]) <= clock.now()
    assert again == off
    assert (await desk("PATCH", f"/{endpoint['id']}", {"isActive": True})).body["endpoint"] == on


async def test_what_is_deleted_is_gone(desk: Desk) -> None:
    kept, endpoint = await desk.register(URL), await desk.register(URL)
    at = f"/{endpoint['id']}"

    answer = await desk("DELETE", at)

    assert (answer.status, set(answer.body)) == (200, {"success", "message"})
    assert [each["id"] for each in (await desk("GET")).body["endpoints"]] == [kept["id"]]
    for method, path, body in EVERY_ROUTE_OF_ONE:
        again = await desk(method, at + path, body)
        assert is_refused(again, 404, "webhook_not_found"), (method, path)


EVERY_ROUTE_OF_ONE: list[tuple[str, str, Any]] = [
    ("GET", "", None),
    ("PATCH", "", {"isActive": True}),
    ("DELETE", "", None),
    ("POST", "/test", None),
    ("POST", "/rotate-secret", None),
    ("POST", "/rotate-secret/finish", None),
    ("GET", "/deliveries", None),
    ("GET", "/deliveries/evt_1", None),
    ("POST", "/deliveries/evt_1/redeliver", None),
    ("POST", "/recover", {"since": "2026-11-15"}),
]


@pytest.mark.parametrize(("method", "path", "body"), EVERY_ROUTE_OF_ONE)
async def test_there_is_no_endpoint_that_belongs_to_another(desk: Desk, method: str, path: str, body: Any) -> None:
    theirs = Desk(desk.gate, await desk.gate.webhook_stack.merchant())
    endpoint = await theirs.register(URL)
    before = await theirs.shown(endpoint["id"])

    answer = await desk(method, f"/{endpoint['id']}{path}", body)
    unknown = await desk(method, f"/wh_00000000000000000000000000{path}", body)

    assert is_refused(answer, 404, "webhook_not_found")
    assert answer.body == unknown.body
    assert await theirs.shown(endpoint["id"]) == before


async def test_who_did_what_is_written_down(desk: Desk) -> None:
    endpoint = await desk.register(URL)
    at = f"/{endpoint['id']}"
    for method, path, body in (
        ("PATCH", "", {"events": ["payout.failed"]}),
        ("POST", "/rotate-secret", None),
        ("POST", "/rotate-secret/finish", None),
        ("DELETE", "", None),
    ):
        assert (await desk(method, at + path, body)).status == 200

    async with desk.gate.webhook_stack.database.read() as connection:
        deeds = await audit_log.find(connection, merchant_id=desk.merchant.id, limit=5)
    assert [deed.action for deed in reversed(deeds)] == [
        "webhook.registered",
        "webhook.changed",
        "webhook.rotation_begun",
        "webhook.rotation_finished",
        "webhook.deleted",
    ]
    assert {(deed.actor, deed.address) for deed in deeds} == {(f"{desk.merchant.id}@example.com", "127.0.0.1")}
    assert {deed.details["endpoint"] for deed in deeds} == {endpoint["id"]}


async def test_an_endpoint_that_answers_410_is_switched_off_and_says_why(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.behave("/", says(410)))
    at, on = f"/{endpoint['id']}", await desk.shown(endpoint["id"])

    async with desk.gate.webhook_stack.a_worker():
        delivery = (await desk("POST", f"{at}/test")).body["delivery"]

    off = await desk.shown(endpoint["id"])
    assert delivery["state"] == "EXHAUSTED"
    assert set(off) == SHOWN | {"failingSince", "switchedOffAt", "switchedOffReason"}
    assert off["isActive"] is False
    assert "410" in off["switchedOffReason"]
    for path, body in (
        ("/test", None),
        ("/recover", {"since": "2026-11-15"}),
        (f"/deliveries/{delivery['id']}/redeliver", None),
    ):
        assert is_refused(await desk("POST", at + path, body), 409, "webhook_inactive")
    assert (await desk("PATCH", at, {"isActive": True})).body["endpoint"] == on


async def test_an_endpoint_that_fails_says_since_when_until_it_succeeds(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.behave("/", says(500)))
    before = clock.now() - timedelta(milliseconds=1)

    async def failing() -> dict[str, Any] | None:
        shown = await desk.shown(endpoint["id"])
        return shown if "failingSince" in shown else None

    async with desk.gate.webhook_stack.a_worker():
        await desk.gate.webhook_stack.open(desk.merchant)
        first = await until(failing)
        await desk("POST", f"/{endpoint['id']}/test")
        second = await desk.shown(endpoint["id"])
        shop.behave("/", says(200))
        await desk("POST", f"/{endpoint['id']}/test")
        third = await desk.shown(endpoint["id"])

    assert set(first) == SHOWN | {"failingSince"}
    assert before <= moment(first["failingSince"]) <= clock.now()
    assert second == first
    assert set(third) == SHOWN


async def test_a_test_that_fails_does_not_make_an_endpoint_failing(desk: Desk, shop: Receiver) -> None:
    """Whoever builds a receiver sends tests until one is taken."""
    endpoint = await desk.register(shop.behave("/", says(500)))
    before = await desk.shown(endpoint["id"])

    async with desk.gate.webhook_stack.a_worker():
        failed = (await desk("POST", f"/{endpoint['id']}/test")).body["delivery"]

    assert failed["state"] == "EXHAUSTED"
    assert await desk.shown(endpoint["id"]) == before
