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


async def test_a_key_is_changed_and_null_takes_a_limit_away(desk: Desk) -> None:
    limits = {"payoutLimit": 5000, "dailyPayoutLimit": 9000}
    key = (await desk.gate(desk.merchant, "POST", "/merchant/api-keys", NEW | limits)).body["apiKey"]
    path = f"/merchant/api-keys/{key['id']}"

    changes = {"name": "Till 2", "permissions": ["payments.disburse"], "payoutLimit": None, "dailyPayoutLimit": 8000}
    changed = await desk.gate(desk.merchant, "PATCH", path, changes)

    assert changed.status == 200, changed.body
    shown = changed.body["apiKey"]
    assert (shown["name"], shown["permissions"]) == ("Till 2", ["payments.disburse"])
    assert ("payoutLimit" in shown, shown["dailyPayoutLimit"]) == (False, 8000)
    assert "key" not in shown
    listed = (await desk.gate(desk.merchant, "GET", "/merchant/api-keys")).body["apiKeys"]
    assert [each for each in listed if each["id"] == key["id"]] == [shown]
    untouched = await desk.gate(desk.merchant, "PATCH", path, {"name": None, "permissions": None})
    assert untouched.body["apiKey"] == shown


async def test_a_change_with_mistakes_changes_nothing_and_names_each(desk: Desk) -> None:
    key = (await desk.gate(desk.merchant, "POST", "/merchant/api-keys", NEW | {"payoutLimit": 5000})).body["apiKey"]
    path = f"/merchant/api-keys/{key['id']}"
    bad = {"name": " ", "permissions": [], "payoutLimit": "5000", "dailyPayoutLimit": 499}

    answer = await desk.gate(desk.merchant, "PATCH", path, bad)

    assert is_refused(answer, 400, "validation_failed", *bad)
    grown = await desk.gate(desk.merchant, "PATCH", path, {"name": "Till 2", "permissions": ["wallet.read"]})
    assert is_refused(grown, 400, "permissions_grow", "permissions")
    crossed = await desk.gate(desk.merchant, "PATCH", path, {"name": "Till 2", "dailyPayoutLimit": 4000})
    assert is_refused(crossed, 400, "amount_too_small", "dailyPayoutLimit")
    listed = (await desk.gate(desk.merchant, "GET", "/merchant/api-keys")).body["apiKeys"]
    assert [each["name"] for each in listed if each["id"] == key["id"]] == ["Till"]
    assert (await desk.gate(desk.merchant, "DELETE", path)).status == 200
    assert is_refused(await desk.gate(desk.merchant, "PATCH", path, {"name": "Till 2"}), 404, "api_key_not_found")
