"""The permissions of a key, whether its merchant is active, and the order of these checks."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from malipo.api.routes import ROUTES
from malipo.db import Database
from malipo.merchants.api_keys import Permission
from malipo.rate_limit.sliding_window import RateClass
from tests.api.auth.routes import COLLECT, DISBURSE, NEEDS, call, deactivate, make_key
from tests.api.conftest import FLEET_LIMITS, created, is_refused, total
from tests.conftest import COLLECTION, PAYOUT, Client, Merchant, Running, make_merchant


def test_every_route_of_the_service_stands_in_this_file() -> None:
    assert {(route.method, route.path) for route in ROUTES if route.path.startswith("/v1")} <= {
        each[:2] for each in NEEDS
    }, "a new /v1 route needs a line in NEEDS: its permission, its rate class and its status"


# Merchants


async def test_an_inactive_merchant_is_not_let_in(api: Client, database: Database, merchant: Merchant) -> None:
    """That it is so on every route is in the table of `tests/api/test_authorisation.py`; here is what it is told."""
    transaction = await created(api, COLLECTION)
    await deactivate(database, merchant)

    for method, path in (("GET", "/v1/wallet"), ("POST", "/v1/payments"), ("GET", "/v1/payments/{id}")):
        assert is_refused(await call(api, method, path, transaction["id"]), 403, "merchant_inactive")


# Permissions


@dataclass(frozen=True)
class Bunch:
    """A key for each permission that has only that, and keys that have all but those of a route. A merchant has at most
    20 keys, so these are of two."""

    only: Mapping[Permission, str]
    all_but: Mapping[frozenset[Permission], str]
    owner: Client
    other: Client


@pytest.fixture(scope="module")
async def bunch(running: Running, http: aiohttp.ClientSession, database: Database) -> Bunch:
    owner, other = [await make_merchant(database, wallet=1_000_000) for _ in range(2)]
    only = {each: await make_key(database, owner, permissions=(each,)) for each in Permission}
    all_but = {
        needed: await make_key(database, other, permissions=tuple(set(Permission) - needed))
        for needed in {frozenset(each[2]) for each in NEEDS}
    }
    return Bunch(
        {each: key.text for each, key in only.items()},
        {needed: key.text for needed, key in all_but.items()},
        *(Client(http, running.url, each.key) for each in (owner, other)),
    )


@pytest.mark.parametrize(("method", "path", "needed", "rate_class", "status"), NEEDS)
async def test_each_route_opens_to_its_permissions_and_to_no_other(
    bunch: Bunch, method: str, path: str, needed: set[Permission], rate_class: RateClass, status: int
) -> None:
    wrong = []
    for owner, key, permissions in [
        *((bunch.owner, text, {permission}) for permission, text in bunch.only.items()),
        (bunch.other, bunch.all_but[frozenset(needed)], set(Permission) - needed),
    ]:
        id_ = (await created(owner, PAYOUT if "{payout}" in path else COLLECTION))["id"] if "{" in path else ""
        answer = await call(owner.as_(key), method, path, id_)

        if permissions & needed:
            is_right = answer.status == status
        else:
            names = all(each in str(answer.body) for each in needed)
            is_right = is_refused(answer, 403, "permission_missing") and names
        if not is_right:
            wrong.append((permissions, answer))
    assert wrong == []


async def test_a_key_that_takes_and_pays_does_what_one_that_creates_does(
    api: Client, database: Database, merchant: Merchant
) -> None:
    both = api.as_((await make_key(database, merchant, permissions=(COLLECT, DISBURSE))).text)

    for body in (COLLECTION, PAYOUT):
        made = await created(both, body)
        assert (await call(both, "POST", "/v1/payments/{id}/cancel", made["id"])).status == 200
    assert is_refused(await call(both, "POST", "/v1/payments/{id}/cancel", "MLP-NOBODY"), 404, "transaction_not_found")


async def test_a_key_without_any_permission_opens_nothing(api: Client, database: Database, merchant: Merchant) -> None:
    key = await make_key(database, merchant, permissions=())

    for method, path, *_ in NEEDS:
        assert is_refused(await call(api.as_(key.text), method, path), 403, "permission_missing")
    assert await total(api) == 0


# Order


async def test_the_checks_come_in_their_order(
    http: aiohttp.ClientSession, fleet: list[Running], database: Database, merchant: Merchant
) -> None:
    """One request with everything wrong, put right from the front: each answer names the first thing wrong."""
    limited = Client(http, fleet[0].url, None)
    allowed = ("203.0.113.0/24",)
    key = await make_key(database, merchant, permissions=(Permission.PAYMENTS_READ,), ip_allowlist=allowed)
    await deactivate(database, merchant)

    async def ask(client: Client) -> tuple[int, str | None]:
        answer = await client("POST", "/v1/payments", raw=b"{")
        return answer.status, answer.code

    async def change(statement: str, *values: Any) -> None:
        async with database.begin() as tx:
            await tx.execute(statement, *values)

    assert await ask(limited.as_("wrong")) == (401, "invalid_api_key")
    client = limited.as_(key.text)
    assert await ask(client) == (403, "merchant_inactive")
    await change("UPDATE merchants SET is_active = true WHERE id = $1", merchant.id)
    assert await ask(client) == (403, "address_not_allowed")
    await change("UPDATE api_keys SET ip_allowlist = '{}' WHERE id = $1", key.id)
    for _ in range(FLEET_LIMITS["rate_limit_create"]):
        # The refusals before this one have used nothing of the limit up.
        assert await ask(client) == (403, "permission_missing")
    assert await ask(client) == (429, "rate_limited")
    await change("UPDATE rate_limit_windows SET requests = '' WHERE key_id = $1", key.id)
    assert await ask(client) == (403, "permission_missing")
    await change("UPDATE api_keys SET permissions = '{payments.create}' WHERE id = $1", key.id)
    assert await ask(client) == (400, "json_invalid")
    await change("UPDATE api_keys SET revoked_at = now() WHERE id = $1", key.id)
    assert await ask(client) == (401, "invalid_api_key")
