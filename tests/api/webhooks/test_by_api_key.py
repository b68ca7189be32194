"""/v1/webhooks: webhook endpoints by API key, with the same handlers as for people."""

from typing import Any

import pytest

from malipo.api.routes import ROUTES, KeyRoute, TokenRoute
from malipo.db import Database
from malipo.merchants.api_keys import Permission
from tests.api.auth.routes import make_key
from tests.api.conftest import is_refused
from tests.api.webhooks.endpoints import PUBLIC
from tests.conftest import Client, Merchant

NEW = {"url": PUBLIC, "events": ["*"]}


def test_both_doors_lead_to_the_same_handlers() -> None:
    def handlers(kind: type[KeyRoute | TokenRoute], base: str) -> dict[tuple[str, str], Any]:
        return {
            (route.method, route.path.removeprefix(base)): route.handler
            for route in ROUTES
            if isinstance(route, kind) and route.path.startswith(base)
        }

    by_key = handlers(KeyRoute, "/v1/webhooks")
    assert len(by_key) == 12
    assert by_key == handlers(TokenRoute, "/merchant/webhooks")


@pytest.fixture
async def program(api: Client, database: Database, merchant: Merchant) -> Client:
    key = await make_key(database, merchant, name="Web shop", permissions=(Permission.WEBHOOKS_MANAGE,))
    return api.as_(key.text)


async def test_an_endpoint_is_registered_changed_and_deleted_with_a_key(program: Client) -> None:
    made = await program("POST", "/v1/webhooks", NEW)
    assert made.status == 201
    id_ = made.body["endpoint"]["id"]
    assert made.body["endpoint"]["secret"].startswith("whsec_")
    assert made.body["endpoint"]["events"] == ["*"]

    (listed,) = (await program("GET", "/v1/webhooks")).body["endpoints"]
    assert (listed["id"], "secret" in listed) == (id_, False)
    changed = await program("PATCH", f"/v1/webhooks/{id_}", {"events": ["payment.failed"], "isActive": False})
    assert (changed.body["endpoint"]["events"], changed.body["endpoint"]["isActive"]) == (["payment.failed"], False)
    assert (await program("POST", f"/v1/webhooks/{id_}/rotate-secret")).body["endpoint"]["secret"]
    assert (await program("GET", f"/v1/webhooks/{id_}/deliveries")).body["deliveries"] == []
    assert (await program("DELETE", f"/v1/webhooks/{id_}")).status == 200
    assert is_refused(await program("GET", f"/v1/webhooks/{id_}"), 404, "webhook_not_found")


async def test_the_audit_log_names_the_key(program: Client, database: Database, merchant: Merchant) -> None:
    made = await program("POST", "/v1/webhooks", NEW)

    async with database.read() as connection:
        row = await connection.fetchrow(
            """
            SELECT a.action, k.name, a.details ->> 'endpoint' AS endpoint FROM audit_log a
            JOIN api_keys k ON a.actor = 'key ' || k.id
            WHERE a.merchant_id = $1 AND a.action LIKE 'webhook.%'
            """,
            merchant.id,
        )
    assert row is not None
    assert tuple(row) == ("webhook.registered", "Web shop", made.body["endpoint"]["id"])


async def test_endpoints_of_others_are_not_there(program: Client, api: Client, stranger: Merchant) -> None:
    id_ = (await program("POST", "/v1/webhooks", NEW)).body["endpoint"]["id"]
    other = api.as_(stranger.key)

    assert (await other("GET", "/v1/webhooks")).body["endpoints"] == []
    for method, path in (("GET", ""), ("DELETE", ""), ("POST", "/rotate-secret"), ("GET", "/deliveries")):
        assert is_refused(await other(method, f"/v1/webhooks/{id_}{path}"), 404, "webhook_not_found")


async def test_a_key_that_may_only_make_payments_opens_none_of_it(
    api: Client, database: Database, merchant: Merchant
) -> None:
    key = await make_key(database, merchant, permissions=(Permission.PAYMENTS_CREATE, Permission.EVENTS_READ))

    assert is_refused(await api.as_(key.text)("POST", "/v1/webhooks", NEW), 403, "permission_missing")
    assert (await api("GET", "/v1/webhooks")).body["endpoints"] == []
