"""/merchant: a stolen token cannot do sensitive acts, and a program can confirm that the person is still there."""

from malipo.accounts.reauthentication import SensitiveAct
from malipo.api.routes import ROUTES, TokenRoute
from tests.api.conftest import is_refused
from tests.api.test_login import Door
from tests.api.test_login import door as door
from tests.cheap_hash import PASSWORD

# Which routes are which act, written by hand.
ACTS = {
    ("POST", "/merchant/api-keys"): SensitiveAct.API_KEYS,
    ("PATCH", "/merchant/api-keys/{id}"): SensitiveAct.API_KEYS,
    ("DELETE", "/merchant/api-keys/{id}"): SensitiveAct.API_KEYS,
    ("POST", "/merchant/people"): SensitiveAct.PEOPLE,
    ("PATCH", "/merchant/people/{id}"): SensitiveAct.PEOPLE,
    ("DELETE", "/merchant/people/{id}"): SensitiveAct.PEOPLE,
}
KEY = {"name": "Till", "permissions": ["payments.read"]}


async def later(door: Door, interval: str) -> None:
    async with door.database.begin() as tx:
        await tx.execute(
            f"UPDATE sessions SET confirmed_at = confirmed_at - interval '{interval}' "
            "WHERE person_id IN (SELECT id FROM people WHERE merchant_id = $1)",
            door.merchant.id,
        )


def test_the_acts_are_those_of_the_table() -> None:
    found = [route for route in ROUTES if isinstance(route, TokenRoute) and route.act is not None]
    assert {(route.method, route.path): route.act for route in found} == ACTS


async def test_the_first_hour_of_a_log_in_is_enough(door: Door) -> None:
    await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    await later(door, "59 minutes")
    assert (await door.with_token(token, "POST", "/merchant/api-keys", KEY)).status == 201


async def test_a_stolen_token_does_no_sensitive_act_after_that(door: Door) -> None:
    await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    await later(door, "61 minutes")
    for method, path in ACTS:
        body = KEY if path == "/merchant/api-keys" else {"email": door.own("mwizi@example.com"), "role": "owner"}
        answer = await door.with_token(token, method, path.format(id="per_1"), body if method != "DELETE" else None)
        assert is_refused(answer, 403, "confirmation_required"), (method, path, answer)
    assert (await door.with_token(token, "GET", "/merchant/people")).status == 200


async def test_refreshing_confirms_nothing(door: Door) -> None:
    await door.add("asha@example.com")
    granted = (await door.log_in("asha@example.com")).body
    await later(door, "61 minutes")
    refreshed = await door.client("POST", "/merchant/auth/refresh", {"refreshToken": granted["refreshToken"]})
    assert refreshed.status == 200
    answer = await door.with_token(refreshed.body["token"], "POST", "/merchant/api-keys", KEY)
    assert is_refused(answer, 403, "confirmation_required")


async def test_the_password_confirms_and_a_wrong_one_counts_as_an_attempt(door: Door) -> None:
    await door.add("asha@example.com")
    token = await door.token("asha@example.com")
    await later(door, "30 days")
    wrong = await door.with_token(token, "POST", "/merchant/auth/confirm", {"password": "not this one"})
    assert is_refused(wrong, 400, "password_wrong", "password")
    assert is_refused(await door.with_token(token, "POST", "/merchant/api-keys", KEY), 403, "confirmation_required")
    right = await door.with_token(token, "POST", "/merchant/auth/confirm", {"password": PASSWORD})
    assert right.status == 200, right
    assert (await door.with_token(token, "POST", "/merchant/api-keys", KEY)).status == 201
    for _ in range(5):
        await door.with_token(token, "POST", "/merchant/auth/confirm", {"password": "not this one"})
    locked = await door.with_token(token, "POST", "/merchant/auth/confirm", {"password": PASSWORD})
    assert is_refused(locked, 429, "too_many_attempts")
