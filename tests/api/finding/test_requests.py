"""Optional fields of requests: the currency, a phone that suggests its channel, and when an Idempotency-Key is
required."""

from typing import Any

import pytest

from malipo import clock
from malipo.db import Database
from malipo.merchants import payment_settings
from malipo.networks.channel_names_and_prefixes import PROFILES
from tests.api.conftest import total
from tests.conftest import COLLECTION, NOBODY, PAYOUT, Client, Merchant

QUOTE = {"type": "COLLECTION", "amount": 1000, "channel": "MPESA"}
MONEY = pytest.mark.parametrize(("route", "body"), [("/v1/payments", COLLECTION), ("/v1/payments/disburse", PAYOUT)])


@pytest.mark.parametrize(
    ("route", "body"), [("/v1/payments", COLLECTION), ("/v1/payments/disburse", PAYOUT), ("/v1/payments/quote", QUOTE)]
)
@pytest.mark.parametrize("currency", ["USD", "tzs", "", "TZS ", 834, ["TZS"], False])
async def test_shillings_are_the_only_currency(api: Client, route: str, body: dict[str, Any], currency: object) -> None:
    answer = await api("POST", route, body | {"currency": currency})

    assert (answer.status, answer.code) == (400, "currency_invalid")
    assert await total(api) == 0
    assert (await api("POST", route, body | {"currency": "TZS"})).status in (200, 201)


@MONEY
async def test_a_named_currency_is_the_same_request(api: Client, route: str, body: dict[str, Any]) -> None:
    key = {"Idempotency-Key": "order-7"}
    first = await api("POST", route, body, headers=key)
    again = await api("POST", route, body | {"currency": "TZS"}, headers=key)

    assert (again.status, again.body) == (201, first.body)
    assert again.headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("channel", list(PROFILES))
@pytest.mark.parametrize("plus", ["%2B", "+"], ids=["encoded", "as a space"])
async def test_the_channel_of_a_prefix_is_suggested(api: Client, channel: str, plus: str) -> None:
    for prefix in PROFILES[channel].prefixes:  # type: ignore[index]
        answer = await api("GET", f"/v1/channels?phone={plus}{prefix[1:]}4000100")
        assert [each["channel"] for each in answer.body["channels"] if each.get("suggested")] == [channel]


async def test_without_a_phone_or_with_an_unknown_prefix_nothing_is_suggested(api: Client) -> None:
    for query in ("", "?phone=%2B255600000000"):
        answer = await api("GET", f"/v1/channels{query}")
        assert answer.status == 200
        assert all("suggested" not in each for each in answer.body["channels"])


@pytest.mark.parametrize("phone", ["", "0754000100", "255754000100", "%2B254754000100", "x"])
async def test_what_is_no_phone_is_refused(api: Client, phone: str) -> None:
    answer = await api("GET", f"/v1/channels?phone={phone}")

    assert (answer.status, answer.code) == (400, "phone_invalid")


async def decide(database: Database, merchant: Merchant, *, is_required: bool) -> None:
    async with database.begin() as tx:
        await payment_settings.require_idempotency_key(
            tx, merchant.id, is_required=is_required, actor=NOBODY, now=clock.now()
        )


@MONEY
async def test_a_merchant_can_make_the_key_mandatory_and_optional_again(
    api: Client, database: Database, merchant: Merchant, stranger: Merchant, route: str, body: dict[str, Any]
) -> None:
    await decide(database, merchant, is_required=True)

    refused = await api("POST", route, body)
    assert (refused.status, refused.code) == (400, "idempotency_key_required")
    assert list(refused.body["details"]) == ["Idempotency-Key"]
    assert await total(api) == 0
    assert (await api("POST", route, body, headers={"Idempotency-Key": "order-7"})).status == 201
    assert (await api.as_(stranger.key)("POST", route, body)).status == 201, "others have not decided so"
    assert (await api("POST", "/v1/payments/quote", QUOTE)).status == 200, "no money moves"

    await decide(database, merchant, is_required=False)
    assert (await api("POST", route, body)).status == 201


async def test_a_missing_key_is_named_with_all_that_is_wrong(
    api: Client, database: Database, merchant: Merchant
) -> None:
    await decide(database, merchant, is_required=True)

    answer = await api("POST", "/v1/payments", COLLECTION | {"amount": 1, "currency": "USD"})

    assert (answer.status, answer.code) == (400, "validation_failed")
    assert set(answer.body["details"]) == {"amount", "currency", "Idempotency-Key"}
