"""POST /merchant/webhooks: endpoints are registered as specified, and nothing else is."""

import asyncio
import base64
import re
from typing import Any

import pytest

from malipo.outbox.event import Event
from tests.api.conftest import Desk, is_refused
from tests.api.webhooks.endpoints import NEW, REGISTERED, SECRET, URL, Regular
from tests.api.webhooks.endpoints import here as here
from tests.api.webhooks.endpoints import outside as outside
from tests.api.webhooks.endpoints import strict as strict
from tests.conftest import create_database
from tests.journeys.in_process_api import in_process_api
from tests.journeys.webhook_receivers import Receiver
from tests.journeys.webhook_stack import webhook_stack


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
    async with desk.gate.webhook_stack.a_worker():
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
    rows = await desk.gate.webhook_stack.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    tables = [row["tablename"] for row in rows]
    assert {"webhook_endpoints", "audit_log", "webhook_deliveries"} <= set(tables)
    found = [await desk.gate.webhook_stack.rows(f'SELECT each::text AS row FROM "{table}" AS each') for table in tables]
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
    [], "payment.failed", {}, {"payment.failed": True}, 0, True, [None], [1], [["payment.failed"]], ["payment"], ["*", "payment.reversed"],
    ["payment.*"], ["Payment.Failed"], ["payment.failed "], ["payment.failed", "payment.reversed"], ["webhook.test"],
    ["payout.pending"], [""],
]  # fmt: skip


@pytest.mark.parametrize("events", EVENTS_THAT_ARE_NONE, ids=repr)
async def test_events_that_are_none_are_refused(here: Regular, events: Any) -> None:
    for answer in await here.refusals({"events": events}):
        assert is_refused(answer, 400, "events_invalid", "events")
        assert all(event in answer.body["details"]["events"][0] for event in Event)


# What can be no endpoint, and the code of the one sentence that says why: one of each code. Every URL that is refused is
# in `tests/webhooks/test_endpoint_url.py`.
BAD_URLS: list[tuple[Any, str]] = [
    ("", "field_required"),
    (5, "field_invalid"),
    ([URL], "field_invalid"),
    ("https://41.59.1.20/" + "x" * 2000, "text_too_long"),
    ("https://41.59.1.20/\0", "text_invalid"),
    ("https://41.59.1.20/\n", "url_invalid"),
    ("https://asha:maji@41.59.1.20/", "url_invalid"),
]


@pytest.mark.parametrize(("url", "code"), BAD_URLS, ids=[repr(url)[:40] for url, _ in BAD_URLS])
async def test_a_bad_url_is_refused_in_one_sentence_also_where_private_ones_are_not(
    here: Regular, outside: Regular, url: Any, code: str
) -> None:
    for answer in [*await here.refusals({"url": url}), *await outside.refusals({"url": url})]:
        assert is_refused(answer, 400, code, "url"), answer
        assert len(answer.body["details"]["url"]) == 1


@pytest.mark.parametrize(
    "url", ["http://41.59.1.20/", "https://169.254.169.254/latest/meta-data/", "https://intranet/"]
)
async def test_no_endpoint_leads_into_a_private_network_or_over_plain_http(outside: Regular, url: str) -> None:
    for answer in await outside.refusals({"url": url}):
        assert is_refused(answer, 400, "url_invalid", "url"), answer
        assert len(answer.body["details"]["url"]) == 1


@pytest.mark.parametrize("url", ["http://127.0.0.1:3000/hook", "http://localhost:3000/", "https://10.0.0.7/", URL])
async def test_for_local_work_the_operator_can_allow_them(desk: Desk, url: str) -> None:
    assert (await desk.register(url))["url"] == url


async def test_the_operator_can_name_the_ports(postgres: str, template: str) -> None:
    own = await create_database(postgres, template)
    async with (
        webhook_stack(own, webhook_allow_private="false", webhook_ports="443,8443") as here,
        in_process_api(here) as gate,
    ):
        desk = Desk(gate, await here.merchant())
        for good in ("https://41.59.1.20/", "https://41.59.1.20:443/", "https://41.59.1.20:8443/"):
            await desk.register(good)
        for bad in ("https://41.59.1.20:22/", "https://41.59.1.20:80/", "https://41.59.1.20:8080/"):
            answer = await desk("POST", "", {"url": bad, "events": ["payment.failed"]})
            assert is_refused(answer, 400, "url_invalid", "url")
            assert "443, 8443" in answer.body["details"]["url"][0]


async def test_a_merchant_has_at_most_20_endpoints_also_when_all_come_at_once(desk: Desk) -> None:
    neighbour = Desk(desk.gate, await desk.gate.webhook_stack.merchant())
    assert (await desk("GET")).body["endpoints"] == []

    answers = await asyncio.gather(*(desk("POST", "", NEW) for _ in range(25)))

    assert sorted(answer.status for answer in answers) == [201] * 20 + [409] * 5
    assert all(is_refused(answer, 409, "too_many_webhooks") for answer in answers if answer.status == 409)
    assert await neighbour.register(URL)
    listed = (await desk("GET")).body["endpoints"]
    assert len(listed) == 20
    await desk("DELETE", f"/{listed[7]['id']}")
    assert [(await desk("POST", "", NEW)).status for _ in range(2)] == [201, 409]
