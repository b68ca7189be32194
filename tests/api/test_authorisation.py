"""The authorization of every route for every kind of caller, compared with a table written by hand."""

import secrets
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from malipo import clock
from malipo.api.routes import ROUTES
from malipo.encryption import Encryption
from malipo.ledger.bookings import BookingKind, book
from malipo.merchants.api_keys import Permission
from malipo.merchants.password_links import make_link
from malipo.merchants.roles import Role
from malipo.merchants.store import people
from malipo.webhooks import rotate_secrets, send_test
from tests.api.auth.authorisation_world import NOBODY_HOME, PASSWORD, SECRET_KEY, World
from tests.api.auth.authorisation_world import world as world
from tests.conftest import COLLECTION, NOBODY, PAYOUT
from tests.settlement.settlement_steps import add_account

# Callers by API key: none, an unknown one, expired, revoked, of an inactive merchant, with exactly one permission
# (read, create, take: payments.collect, pay: payments.disburse, wallet, events; for the others see `auth/routes.py`), of
# another merchant (with all), a bearer token sent as a key.
# Callers by token: a viewer, staff, the owner, another merchant's owner, one who logged out, an API key sent as a token.
TABLE = """
    route                                                          none unknown expired revoked inactive   read create take pay wallet events other token   viewer staff owner stranger ended key
    GET /healthz                                                   200  200     200     200     200        200  200    200  200    200    200    200   200     200    200   200   200      200   200
    GET /readyz                                                    200  200     200     200     200        200  200    200  200    200    200    200   200     200    200   200   200      200   200
    GET /metrics                                                   200  200     200     200     200        200  200    200  200    200    200    200   200     200    200   200   200      200   200
    GET /openapi.json                                              200  200     200     200     200        200  200    200  200    200    200    200   200     200    200   200   200      200   200
    GET /docs                                                      200  200     200     200     200        200  200    200  200    200    200    200   200     200    200   200   200      200   200
    GET /docs/docs.css                                             200  200     200     200     200        200  200    200  200    200    200    200   200     200    200   200   200      200   200
    GET /docs/malipo.postman_collection.json                       200  200     200     200     200        200  200    200  200    200    200    200   200     200    200   200   200      200   200
    POST /v1/payments                                              401  401     401     401     403        403  201    201  403    403    403    201   401     401    401   401   401      401   401
    GET /v1/payments                                               401  401     401     401     403        200  403    403  403    403    403    200   401     401    401   401   401      401   401
    POST /v1/payments/disburse                                     401  401     401     401     403        403  201    403  201    403    403    201   401     401    401   401   401      401   401
    POST /v1/payments/disburse/batches                             401  401     401     401     403        403  201    403  201    403    403    201   401     401    401   401   401      401   401
    GET /v1/payments/disburse/batches                              401  401     401     401     403        200  403    403  403    403    403    200   401     401    401   401   401      401   401
    GET /v1/payments/disburse/batches/{id}                         401  401     401     401     403        200  403    403  403    403    403    404   401     401    401   401   401      401   401
    GET /v1/payments/disburse/batches/{id}/items                   401  401     401     401     403        200  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/payments/disburse/batches/{id}/approve                401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/payments/disburse/batches/{id}/cancel                 401  401     401     401     403        403  200    403  200    403    403    404   401     401    401   401   401      401   401
    POST /v1/payments/quote                                        401  401     401     401     403        200  403    403  403    403    403    200   401     401    401   401   401      401   401
    GET /v1/payments/{id}                                          401  401     401     401     403        200  403    403  403    403    403    404   401     401    401   401   401      401   401
    GET /v1/payments/{id}/receipt                                  401  401     401     401     403        404  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/payments/{id}/cancel                                  401  401     401     401     403        403  200    200  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/payments/{id}/refund                                  401  401     401     401     403        403  409    403  409    403    403    404   401     401    401   401   401      401   401
    POST /v1/recipients/lookup                                     401  401     401     401     403        403  403    403  403    403    403    409   401     401    401   401   401      401   401
    POST /v1/links                                                 401  401     401     401     403        403  403    403  403    403    403    201   401     401    401   401   401      401   401
    GET /v1/links                                                  401  401     401     401     403        403  403    403  403    403    403    200   401     401    401   401   401      401   401
    GET /v1/links/{id}                                             401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/links/{id}/cancel                                     401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/settlements                                           401  401     401     401     403        403  403    403  403  403    403    201   401     401    401   401   401      401   401
    GET /v1/settlements                                            401  401     401     401     403        403  403    403  403  200    403    200   401     401    401   401   401      401   401
    GET /v1/settlements/{id}                                       401  401     401     401     403        403  403    403  403  200    403    404   401     401    401   401   401      401   401
    GET /v1/settlements/{id}/report                                401  401     401     401     403        403  403    403  403  200    403    404   401     401    401   401   401      401   401
    POST /v1/settlements/{id}/cancel                               401  401     401     401     403        403  403    403  403  403    403    404   401     401    401   401   401      401   401
    GET /v1/channels                                               401  401     401     401     403        200  403    403  403    403    403    200   401     401    401   401   401      401   401
    GET /v1/wallet                                                 401  401     401     401     403        403  403    403  403    200    403    200   401     401    401   401   401      401   401
    GET /v1/wallet/entries                                         401  401     401     401     403        403  403    403  403    200    403    200   401     401    401   401   401      401   401
    GET /v1/events                                                 401  401     401     401     403        403  403    403  403    403    200    200   401     401    401   401   401      401   401
    GET /v1/webhooks                                               401  401     401     401     403        403  403    403  403    403    403    200   401     401    401   401   401      401   401
    POST /v1/webhooks                                              401  401     401     401     403        403  403    403  403    403    403    201   401     401    401   401   401      401   401
    GET /v1/webhooks/{id}                                          401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    PATCH /v1/webhooks/{id}                                        401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    DELETE /v1/webhooks/{id}                                       401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/webhooks/{id}/test                                    401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/webhooks/{id}/rotate-secret                           401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/webhooks/{id}/rotate-secret/finish                    401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    GET /v1/webhooks/{id}/deliveries                               401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    GET /v1/webhooks/{id}/deliveries/{delivery}                    401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/webhooks/{id}/deliveries/{delivery}/redeliver         401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/webhooks/{id}/recover                                 401  401     401     401     403        403  403    403  403    403    403    404   401     401    401   401   401      401   401
    POST /callbacks/{route}/{token}                                404  404     404     404     404        404  404    404  404    404    404    404   404     404    404   404   404      404   404
    POST /merchant/auth/login                                      200  200     200     200     200        200  200    200  200    200    200    200   200     200    200   200   200      200   200
    POST /merchant/auth/refresh                                    200  200     200     200     200        200  200    200  200    200    200    200   200     200    200   200   200      200   200
    POST /merchant/auth/reset                                      200  200     200     200     200        200  200    200  200    200    200    200   200     200    200   200   200      200   200
    POST /merchant/auth/logout                                     401  401     401     401     401        401  401    401  401    401    401    401   401     200    200   200   200      401   401
    POST /merchant/auth/confirm                                    401  401     401     401     401        401  401    401  401    401    401    401   401     200    200   200   200      401   401
    POST /merchant/auth/password                                   401  401     401     401     401        401  401    401  401    401    401    401   401     200    200   200   200      401   401
    GET /merchant/api-keys                                         401  401     401     401     401        401  401    401  401    401    401    401   401     200    200   200   200      401   401
    POST /merchant/api-keys                                        401  401     401     401     401        401  401    401  401    401    401    401   401     403    403   201   201      401   401
    PATCH /merchant/api-keys/{id}                                  401  401     401     401     401        401  401    401  401    401    401    401   401     403    403   200   404      401   401
    DELETE /merchant/api-keys/{id}                                 401  401     401     401     401        401  401    401  401    401    401    401   401     403    403   200   404      401   401
    GET /merchant/webhooks                                         401  401     401     401     401        401  401    401  401    401    401    401   401     200    200   200   200      401   401
    POST /merchant/webhooks                                        401  401     401     401     401        401  401    401  401    401    401    401   401     403    201   201   201      401   401
    GET /merchant/webhooks/{id}                                    401  401     401     401     401        401  401    401  401    401    401    401   401     200    200   200   404      401   401
    PATCH /merchant/webhooks/{id}                                  401  401     401     401     401        401  401    401  401    401    401    401   401     403    200   200   404      401   401
    DELETE /merchant/webhooks/{id}                                 401  401     401     401     401        401  401    401  401    401    401    401   401     403    200   200   404      401   401
    POST /merchant/webhooks/{id}/test                              401  401     401     401     401        401  401    401  401    401    401    401   401     403    200   200   404      401   401
    POST /merchant/webhooks/{id}/rotate-secret                     401  401     401     401     401        401  401    401  401    401    401    401   401     403    200   200   404      401   401
    POST /merchant/webhooks/{id}/rotate-secret/finish              401  401     401     401     401        401  401    401  401    401    401    401   401     403    200   200   404      401   401
    GET /merchant/webhooks/{id}/deliveries                         401  401     401     401     401        401  401    401  401    401    401    401   401     200    200   200   404      401   401
    GET /merchant/webhooks/{id}/deliveries/{delivery}              401  401     401     401     401        401  401    401  401    401    401    401   401     200    200   200   404      401   401
    POST /merchant/webhooks/{id}/deliveries/{delivery}/redeliver   401  401     401     401     401        401  401    401  401    401    401    401   401     403    202   202   404      401   401
    POST /merchant/webhooks/{id}/recover                           401  401     401     401     401        401  401    401  401    401    401    401   401     403    202   202   404      401   401
    GET /merchant/people                                           401  401     401     401     401        401  401    401  401    401    401    401   401     200    200   200   200      401   401
    POST /merchant/people                                          401  401     401     401     401        401  401    401  401    401    401    401   401     403    403   201   201      401   401
    PATCH /merchant/people/{id}                                    401  401     401     401     401        401  401    401  401    401    401    401   401     403    403   200   404      401   401
    DELETE /merchant/people/{id}                                   401  401     401     401     401        401  401    401  401    401    401    401   401     403    403   200   404      401   401
"""
HEADER, *ROWS = [line.split() for line in TABLE.strip().splitlines()]
CALLERS = HEADER[1:]


LINK = {"amount": 25_000, "description": "Order 1042"}

# What the names in the path stand for, and the body.
Prepared = tuple[Mapping[str, str], Any]


async def _transaction(world: World) -> str:
    key = await world.key(world.merchant_id, [Permission.PAYMENTS_CREATE])
    created = await world.client.as_(key.text)("POST", "/v1/payments", COLLECTION)
    return str(created.body["transaction"]["id"])


async def _by_transaction(world: World) -> Prepared:
    return {"id": await _transaction(world)}, None


async def _by_batch(world: World) -> Prepared:
    key = await world.key(world.merchant_id, [Permission.PAYMENTS_CREATE])
    made = await world.client.as_(key.text)("POST", "/v1/payments/disburse/batches", {"items": [PAYOUT]})
    return {"id": str(made.body["batch"]["id"])}, None


async def _by_link(world: World) -> Prepared:
    key = await world.key(world.merchant_id, [Permission.LINKS_MANAGE])
    made = await world.client.as_(key.text)("POST", "/v1/links", LINK)
    return {"id": str(made.body["link"]["id"])}, None


async def _with_account(world: World) -> Prepared:
    """Both merchants have money and a bank account."""
    for merchant_id in (world.merchant_id, world.stranger_id):
        async with world.database.begin() as tx:
            now = clock.now()
            await book(tx, BookingKind.TOP_UP, merchant_id, 10_000, reference=secrets.token_hex(8), now=now)
        await add_account(world.database, merchant_id, now=now)
    return {}, {"amount": 1000}


async def _by_settlement(world: World) -> Prepared:
    await _with_account(world)
    key = await world.key(world.merchant_id, [Permission.SETTLEMENTS_CREATE])
    made = await world.client.as_(key.text)("POST", "/v1/settlements", {"amount": 1000})
    return {"id": str(made.body["settlement"]["id"])}, None


async def _by_key(world: World) -> Prepared:
    return {"id": (await world.key(world.merchant_id, [Permission.WALLET_READ])).id}, {"name": "till"}


async def _by_person(world: World) -> Prepared:
    return {"id": (await world.person(world.merchant_id, Role.VIEWER))[0]}, {"role": "staff"}


async def _log_in(world: World) -> Prepared:
    _, email = await world.person(world.merchant_id, Role.VIEWER)
    return {}, {"email": email, "password": PASSWORD}


async def _refresh(world: World) -> Prepared:
    return {}, {"refreshToken": (await world.session(world.merchant_id, Role.VIEWER))["refreshToken"]}


async def _reset(world: World) -> Prepared:
    _, email = await world.person(world.merchant_id, Role.VIEWER)
    async with world.database.begin() as tx:
        person = await people.find_by_email(tx, email)
        assert person is not None
        return {}, {"token": await make_link(tx, person, actor=NOBODY, now=clock.now()), "password": "mvua ya vuli 12"}


async def _new_person(world: World) -> Prepared:
    return {}, {"email": f"{secrets.token_hex(8)}@example.com", "role": "viewer"}


def _by_endpoint(body: Any = None) -> Callable[[World], Awaitable[Prepared]]:
    async def prepare(world: World) -> Prepared:
        return {"id": await world.endpoint()}, body

    return prepare


async def _by_rotation(world: World) -> Prepared:
    id_ = await world.endpoint()
    async with world.database.begin() as tx:
        await rotate_secrets.rotate(
            tx, world.merchant_id, id_, encryption=Encryption(SECRET_KEY), actor=NOBODY, now=clock.now()
        )
    return {"id": id_}, None


async def _by_delivery(world: World) -> Prepared:
    id_ = await world.endpoint()
    async with world.database.begin() as tx:
        delivery = await send_test.send_test(tx, world.merchant_id, id_, actor=NOBODY, now=clock.now())
    return {"id": id_, "delivery": delivery}, None


async def _new_endpoint(world: World) -> Prepared:
    await world.endpoint()
    return {}, {"url": NOBODY_HOME, "events": ["payment.completed"]}


def _body(body: Any) -> Callable[[World], Awaitable[Prepared]]:
    async def prepare(world: World) -> Prepared:
        return {}, body

    return prepare


# What makes each route succeed for whoever may use it.
PREPARE: dict[str, Callable[[World], Awaitable[Prepared]]] = {
    "POST /v1/payments": _body(COLLECTION),
    "POST /v1/payments/disburse": _body(PAYOUT),
    "POST /v1/payments/disburse/batches": _body({"items": [PAYOUT]}),
    "POST /v1/links": _body(LINK),
    "GET /v1/links/{id}": _by_link,
    "POST /v1/links/{id}/cancel": _by_link,
    "POST /v1/settlements": _with_account,
    "GET /v1/settlements/{id}": _by_settlement,
    "GET /v1/settlements/{id}/report": _by_settlement,
    "POST /v1/settlements/{id}/cancel": _by_settlement,
    "GET /v1/payments/disburse/batches/{id}": _by_batch,
    "GET /v1/payments/disburse/batches/{id}/items": _by_batch,
    "POST /v1/payments/disburse/batches/{id}/approve": _by_batch,
    "POST /v1/payments/disburse/batches/{id}/cancel": _by_batch,
    "POST /v1/payments/quote": _body({"type": "COLLECTION", "amount": 1000, "channel": "MPESA"}),
    "POST /v1/recipients/lookup": _body({"channel": "AIRTEL_MONEY", "phone": "+255684000001"}),  # nobody tells names
    "GET /v1/payments/{id}": _by_transaction,
    "GET /v1/payments/{id}/receipt": _by_transaction,
    "POST /v1/payments/{id}/cancel": _by_transaction,
    "POST /v1/payments/{id}/refund": _by_transaction,  # which was not paid
    "POST /merchant/auth/login": _log_in,
    "POST /merchant/auth/refresh": _refresh,
    "POST /merchant/auth/reset": _reset,
    "POST /merchant/auth/confirm": _body({"password": PASSWORD}),
    "POST /merchant/auth/password": _body({"currentPassword": PASSWORD, "newPassword": "mvua ya vuli 12"}),
    "POST /merchant/api-keys": _body({"name": "till", "permissions": ["wallet.read"]}),
    "PATCH /merchant/api-keys/{id}": _by_key,
    "DELETE /merchant/api-keys/{id}": _by_key,
    "POST /merchant/webhooks": _new_endpoint,
    "GET /merchant/webhooks/{id}": _by_endpoint(),
    "PATCH /merchant/webhooks/{id}": _by_endpoint({"isActive": False}),
    "DELETE /merchant/webhooks/{id}": _by_endpoint(),
    "POST /merchant/webhooks/{id}/test": _by_endpoint(),
    "POST /merchant/webhooks/{id}/rotate-secret": _by_endpoint(),
    "POST /merchant/webhooks/{id}/rotate-secret/finish": _by_rotation,
    "GET /merchant/webhooks/{id}/deliveries": _by_endpoint(),
    "GET /merchant/webhooks/{id}/deliveries/{delivery}": _by_delivery,
    "POST /merchant/webhooks/{id}/deliveries/{delivery}/redeliver": _by_delivery,
    "POST /merchant/webhooks/{id}/recover": _by_endpoint({"since": "2026-11-15"}),
    "POST /merchant/people": _new_person,
    "PATCH /merchant/people/{id}": _by_person,
    "DELETE /merchant/people/{id}": _by_person,
}

PREPARE |= {
    route.replace("/merchant/", "/v1/"): prepare for route, prepare in PREPARE.items() if "/merchant/webhooks" in route
}


# Whoever calls these has no session afterwards.
ENDING = ("/merchant/auth/logout", "/merchant/auth/password")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row[0]} {row[1]}")
async def test_every_caller_gets_the_status_that_the_table_says(world: World, row: list[str]) -> None:
    method, path, *statuses = row
    wrong = []
    for caller, status in zip(CALLERS, statuses, strict=True):
        names, body = await PREPARE.get(f"{method} {path}", _body(None))(world)
        headers = await world.headers(caller, is_ending=path in ENDING)
        target = path
        for placeholder, name in names.items():
            target = target.replace(f"{{{placeholder}}}", name)
        answer = await world.client.status(method, target, body, headers=headers)
        if answer != int(status):
            wrong.append(f"{caller}: {answer}, not {status}")
    assert wrong == []


def test_the_table_leaves_no_route_out() -> None:
    assert {f"{row[0]} {row[1]}" for row in ROWS} == {f"{route.method} {route.path}" for route in ROUTES}
