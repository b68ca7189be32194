"""POST /v1/payments/:id/refund: the answer is that of a payout, and the collection shows what was given back."""

from typing import Any

import pytest

from malipo.app.assemble import Service
from malipo.merchants.api_keys import Permission
from malipo.payments.transaction import Status
from malipo.webhooks.fan_out import fan_out
from tests.api.conftest import bring, created, shown, wallet
from tests.api.response_fields import CREATED, RETRIEVED
from tests.conftest import COLLECTION, PAYOUT, Answer, Client, Merchant, make_merchant

KEY = {"Idempotency-Key": "return-1042"}


@pytest.fixture
async def collection(api: Client, service: Service, merchant: Merchant) -> dict[str, Any]:
    """TZS 25,000 that a customer has paid; the wallet holds 1,025,000."""
    made = await created(api, COLLECTION | {"amount": 25_000})
    await bring(service, merchant, made["id"], Status.COMPLETED)
    return made


async def refund(api: Client, name: str, body: Any = None, *, headers: dict[str, str] | None = None) -> Answer:
    return await api("POST", f"/v1/payments/{name}/refund", body, headers=headers)


@pytest.mark.parametrize("name", ["id", "reference"])
async def test_a_refund_is_a_payout_to_who_paid(api: Client, collection: dict[str, Any], name: str) -> None:
    answer = await refund(api, collection[name], {"amount": 10_000, "reason": "Returned"}, headers=KEY)

    assert answer.status == 201
    made = answer.body["transaction"]
    assert set(made) == CREATED["DISBURSEMENT"] | {"refundOf"}
    assert made["refundOf"] == collection["id"]
    assert (made["amount"], made["status"], made["type"]) == (10_000, "PENDING", "DISBURSEMENT")
    assert (made["channel"], made["recipientPhone"]) == (collection["channel"], collection["buyerPhone"])
    assert (made["recipientName"], made["description"]) == (collection["buyerName"], "Returned")
    assert await wallet(api) == (1_015_000, 10_000)
    assert set(await shown(api, made["id"])) == RETRIEVED["DISBURSEMENT"] | {"refundOf"}


@pytest.mark.parametrize("body", [None, {}, {"amount": None}])
async def test_without_an_amount_all_that_is_left_is_refunded(
    api: Client, service: Service, merchant: Merchant, collection: dict[str, Any], body: Any
) -> None:
    first = (await refund(api, collection["id"], {"amount": 10_000})).body["transaction"]
    await bring(service, merchant, first["id"], Status.COMPLETED)
    rest = (await refund(api, collection["id"], body)).body["transaction"]
    assert rest["amount"] == 15_000


async def test_the_collection_shows_its_refunds_once_there_is_one(
    api: Client, service: Service, merchant: Merchant, collection: dict[str, Any]
) -> None:
    before = await shown(api, collection["id"])
    made = (await refund(api, collection["id"], {"amount": 10_000, "orderReference": "R-1"})).body["transaction"]
    assert made["orderReference"] == "R-1"
    pending = await shown(api, collection["id"])
    await bring(service, merchant, made["id"], Status.COMPLETED)
    after = await shown(api, collection["id"])

    assert "refunds" not in before
    assert pending == before | {"refundedAmount": 0, "refunds": [made["id"]]}
    assert after == before | {"refundedAmount": 10_000, "refunds": [made["id"]]}
    [full] = [
        each
        for each in (await api("GET", "/v1/payments?view=full")).body["transactions"]
        if each["id"] == collection["id"]
    ]
    assert full == {name: value for name, value in after.items() if name != "statusLogs"}
    lines = {each["id"]: each for each in (await api("GET", "/v1/payments")).body["transactions"]}
    assert lines[made["id"]]["refundOf"] == collection["id"]
    assert "refunds" not in lines[collection["id"]], "the list keeps to its fields"


async def test_the_feed_has_the_refund_and_its_collection(
    api: Client, service: Service, merchant: Merchant, collection: dict[str, Any]
) -> None:
    made = (await refund(api, collection["id"])).body["transaction"]
    await bring(service, merchant, made["id"], Status.COMPLETED)
    after = await shown(api, collection["id"])
    async with service.queries.database.begin() as tx:
        await fan_out(tx, most=500, claim_id="clm_1", lease_seconds=60, may_claim=lambda _: False, now=service.clock())

    reported = (await api("GET", "/v1/events")).body["events"][-2:]

    assert {each["event"] for each in reported} == {"payout.completed", "payment.refunded"}
    [refunded] = [each["transaction"] for each in reported if each["event"] == "payment.refunded"]
    assert refunded == {name: value for name, value in after.items() if name != "statusLogs"}
    [paid] = [each["transaction"] for each in reported if each["event"] == "payout.completed"]
    assert paid["refundOf"] == collection["id"]


async def test_a_key_that_is_sent_again_is_the_same_refund(api: Client, collection: dict[str, Any]) -> None:
    first = await refund(api, collection["id"], {"reason": "Returned"}, headers=KEY)
    again = await refund(api, collection["reference"], {"reason": "Returned"}, headers=KEY)
    other = await refund(api, collection["id"], {"amount": 500, "reason": "Returned"}, headers=KEY)

    assert (again.status, again.body) == (201, first.body)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert (other.status, other.code) == (409, "idempotency_key_reused")
    assert await wallet(api) == (1_000_000, 25_000)


@pytest.mark.parametrize(
    ("body", "status", "code", "fields"),
    [
        ({"amount": 499}, 400, "amount_too_small", {"amount"}),
        ({"amount": 25_001}, 400, "amount_too_large", {"amount"}),
        ({"amount": 24_501}, 400, "refund_leaves_too_little", {"amount"}),
        ({"amount": "500"}, 400, "amount_invalid", {"amount"}),
        ({"amount": True}, 400, "amount_invalid", {"amount"}),
        ({"amount": 500.0}, 400, "amount_invalid", {"amount"}),
        ({"currency": "USD"}, 400, "currency_invalid", {"currency"}),
        ({"orderReference": ""}, 400, "order_reference_invalid", {"orderReference"}),
        ({"amout": 500}, 400, "field_unknown", {"amout"}),
        ({"amount": 500, "Reason": "Returned"}, 400, "field_unknown", {"Reason"}),
        ({"amount": 1, "amout": 500}, 400, "validation_failed", {"amount", "amout"}),
        ({"amount": 10**30}, 400, "amount_too_large", {"amount"}),
        (
            {"reason": 7, "amount": 1, "orderReference": 5},
            400,
            "validation_failed",
            {"reason", "amount", "orderReference"},
        ),
        ([], 400, "json_invalid", None),
    ],
)
async def test_what_is_wrong_is_said_all_at_once_and_nothing_changes(
    api: Client, collection: dict[str, Any], body: Any, status: int, code: str, fields: set[str] | None
) -> None:
    answer = await refund(api, collection["id"], body)
    assert (answer.status, answer.code) == (status, code)
    assert (set(answer.body["details"]) if fields else None) == fields
    assert "refunds" not in await shown(api, collection["id"])
    assert await wallet(api) == (1_025_000, 0)


async def test_too_large_an_amount_is_told_what_is_left_whatever_was_collected(
    api: Client, service: Service, merchant: Merchant, collection: dict[str, Any]
) -> None:
    first = (await refund(api, collection["id"], {"amount": 10_000})).body["transaction"]
    await bring(service, merchant, first["id"], Status.COMPLETED)

    for amount in (15_001, 25_000, 25_001, 90_000):
        answer = await refund(api, collection["id"], {"amount": amount})
        message = "amount must be at most 15000: that is what is left of this payment."
        assert (answer.code, answer.body["details"]) == ("amount_too_large", {"amount": [message]})


async def test_a_refund_that_was_made_is_answered_again_whatever_else_is_sent_with_it(
    api: Client, collection: dict[str, Any]
) -> None:
    """As of any key that was used: programs from before the stricter rule repeat what they sent then."""
    made = await refund(api, collection["id"], {}, headers=KEY)
    again = await refund(api, collection["id"], {"amount": None, "amout": 500}, headers=KEY)
    assert (again.status, again.body) == (201, made.body)


async def test_what_contradicts_what_happened_is_a_conflict(
    api: Client, service: Service, merchant: Merchant, collection: dict[str, Any]
) -> None:
    unpaid, payout = await created(api, COLLECTION), await created(api, PAYOUT)
    for each in (unpaid, payout):
        answer = await refund(api, each["id"])
        assert (answer.status, answer.code) == (409, "not_refundable")
    made = (await refund(api, collection["id"])).body["transaction"]
    answer = await refund(api, collection["id"])
    assert (answer.status, answer.code) == (409, "refund_in_progress")
    assert made["id"] in answer.body["error"]
    await bring(service, merchant, made["id"], Status.COMPLETED)
    answer = await refund(api, collection["id"])
    assert (answer.status, answer.code) == (409, "already_refunded")


async def test_a_pending_refund_is_cancelled_like_any_payout(api: Client, collection: dict[str, Any]) -> None:
    made = (await refund(api, collection["id"])).body["transaction"]
    cancelled = await api("POST", f"/v1/payments/{made['id']}/cancel")
    assert (cancelled.status, cancelled.body["transaction"]["refundOf"]) == (200, collection["id"])
    assert await wallet(api) == (1_025_000, 0)
    assert (await refund(api, collection["id"])).status == 201


async def test_another_merchants_payment_is_none(api: Client, service: Service, collection: dict[str, Any]) -> None:
    other = await make_merchant(service.queries.database, wallet=100_000)
    for name in (collection["id"], collection["reference"], "txn_unknown", "a b"):
        answer = await refund(api.as_(other.key), name)
        assert (answer.status, answer.code) == (404, "transaction_not_found")


async def test_a_key_that_may_only_read_refunds_nothing(
    api: Client, service: Service, collection: dict[str, Any]
) -> None:
    reader = await make_merchant(service.queries.database, permissions=(Permission.PAYMENTS_READ,))
    answer = await refund(api.as_(reader.key), collection["id"])
    assert (answer.status, answer.code) == (403, "permission_missing")
