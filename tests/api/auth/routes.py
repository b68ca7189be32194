"""Every route with what it needs, and keys to call it with."""

from typing import Any

import aiohttp
import pytest

from malipo import clock
from malipo.db import Database
from malipo.merchants import issue_api_keys, onboard
from malipo.merchants.api_keys import Environment, KeyTerms, NewKey, Permission
from malipo.rate_limit.sliding_window import RateClass
from tests.api.conftest import FLEET_LIMITS
from tests.conftest import COLLECTION, NOBODY, PAYOUT, Answer, Client, Merchant, Running

# Each of these opens what is beside it, and no other permission does.
CREATE, COLLECT, DISBURSE = Permission.PAYMENTS_CREATE, Permission.PAYMENTS_COLLECT, Permission.PAYMENTS_DISBURSE

# Every /v1 route with the permissions of which it needs one, the class its requests count in, and its answer when all is
# well. What is cancelled is a collection, or a payout.
NEEDS: list[tuple[str, str, set[Permission], RateClass, int]] = [
    ("GET", "/v1/payments", {Permission.PAYMENTS_READ}, RateClass.LIST, 200),
    ("GET", "/v1/payments/{id}", {Permission.PAYMENTS_READ}, RateClass.OTHER, 200),
    # The payment that it is called with has no receipt.
    ("GET", "/v1/payments/{id}/receipt", {Permission.PAYMENTS_READ}, RateClass.OTHER, 404),
    ("POST", "/v1/payments", {CREATE, COLLECT}, RateClass.CREATE, 201),
    ("POST", "/v1/payments/disburse", {CREATE, DISBURSE}, RateClass.OTHER, 201),
    ("POST", "/v1/payments/{id}/cancel", {CREATE, COLLECT}, RateClass.OTHER, 200),
    ("POST", "/v1/payments/{payout}/cancel", {CREATE, DISBURSE}, RateClass.OTHER, 200),
    # The payment that it is called with was not paid.
    ("POST", "/v1/payments/{id}/refund", {CREATE, DISBURSE}, RateClass.OTHER, 409),
    ("POST", "/v1/payments/disburse/batches", {CREATE, DISBURSE}, RateClass.OTHER, 201),
    ("GET", "/v1/payments/disburse/batches", {Permission.PAYMENTS_READ}, RateClass.LIST, 200),
    # There is no such batch.
    ("GET", "/v1/payments/disburse/batches/{id}", {Permission.PAYMENTS_READ}, RateClass.OTHER, 404),
    ("GET", "/v1/payments/disburse/batches/{id}/items", {Permission.PAYMENTS_READ}, RateClass.OTHER, 404),
    ("POST", "/v1/payments/disburse/batches/{id}/approve", {Permission.PAYOUTS_APPROVE}, RateClass.OTHER, 404),
    ("POST", "/v1/payments/disburse/batches/{id}/cancel", {CREATE, DISBURSE}, RateClass.OTHER, 404),
    ("POST", "/v1/payments/quote", {Permission.PAYMENTS_READ}, RateClass.OTHER, 200),
    # No network that tells names is connected.
    ("POST", "/v1/recipients/lookup", {Permission.RECIPIENTS_LOOKUP}, RateClass.OTHER, 409),
    ("GET", "/v1/links", {Permission.LINKS_MANAGE}, RateClass.LIST, 200),
    # Without a body; and the id that the others are called with is a payment's.
    ("POST", "/v1/links", {Permission.LINKS_MANAGE}, RateClass.OTHER, 400),
    ("GET", "/v1/links/{id}", {Permission.LINKS_MANAGE}, RateClass.OTHER, 404),
    ("POST", "/v1/links/{id}/cancel", {Permission.LINKS_MANAGE}, RateClass.OTHER, 404),
    ("GET", "/v1/settlements", {Permission.WALLET_READ, Permission.SETTLEMENTS_CREATE}, RateClass.LIST, 200),
    # There is no bank account; and the id that the others are called with is a payment's.
    ("POST", "/v1/settlements", {Permission.SETTLEMENTS_CREATE}, RateClass.OTHER, 400),
    ("GET", "/v1/settlements/{id}", {Permission.WALLET_READ, Permission.SETTLEMENTS_CREATE}, RateClass.OTHER, 404),
    (
        "GET",
        "/v1/settlements/{id}/report",
        {Permission.WALLET_READ, Permission.SETTLEMENTS_CREATE},
        RateClass.LIST,
        404,
    ),
    ("POST", "/v1/settlements/{id}/cancel", {Permission.SETTLEMENTS_CREATE}, RateClass.OTHER, 404),
    ("GET", "/v1/channels", {Permission.PAYMENTS_READ}, RateClass.OTHER, 200),
    ("GET", "/v1/wallet", {Permission.WALLET_READ}, RateClass.OTHER, 200),
    ("GET", "/v1/wallet/entries", {Permission.WALLET_READ}, RateClass.OTHER, 200),
    ("GET", "/v1/events", {Permission.EVENTS_READ}, RateClass.OTHER, 200),
    ("GET", "/v1/webhooks", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 200),
    # The id that these are called with is a payment's, so whoever may is told that there is no such endpoint.
    ("GET", "/v1/webhooks/{id}", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 404),
    ("DELETE", "/v1/webhooks/{id}", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 404),
    ("POST", "/v1/webhooks/{id}/test", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 404),
    ("POST", "/v1/webhooks/{id}/rotate-secret", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 404),
    ("POST", "/v1/webhooks/{id}/rotate-secret/finish", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 404),
    ("GET", "/v1/webhooks/{id}/deliveries", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 404),
    ("GET", "/v1/webhooks/{id}/deliveries/{delivery}", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 404),
    ("POST", "/v1/webhooks/{id}/deliveries/{delivery}/redeliver", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 404),
    # And these without a body.
    ("POST", "/v1/webhooks", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 400),
    ("PATCH", "/v1/webhooks/{id}", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 400),
    ("POST", "/v1/webhooks/{id}/recover", {Permission.WEBHOOKS_MANAGE}, RateClass.OTHER, 400),
]
EVERY_ROUTE = pytest.mark.parametrize(("method", "path"), [each[:2] for each in NEEDS])


async def call(api: Client, method: str, path: str, id_: str = "MLP-NOBODY", **more: Any) -> Answer:
    """Call a route as it is meant to be called."""
    quote = {"type": "COLLECTION", "amount": 1000, "channel": "MPESA"}
    bodies = {
        "/v1/payments": COLLECTION,
        "/v1/payments/disburse": PAYOUT,
        "/v1/payments/quote": quote,
        "/v1/recipients/lookup": {"channel": "AIRTEL_MONEY", "phone": "+255684000001"},
        "/v1/payments/disburse/batches": {"items": [PAYOUT]},
    }
    body = bodies.get(path) if method == "POST" else None
    return await api(method, path.format(id=id_, payout=id_, delivery="evt_0"), body, **more)


async def make_key(database: Database, merchant: Merchant, **changes: Any) -> NewKey:
    async with database.begin() as tx:
        wanted: dict[str, Any] = {
            "name": "a key",
            "permissions": tuple(Permission),
            "environment": Environment.LIVE,
            "brand": "mlp",
        }
        now = clock.now()
        return await issue_api_keys.create_key(tx, merchant.id, KeyTerms(**(wanted | changes)), actor=NOBODY, now=now)


async def deactivate(database: Database, merchant: Merchant) -> None:
    async with database.begin() as tx:
        await onboard.set_active(tx, merchant.id, is_active=False, actor=NOBODY, now=clock.now())


async def revoke(database: Database, key: NewKey) -> None:
    async with database.begin() as tx:
        await tx.execute("UPDATE api_keys SET revoked_at = $2 WHERE id = $1", key.id, clock.now())


LIMITS = {
    RateClass.CREATE: FLEET_LIMITS["rate_limit_create"],
    RateClass.LIST: FLEET_LIMITS["rate_limit_list"],
    RateClass.OTHER: FLEET_LIMITS["rate_limit_other"],
}
STANDING = ("RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset")


@pytest.fixture
def limited(http: aiohttp.ClientSession, fleet: list[Running], merchant: Merchant) -> Client:
    """The service with small limits, called by the merchant."""
    return Client(http, fleet[0].url, merchant.key)
