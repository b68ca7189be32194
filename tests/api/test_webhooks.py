"""/merchant/webhooks: endpoints are registered as specified, changed, tried out, given new secrets and deleted."""

import asyncio
import base64
import hashlib
import hmac
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from malipo import clock
from malipo.outbox.event import Event
from malipo.trail import store as trail
from tests.api.conftest import Desk, is_refused
from tests.api.contract import moment
from tests.conftest import Answer, create_database
from tests.journeys.door import Door, door
from tests.journeys.market import Hand, market
from tests.journeys.receivers import Got, Receiver, says

URL = "https://shop.example.com/hooks/malipo"
PUBLIC = "https://41.59.1.20/"  # No name, so that none has to be looked up.
NEW = {"url": URL, "events": ["payment.completed", "payment.failed"]}
REGISTERED = {"id", "url", "events", "isActive"}
SHOWN = REGISTERED | {"createdAt"}
SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{43}=")


@pytest.fixture(scope="module")
async def strict(postgres: str, template: str) -> AsyncIterator[Door]:
    """The API as it is on the internet."""
    own = await create_database(postgres, template)
    async with market(own, webhook_allow_private="false") as here, door(here) as gate:
        yield gate


@dataclass(frozen=True)
class Regular:
    """A merchant with an endpoint, to whom everything is refused here."""

    desk: Desk
    id: str

    async def refusals(self, change: dict[str, Any]) -> list[Answer]:
        """The answers to somebody who would register another one like this, and who would change this one."""
        new = {"url": PUBLIC, "events": ["payment.failed"]}
        answers = [await self.desk("POST", "", new | change), await self.desk("PATCH", f"/{self.id}", change)]
        (kept,) = (await self.desk("GET")).body["endpoints"]
        assert (kept["id"], kept["url"], kept["events"]) == (self.id, PUBLIC, ["payment.completed"])
        return answers


async def a_regular(gate: Door) -> Regular:
    desk = Desk(gate, await gate.market.merchant())
    return Regular(desk, (await desk.register(PUBLIC, "payment.completed"))["id"])


@pytest.fixture(scope="module")
async def here(gate: Door) -> Regular:
    return await a_regular(gate)


@pytest.fixture(scope="module")
async def outside(strict: Door) -> Regular:
    return await a_regular(strict)


# Registering


async def test_registering_answers_with_exactly_the_fields_of_the_specification(desk: Desk) -> None:
    answer = await desk("POST", "", NEW)

    assert answer.status == 201
    assert set(answer.body) == {"success", "endpoint", "message"}
    assert answer.body["success"] is True
    endpoint = answer.body["endpoint"]
    assert set(endpoint) == REGISTERED | {"secret"}
    assert re.fullmatch(r"wh_[0-9a-z]{26}", endpoint["id"])
    assert (endpoint["url"], endpoint["events"], endpoint["isActive"]) == (URL, NEW["events"], True)
    assert "once" in answer.body["message"]


async def test_a_secret_is_32_random_bytes_in_base64(desk: Desk) -> None:
    one, other = await desk.register(URL), await desk.register(URL)

    for endpoint in (one, other):
        assert SECRET.fullmatch(endpoint["secret"])
        assert len(base64.b64decode(endpoint["secret"].removeprefix("whsec_"), validate=True)) == 32
    assert one["secret"] != other["secret"]
    assert one["id"] != other["id"]


async def test_a_secret_is_shown_once_and_stands_in_no_table(desk: Desk, shop: Receiver) -> None:
    """Whatever is asked afterwards, it is in no answer."""
    endpoint = await desk.register(shop.url("/"))
    at = f"/{endpoint['id']}"
    async with desk.gate.market.a_worker():
        delivery = (await desk("POST", f"{at}/test")).body["delivery"]
        later = [
            await desk("GET"),
            await desk("GET", at),
            await desk("PATCH", at, {"events": ["payout.failed"]}),
            await desk("GET", f"{at}/deliveries"),
            await desk("GET", f"{at}/deliveries/{delivery['id']}"),
            await desk("POST", f"{at}/deliveries/{delivery['id']}/redeliver"),
            await desk("POST", f"{at}/recover", {"since": "2026-01-01"}),
        ]
        rotated = await desk("POST", f"{at}/rotate-secret")
        kept = await _everything_in_tables(desk)
        later += [await desk("GET", at), await desk("POST", f"{at}/rotate-secret/finish"), await desk("DELETE", at)]

    said = "".join(str(answer.body) for answer in later) + str(delivery)
    assert all(answer.status < 300 for answer in later)
    assert "whsec_" not in said
    assert endpoint["secret"] not in str(rotated.body)
    for secret in (endpoint["secret"], rotated.body["endpoint"]["secret"]):
        coded = secret.removeprefix("whsec_")
        for form in (coded, base64.b64decode(coded).hex(), secret.encode().hex()):
            assert form not in kept


async def _everything_in_tables(desk: Desk) -> str:
    rows = await desk.gate.market.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    tables = [row["tablename"] for row in rows]
    assert {"endpoints", "audit", "deliveries"} <= set(tables)
    found = [await desk.gate.market.rows(f'SELECT each::text AS row FROM "{table}" AS each') for table in tables]
    return "\n".join(row["row"] for rows in found for row in rows)


@pytest.mark.parametrize("event", list(Event))
async def test_every_event_can_be_subscribed_to(desk: Desk, event: Event) -> None:
    assert (await desk.register(URL, event))["events"] == [event]


async def test_an_event_that_is_named_twice_counts_once_and_their_order_stays(desk: Desk) -> None:
    endpoint = await desk.register(URL, "payout.failed", "payment.failed", "payout.failed")

    assert endpoint["events"] == ["payout.failed", "payment.failed"]


@pytest.mark.parametrize("events", [["*"], ["*", "*"], ["payment.failed", "*"], ["*", "payout.failed"]], ids=repr)
async def test_an_asterisk_is_every_event_and_swallows_the_rest(desk: Desk, events: list[str]) -> None:
    endpoint, other = await desk.register(URL, *events), await desk.register(URL, "payment.failed")
    assert endpoint["events"] == ["*"]
    changed = await desk("PATCH", f"/{other['id']}", {"events": events})
    assert (changed.status, changed.body["endpoint"]["events"]) == (200, ["*"])
    back = await desk("PATCH", f"/{other['id']}", {"events": ["payout.failed"]})
    assert back.body["endpoint"]["events"] == ["payout.failed"]


@pytest.mark.parametrize("body", [{}, {"url": None, "events": None}, {"url": 5, "events": "payment.failed"}])
async def test_every_bad_field_is_named_at_once(desk: Desk, body: dict[str, Any]) -> None:
    answer = await desk("POST", "", body)

    assert is_refused(answer, 400, "validation_failed", "url", "events")
    assert all(len(sentences) == 1 for sentences in answer.body["details"].values())
    assert (await desk("GET")).body["endpoints"] == []


EVENTS_THAT_ARE_NONE: list[Any] = [
    [], "payment.failed", {}, {"payment.failed": True}, 0, True, [None], [1], [["payment.failed"]], ["payment"], ["*", "payment.refunded"],
    ["payment.*"], ["Payment.Failed"], ["payment.failed "], ["payment.failed", "payment.refunded"], ["webhook.test"],
    ["payout.pending"], [""],
]  # fmt: skip


@pytest.mark.parametrize("events", EVENTS_THAT_ARE_NONE, ids=repr)
async def test_events_that_are_none_are_refused(here: Regular, events: Any) -> None:
    for answer in await here.refusals({"events": events}):
        assert is_refused(answer, 400, "events_invalid", "events")
        assert all(event in answer.body["details"]["events"][0] for event in Event)


# What can be no endpoint, and the code of the one sentence that says why.
BAD_URLS: list[tuple[Any, str]] = [
    ("", "field_required"),
    (5, "field_invalid"),
    (True, "field_invalid"),
    ([URL], "field_invalid"),
    ({"url": URL}, "field_invalid"),
    ("https://41.59.1.20/" + "x" * 2000, "text_too_long"),
    ("https://41.59.1.20/\x01", "text_invalid"),
    ("https://41.59.1.20/\0", "text_invalid"),
    ("https://41.59.1.20/a b", "url_invalid"),
    (" https://41.59.1.20/", "url_invalid"),
    ("https://41.59.1.20/\n", "url_invalid"),
    ("https://41.59.1.20/ü", "url_invalid"),
    ("https://41.59.1.20\\@example.com", "url_invalid"),
    ("https://asha:maji@41.59.1.20/", "url_invalid"),
    ("https://asha@41.59.1.20/", "url_invalid"),
    ("https://41.59.1.20/#here", "url_invalid"),
    ("https://41.59.1.20:0/", "url_invalid"),
    ("https://41.59.1.20:99999/", "url_invalid"),
    ("https://", "url_invalid"),
    ("https:///hooks", "url_invalid"),
    ("//41.59.1.20/hooks", "url_invalid"),
    ("41.59.1.20/hooks", "url_invalid"),
    ("ftp://41.59.1.20/", "url_invalid"),
    ("file:///etc/passwd", "url_invalid"),
    ("gopher://41.59.1.20:6379/_FLUSHALL", "url_invalid"),
    ("javascript:alert(1)", "url_invalid"),
]


@pytest.mark.parametrize(("url", "code"), BAD_URLS, ids=[repr(url)[:40] for url, _ in BAD_URLS])
async def test_a_bad_url_is_refused_in_one_sentence_also_where_private_ones_are_not(
    here: Regular, outside: Regular, url: Any, code: str
) -> None:
    for answer in [*await here.refusals({"url": url}), *await outside.refusals({"url": url})]:
        assert is_refused(answer, 400, code, "url"), answer
        assert len(answer.body["details"]["url"]) == 1


PRIVATE = [
    "http://41.59.1.20/", "https://127.0.0.1/", "https://127.1/", "https://2130706433/", "https://0x7f.0.0.1/",
    "https://0/", "https://0.0.0.0/", "https://localhost/", "https://LOCALHOST/", "https://shop.localhost/",
    "https://10.0.0.7/", "https://172.16.0.1:8443/", "https://192.168.1.1/", "https://100.64.0.1/",
    "https://169.254.169.254/latest/meta-data/", "https://metadata.google.internal/", "https://printer.local/",
    "https://intranet/", "https://224.0.0.1/", "https://255.255.255.255/", "https://192.0.2.1/", "https://[::1]/",
    "https://[::]/", "https://[::ffff:127.0.0.1]/", "https://[fe80::1]/", "https://[fd00:ec2::254]/",
    "https://[64:ff9b::7f00:1]/", "https://[2002:7f00:1::]/",
]  # fmt: skip


@pytest.mark.parametrize("url", PRIVATE)
async def test_no_endpoint_leads_into_a_private_network_or_over_plain_http(outside: Regular, url: str) -> None:
    for answer in await outside.refusals({"url": url}):
        assert is_refused(answer, 400, "url_invalid", "url"), answer
        assert len(answer.body["details"]["url"]) == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:3000/hook", "http://localhost:3000/", "https://10.0.0.7/", URL])
async def test_for_local_work_the_operator_can_allow_them(desk: Desk, url: str) -> None:
    assert (await desk.register(url))["url"] == url


async def test_the_operator_can_name_the_ports(postgres: str, template: str) -> None:
    own = await create_database(postgres, template)
    async with market(own, webhook_allow_private="false", webhook_ports="443,8443") as here, door(here) as gate:
        desk = Desk(gate, await here.merchant())
        for good in ("https://41.59.1.20/", "https://41.59.1.20:443/", "https://41.59.1.20:8443/"):
            await desk.register(good)
        for bad in ("https://41.59.1.20:22/", "https://41.59.1.20:80/", "https://41.59.1.20:8080/"):
            answer = await desk("POST", "", {"url": bad, "events": ["payment.failed"]})
            assert is_refused(answer, 400, "url_invalid", "url")
            assert "443, 8443" in answer.body["details"]["url"][0]


async def test_a_merchant_has_at_most_20_endpoints_also_when_all_come_at_once(desk: Desk) -> None:
    neighbour = Desk(desk.gate, await desk.gate.market.merchant())
    assert (await desk("GET")).body["endpoints"] == []

    answers = await asyncio.gather(*(desk("POST", "", NEW) for _ in range(25)))

    assert sorted(answer.status for answer in answers) == [201] * 20 + [409] * 5
    assert all(is_refused(answer, 409, "too_many_webhooks") for answer in answers if answer.status == 409)
    assert await neighbour.register(URL)
    listed = (await desk("GET")).body["endpoints"]
    assert len(listed) == 20
    await desk("DELETE", f"/{listed[7]['id']}")
    assert [(await desk("POST", "", NEW)).status for _ in range(2)] == [201, 409]


# Reading, changing, deleting


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
    theirs = Desk(desk.gate, await desk.gate.market.merchant())
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

    async with desk.gate.market.database.read() as connection:
        deeds = await trail.find(connection, merchant_id=desk.merchant.id, limit=5)
    assert [deed.what for deed in reversed(deeds)] == [
        "webhook.registered",
        "webhook.changed",
        "webhook.rotation_begun",
        "webhook.rotation_finished",
        "webhook.deleted",
    ]
    assert {(deed.who, deed.origin) for deed in deeds} == {(f"{desk.merchant.id}@example.com", "127.0.0.1")}
    assert {deed.details["endpoint"] for deed in deeds} == {endpoint["id"]}


# Secrets


def verifies(got: Got, secret: str) -> bool:
    try:
        Webhook(secret).verify(got.body, dict(got.headers))
    except WebhookVerificationError:
        return False
    return True


async def test_a_new_secret_signs_beside_the_old_one_until_it_is_finished(desk: Desk, shop: Receiver) -> None:
    old = await desk.register(shop.url("/"))
    at, shown = f"/{old['id']}", await desk.shown(old["id"])
    began = clock.now()

    rotated = await desk("POST", f"{at}/rotate-secret")
    new = rotated.body["endpoint"]["secret"]

    assert rotated.status == 200
    assert set(rotated.body) == {"success", "endpoint", "message"}
    assert SECRET.fullmatch(new)
    assert new != old["secret"]
    changing = shown | {"rotationEndsAt": rotated.body["endpoint"]["rotationEndsAt"]}
    assert rotated.body["endpoint"] == changing | {"secret": new}
    ends_at = moment(changing["rotationEndsAt"])
    assert began + timedelta(hours=23, minutes=59) <= ends_at <= clock.now() + timedelta(hours=24)
    assert await desk.shown(old["id"]) == changing
    assert is_refused(await desk("POST", f"{at}/rotate-secret"), 409, "rotation_under_way")

    async with desk.gate.market.a_worker():
        await desk("POST", f"{at}/test")
        finished = await desk("POST", f"{at}/rotate-secret/finish")
        await desk("POST", f"{at}/test")

    both, only_new = shop.got
    assert (finished.status, set(finished.body)) == (200, {"success", "endpoint", "message"})
    assert finished.body["endpoint"] == shown
    assert is_refused(await desk("POST", f"{at}/rotate-secret/finish"), 409, "no_rotation")
    assert (verifies(both, old["secret"]), verifies(both, new)) == (True, True)
    assert (verifies(only_new, old["secret"]), verifies(only_new, new)) == (False, True)


async def test_what_was_never_begun_is_not_finished(desk: Desk) -> None:
    endpoint = await desk.register(URL)

    assert is_refused(await desk("POST", f"/{endpoint['id']}/rotate-secret/finish"), 409, "no_rotation")


async def test_a_change_of_the_secret_ends_by_itself_after_24_hours(
    postgres: str, template: str, shop: Receiver
) -> None:
    hand = Hand()
    own = await create_database(postgres, template)
    async with market(own, clock=hand) as here, door(here) as gate, here.a_worker():
        desk = Desk(gate, await here.merchant())
        endpoint = await desk.register(shop.url("/"))
        at, shown = f"/{endpoint['id']}", await desk.shown(endpoint["id"])
        new = (await desk("POST", f"{at}/rotate-secret")).body["endpoint"]["secret"]
        hand.move(timedelta(hours=23, minutes=59))
        assert (await desk("POST", f"{at}/rotate-secret")).status == 409
        await desk("POST", f"{at}/test")

        hand.move(timedelta(minutes=1))

        await desk("POST", f"{at}/test")
        assert await desk.shown(endpoint["id"]) == shown
        assert (await desk("POST", f"{at}/rotate-secret/finish")).status == 200, "it has ended already, as was asked"
        assert (await desk("POST", f"{at}/rotate-secret")).status == 200
    assert [_signatures(got) for got in shop.got] == [
        [_signature(got.body, secret) for secret in secrets]
        for got, secrets in zip(shop.got, ([endpoint["secret"], new], [new]), strict=True)
    ]


def _signatures(got: Got) -> list[str]:
    names = ("x-service-signature", "x-service-signature-next")
    return [got.headers[name] for name in names if name in got.headers]


def _signature(body: bytes, secret: str) -> str:
    return hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


async def test_an_endpoint_that_answers_410_is_switched_off_and_says_why(desk: Desk, shop: Receiver) -> None:
    endpoint = await desk.register(shop.behave("/", says(410)))
    at, on = f"/{endpoint['id']}", await desk.shown(endpoint["id"])

    async with desk.gate.market.a_worker():
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

    async with desk.gate.market.a_worker():
        await desk("POST", f"/{endpoint['id']}/test")
        first = await desk.shown(endpoint["id"])
        await desk("POST", f"/{endpoint['id']}/test")
        second = await desk.shown(endpoint["id"])
        shop.behave("/", says(200))
        await desk("POST", f"/{endpoint['id']}/test")
        third = await desk.shown(endpoint["id"])

    assert set(first) == SHOWN | {"failingSince"}
    assert before <= moment(first["failingSince"]) <= clock.now()
    assert second == first
    assert set(third) == SHOWN
