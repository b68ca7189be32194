"""/v1/links, over HTTP."""

from datetime import timedelta
from typing import Any

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.links.press_request import Press
from malipo.networks.connector import Channel
from malipo.payments.transaction import Status
from malipo.worker.link_counter import count_links
from tests.api.conftest import bring, shown
from tests.conftest import Answer, Client, Merchant, make_merchant

PATH = "/v1/links"
ASHA = "+255754000100"


async def made(api: Client, **fields: Any) -> dict[str, Any]:
    answer = await api("POST", PATH, {"amount": 25_000, "description": "Order 1042"} | fields)
    assert answer.status == 201, answer
    link: dict[str, Any] = answer.body["link"]
    return link


async def press(service: Service, link: dict[str, Any]) -> str:
    code = link["url"].rpartition("/")[2]
    pressed = await service.links.press(Press(code=code, phone=ASHA, channel=Channel.MPESA))
    return pressed.transaction.id


def wrong_fields(answer: Answer) -> dict[str, list[str]]:
    assert answer.status == 400, answer
    details: dict[str, list[str]] = answer.body["details"]
    return details


async def test_a_link_is_made_read_listed_and_cancelled(api: Client) -> None:
    answer = await api("POST", PATH, {"amount": 25_000, "description": "Order 1042", "orderReference": "ORD-1042"})

    assert answer.status == 201
    link = answer.body["link"]
    assert answer.body == {"success": True, "link": link}
    head, _, code = link["url"].rpartition("/")
    assert head.endswith("/pay")
    assert (len(code), code in link["id"]) == (16, False)
    assert link == {
        "id": link["id"],
        "url": link["url"],
        "status": "ACTIVE",
        "amount": 25_000,
        "description": "Order 1042",
        "orderReference": "ORD-1042",
        "reusable": False,
        "createdAt": link["createdAt"],
    }
    now = link | {"paidCount": 0, "paidAmount": 0}
    assert (await api("GET", f"{PATH}/{link['id']}")).body == {"success": True, "link": now}
    listed = (await api("GET", PATH)).body
    assert listed["links"] == [now]
    assert listed["pagination"] == {"total": 1, "page": 1, "limit": 20, "pages": 1}

    cancelled = (await api("POST", f"{PATH}/{link['id']}/cancel")).body["link"]

    assert cancelled == now | {"status": "CANCELLED", "cancelledAt": cancelled["cancelledAt"]}
    assert (await api("POST", f"{PATH}/{link['id']}/cancel")).body["link"] == cancelled


async def test_only_what_was_used_is_shown(api: Client) -> None:
    expires_at = clock.iso(clock.now() + timedelta(days=3))
    link = await made(
        api,
        amount=None,
        minAmount=1000,
        maxAmount=90_000,
        reusable=True,
        maxPayments=12,
        expiresAt=expires_at,
        returnUrl="https://duka.example/done",
    )
    assert list(link) == [
        "id",
        "url",
        "status",
        "minAmount",
        "maxAmount",
        "description",
        "reusable",
        "maxPayments",
        "expiresAt",
        "returnUrl",
        "createdAt",
    ]
    assert link["expiresAt"] == expires_at


async def test_every_bad_field_is_named_at_once(api: Client) -> None:
    details = wrong_fields(
        await api(
            "POST",
            PATH,
            {
                "amount": 499,
                "minAmount": 1000,
                "description": "",
                "orderReference": "",
                "maxPayments": 0,
                "expiresAt": "2020-01-01",
                "returnUrl": "http://duka.example",
                "maxPayment": 3,
                "currency": "USD",
            },
        )
    )
    assert set(details) == {
        "amount",
        "minAmount",
        "description",
        "orderReference",
        "maxPayments",
        "expiresAt",
        "returnUrl",
        "maxPayment",
        "currency",
    }


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"description": None}, "field_required"),
        ({"description": "x" * 256}, "text_too_long"),
        ({"description": "two\nlines"}, "text_invalid"),
        ({"amount": 500.5}, "amount_invalid"),
        ({"amount": 10**9}, "amount_too_large"),
        ({"amount": None, "minAmount": 2000, "maxAmount": 1000}, "range_invalid"),
        ({"maxAmount": 30_000}, "amount_is_fixed"),
        ({"reusable": "yes"}, "field_invalid"),
        ({"maxPayments": 3}, "max_payments_invalid"),
        ({"reusable": True, "maxPayments": 1.5}, "max_payments_invalid"),
        ({"reusable": True, "maxPayments": True}, "max_payments_invalid"),
        ({"expiresAt": "tomorrow"}, "date_invalid"),
        ({"expiresAt": "2020-01-01T00:00:00Z"}, "date_past"),
        ({"returnUrl": "https://"}, "return_url_invalid"),
        ({"returnUrl": "https://asha:pw@duka.example"}, "return_url_invalid"),
        ({"returnUrl": "javascript:alert(1)"}, "return_url_invalid"),
        ({"returnUrl": "https://duka.example/a b"}, "return_url_invalid"),
        ({"returnUrl": "https://duka.example:port"}, "return_url_invalid"),
    ],
)
async def test_one_bad_field_has_a_code_of_its_own(api: Client, fields: dict[str, Any], code: str) -> None:
    answer = await api("POST", PATH, {"amount": 25_000, "description": "Order 1042"} | fields)
    assert (answer.status, answer.code) == (400, code)


async def test_a_repeated_request_gets_the_same_link_and_another_one_is_refused(api: Client) -> None:
    body = {"amount": 25_000, "description": "Order 1042"}
    first = await api("POST", PATH, body, headers={"Idempotency-Key": "link-1"})
    second = await api("POST", PATH, body, headers={"Idempotency-Key": "link-1"})
    other = await api("POST", PATH, body | {"amount": 26_000}, headers={"Idempotency-Key": "link-1"})

    assert (second.status, second.body) == (201, first.body)
    assert second.headers["Idempotency-Replayed"] == "true"
    assert second.headers["Idempotency-Replayed-Status"] == "ACTIVE"
    assert "Idempotency-Replayed" not in first.headers
    assert (other.status, other.code) == (409, "idempotency_key_reused")
    assert (await api("GET", PATH)).body["pagination"]["total"] == 1


async def test_links_are_listed_by_status_newest_first(
    api: Client, service: Service, merchant: Merchant, database: Database
) -> None:
    active, paid, expired, cancelled = [await made(api) for _ in range(4)]
    await bring(service, merchant, await press(service, paid), Status.COMPLETED)
    async with database.begin() as tx:
        await tx.execute("UPDATE links SET expires_at = now() WHERE id = $1", expired["id"])
    await api("POST", f"{PATH}/{cancelled['id']}/cancel")

    for status, link in (("ACTIVE", active), ("PAID", paid), ("EXPIRED", expired), ("CANCELLED", cancelled)):
        body = (await api("GET", f"{PATH}?status={status}")).body
        assert [(each["id"], each["status"]) for each in body["links"]] == [(link["id"], status)]
        assert body["pagination"]["total"] == 1
    everything = [each["id"] for each in (cancelled, expired, paid, active)]
    assert [each["id"] for each in (await api("GET", PATH)).body["links"]] == everything
    second = (await api("GET", f"{PATH}?limit=3&page=2")).body
    assert ([each["id"] for each in second["links"]], second["pagination"]["pages"]) == (everything[3:], 2)
    assert (await api("GET", f"{PATH}?status=OPEN")).code == "status_invalid"


async def test_a_payment_by_a_link_has_the_link_and_others_do_not(
    api: Client, service: Service, merchant: Merchant
) -> None:
    link = await made(api)
    payment_id = await press(service, link)
    await bring(service, merchant, payment_id, Status.COMPLETED)
    await count_links(service.queries.database, service.clock)

    assert (await shown(api, payment_id))["link"] == link["id"]
    seen = (await api("GET", f"{PATH}/{link['id']}")).body["link"]
    assert (seen["status"], seen["paidCount"], seen["paidAmount"]) == ("PAID", 1, 25_000)
    assert "latePayments" not in seen
    full = (await api("GET", "/v1/payments?view=full")).body["transactions"]
    assert [each["link"] for each in full] == [link["id"]]


async def test_payments_are_listed_by_their_link(api: Client, service: Service, merchant: Merchant) -> None:
    link, other = await made(api, reusable=True), await made(api)
    failed = await press(service, link)
    await bring(service, merchant, failed, Status.FAILED)
    paid = await press(service, link)
    await bring(service, merchant, paid, Status.COMPLETED)
    await press(service, other)
    await api("POST", "/v1/payments/collect", {"amount": 1000, "channel": "MPESA", "buyerPhone": ASHA})

    async def listed(query: str) -> tuple[list[str], int]:
        answer = await api("GET", f"/v1/payments?{query}")
        assert answer.status == 200, answer
        return [each["id"] for each in answer.body["transactions"]], answer.body["pagination"]["total"]

    assert await listed(f"link={link['id']}") == ([paid, failed], 2)
    assert await listed(f"link={link['id']}&status=COMPLETED") == ([paid], 1)
    assert await listed(f"link={link['id']}&limit=1&page=2") == ([failed], 2)
    assert await listed(f"link={link['id']}&limit=1&before={paid}") == ([failed], 2)
    assert await listed("link=lnk_01m7f70q2c5x8n1t4w6y9a3b7d") == ([], 0)
    for wrong in ("", "lnk_1", link["url"].rpartition("/")[2]):
        answer = await api("GET", f"/v1/payments?link={wrong}")
        assert (answer.status, answer.code) == (400, "link_id_invalid")
    stranger = api.as_((await make_merchant(service.queries.database, name="Soko")).key)
    assert (await stranger("GET", f"/v1/payments?link={link['id']}")).body["transactions"] == []


async def test_late_money_is_on_the_link(api: Client, service: Service, merchant: Merchant) -> None:
    link = await made(api)
    payment_id = await press(service, link)
    await api("POST", f"{PATH}/{link['id']}/cancel")
    await bring(service, merchant, payment_id, Status.COMPLETED)
    await count_links(service.queries.database, service.clock)

    seen = (await api("GET", f"{PATH}/{link['id']}")).body["link"]

    assert (seen["status"], seen["paidCount"]) == ("CANCELLED", 0)
    paid_at = (await shown(api, payment_id))["completedAt"]
    assert seen["latePayments"] == [{"id": payment_id, "reason": "cancelled", "amount": 25_000, "paidAt": paid_at}]
    [listed] = (await api("GET", PATH)).body["links"]
    assert listed == seen


async def test_a_paid_link_cannot_be_cancelled(api: Client, service: Service, merchant: Merchant) -> None:
    link = await made(api)
    await bring(service, merchant, await press(service, link), Status.COMPLETED)

    answer = await api("POST", f"{PATH}/{link['id']}/cancel")

    assert (answer.status, answer.code) == (409, "link_not_cancellable")


@pytest.mark.parametrize(("method", "path"), [("GET", ""), ("POST", "/cancel")])
async def test_another_merchants_link_is_not_there(api: Client, database: Database, method: str, path: str) -> None:
    link = await made(api)
    stranger = api.as_((await make_merchant(database, name="Soko")).key)

    for id_ in (link["id"], "lnk_nothing", "lnk_%00"):
        answer = await stranger(method, f"{PATH}/{id_}{path}")
        assert (answer.status, answer.code) == (404, "link_not_found")
    assert (await stranger("GET", PATH)).body["links"] == []
