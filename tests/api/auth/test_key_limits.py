"""/merchant/api-keys and /v1/payments/disburse: a key's limits are set, shown and kept."""

from malipo.db import Database
from tests.api.auth.routes import make_key
from tests.api.conftest import Desk, is_refused, total
from tests.conftest import PAYOUT, Client, Merchant

NEW = {"name": "Till", "permissions": ["payments.create"]}


async def test_a_payout_above_a_limit_of_the_key_is_403_and_changes_nothing(
    api: Client, database: Database, merchant: Merchant
) -> None:
    key = await make_key(database, merchant, payout_limit=5000, daily_payout_limit=6000)
    till = api.as_(key.text)

    one = await till("POST", "/v1/payments/disburse", PAYOUT | {"amount": 5001})
    assert is_refused(one, 403, "key_payout_limit")
    assert one.body["error"] == "This API key may pay out at most TZS 5,000 at once."
    assert (await till("POST", "/v1/payments/disburse", PAYOUT | {"amount": 5000})).status == 201
    day = await till("POST", "/v1/payments/disburse", PAYOUT | {"amount": 1001})
    assert is_refused(day, 403, "key_daily_limit")
    assert day.body["error"] == "This API key may pay out at most TZS 6,000 a day, of which TZS 1,000 is left today."
    assert await total(api) == 1


async def test_limits_are_optional_and_shown_with_the_key(desk: Desk) -> None:
    limits = {"payoutLimit": 50_000, "dailyPayoutLimit": 500_000}
    made = await desk.gate(desk.merchant, "POST", "/merchant/api-keys", NEW | limits)
    assert made.status == 201, made.body
    assert {name: made.body["apiKey"][name] for name in limits} == limits
    without = await desk.gate(desk.merchant, "POST", "/merchant/api-keys", NEW)
    assert not set(limits) & set(without.body["apiKey"])
    listed = (await desk.gate(desk.merchant, "GET", "/merchant/api-keys")).body["apiKeys"]
    assert [limits.items() <= each.items() for each in listed][-2:] == [True, False]


async def test_every_bad_limit_is_named_at_once(desk: Desk) -> None:
    bad = NEW | {"payoutLimit": "5000", "dailyPayoutLimit": 499}
    answer = await desk.gate(desk.merchant, "POST", "/merchant/api-keys", bad)
    assert is_refused(answer, 400, "validation_failed", "payoutLimit", "dailyPayoutLimit")
    swapped = NEW | {"payoutLimit": 5000, "dailyPayoutLimit": 4000}
    answer = await desk.gate(desk.merchant, "POST", "/merchant/api-keys", swapped)
    assert is_refused(answer, 400, "amount_too_small", "dailyPayoutLimit")
