"""Who may do what: every route against every kind of caller, held against a table written by hand."""

import secrets
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from malipo import clock
from malipo.access.passwords import Passwords
from malipo.api.routes import ROUTES
from malipo.db import Database
from malipo.encryption import Encryption
from malipo.merchants import issue_api_keys, manage_people, onboard
from malipo.merchants.api_keys import Environment, Permission
from malipo.merchants.password_links import make_link
from malipo.merchants.roles import Role
from malipo.merchants.store import api_keys, people
from malipo.outbox.event import Event
from malipo.settings import Settings
from malipo.webhooks import manage_endpoints, rotate_secrets, send_test
from malipo.webhooks.store import endpoints
from tests.conftest import (
    COLLECTION,
    NO_LIMITS,
    NOBODY,
    PAYOUT,
    Client,
    create_database,
    make_merchant,
    starting,
    until_ready,
)
from tests.journeys.full_stack import Elsewhere, a_worker

# Callers by API key: none, an unknown one, expired, revoked, of an inactive merchant, with exactly one permission
# (read, create, wallet, events), of another merchant (with all), a bearer token sent as a key.
# Callers by token: a viewer, staff, the owner, another merchant's owner, one who logged out, an API key sent as a token.
TABLE = """
    route                                                          none unknown expired revoked inactive   read create wallet events other token   viewer staff owner stranger ended key
    GET /healthz                                                   200  200     200     200     200        200  200    200    200    200   200     200    200   200   200      200   200
    GET /readyz                                                    200  200     200     200     200        200  200    200    200    200   200     200    200   200   200      200   200
    GET /metrics                                                   200  200     200     200     200        200  200    200    200    200   200     200    200   200   200      200   200
    GET /openapi.json                                              200  200     200     200     200        200  200    200    200    200   200     200    200   200   200      200   200
    GET /docs                                                      200  200     200     200     200        200  200    200    200    200   200     200    200   200   200      200   200
    GET /docs/docs.css                                             200  200     200     200     200        200  200    200    200    200   200     200    200   200   200      200   200
    POST /v1/payments                                              401  401     401     401     403        403  201    403    403    201   401     401    401   401   401      401   401
    GET /v1/payments                                               401  401     401     401     403        200  403    403    403    200   401     401    401   401   401      401   401
    POST /v1/payments/disburse                                     401  401     401     401     403        403  201    403    403    201   401     401    401   401   401      401   401
    POST /v1/payments/quote                                        401  401     401     401     403        200  403    403    403    200   401     401    401   401   401      401   401
    GET /v1/payments/{id}                                          401  401     401     401     403        200  403    403    403    404   401     401    401   401   401      401   401
    POST /v1/payments/{id}/cancel                                  401  401     401     401     403        403  200    403    403    404   401     401    401   401   401      401   401
    POST /v1/recipients/lookup                                     401  401     401     401     403        403  403    403    403    409   401     401    401   401   401      401   401
    GET /v1/channels                                               401  401     401     401     403        200  403    403    403    200   401     401    401   401   401      401   401
    GET /v1/wallet                                                 401  401     401     401     403        403  403    200    403    200   401     401    401   401   401      401   401
    GET /v1/wallet/entries                                         401  401     401     401     403        403  403    200    403    200   401     401    401   401   401      401   401
    GET /v1/events                                                 401  401     401     401     403        403  403    403    200    200   401     401    401   401   401      401   401
    POST /callbacks/{route}/{token}                                404  404     404     404     404        404  404    404    404    404   404     404    404   404   404      404   404
    POST /merchant/auth/login                                      200  200     200     200     200        200  200    200    200    200   200     200    200   200   200      200   200
    POST /merchant/auth/refresh                                    200  200     200     200     200        200  200    200    200    200   200     200    200   200   200      200   200
    POST /merchant/auth/reset                                      200  200     200     200     200        200  200    200    200    200   200     200    200   200   200      200   200
    POST /merchant/auth/logout                                     401  401     401     401     401        401  401    401    401    401   401     200    200   200   200      401   401
    POST /merchant/auth/confirm                                    401  401     401     401     401        401  401    401    401    401   401     200    200   200   200      401   401
    POST /merchant/auth/password                                   401  401     401     401     401        401  401    401    401    401   401     200    200   200   200      401   401
    GET /merchant/api-keys                                         401  401     401     401     401        401  401    401    401    401   401     200    200   200   200      401   401
    POST /merchant/api-keys                                        401  401     401     401     401        401  401    401    401    401   401     403    403   201   201      401   401
    DELETE /merchant/api-keys/{id}                                 401  401     401     401     401        401  401    401    401    401   401     403    403   200   404      401   401
    GET /merchant/webhooks                                         401  401     401     401     401        401  401    401    401    401   401     200    200   200   200      401   401
    POST /merchant/webhooks                                        401  401     401     401     401        401  401    401    401    401   401     403    201   201   201      401   401
    GET /merchant/webhooks/{id}                                    401  401     401     401     401        401  401    401    401    401   401     200    200   200   404      401   401
    PATCH /merchant/webhooks/{id}                                  401  401     401     401     401        401  401    401    401    401   401     403    200   200   404      401   401
    DELETE /merchant/webhooks/{id}                                 401  401     401     401     401        401  401    401    401    401   401     403    200   200   404      401   401
    POST /merchant/webhooks/{id}/test                              401  401     401     401     401        401  401    401    401    401   401     403    200   200   404      401   401
    POST /merchant/webhooks/{id}/rotate-secret                     401  401     401     401     401        401  401    401    401    401   401     403    200   200   404      401   401
    POST /merchant/webhooks/{id}/rotate-secret/finish              401  401     401     401     401        401  401    401    401    401   401     403    200   200   404      401   401
    GET /merchant/webhooks/{id}/deliveries                         401  401     401     401     401        401  401    401    401    401   401     200    200   200   404      401   401
    GET /merchant/webhooks/{id}/deliveries/{delivery}              401  401     401     401     401        401  401    401    401    401   401     200    200   200   404      401   401
    POST /merchant/webhooks/{id}/deliveries/{delivery}/redeliver   401  401     401     401     401        401  401    401    401    401   401     403    202   202   404      401   401
    POST /merchant/webhooks/{id}/recover                           401  401     401     401     401        401  401    401    401    401   401     403    202   202   404      401   401
    GET /merchant/people                                           401  401     401     401     401        401  401    401    401    401   401     200    200   200   200      401   401
    POST /merchant/people                                          401  401     401     401     401        401  401    401    401    401   401     403    403   201   201      401   401
    PATCH /merchant/people/{id}                                    401  401     401     401     401        401  401    401    401    401   401     403    403   200   404      401   401
    DELETE /merchant/people/{id}                                   401  401     401     401     401        401  401    401    401    401   401     403    403   200   404      401   401
"""
HEADER, *ROWS = [line.split() for line in TABLE.strip().splitlines()]
CALLERS = HEADER[1:]
PASSWORD = "maji ya kunde 7"
SECRET_KEY = "a-secret-of-the-table-of-authorisation"
# Whoever is told there is never at home, and says so at once.
HOOKS: dict[str, Any] = {"secret_key": SECRET_KEY, "webhook_allow_private": True, **NO_LIMITS}
NOBODY_HOME = "http://127.0.0.1:9/hook"


@dataclass
class World:
    """A live service with a worker, and one of every kind of caller."""

    client: Client
    database: Database
    merchant_id: str
    stranger_id: str
    key_texts: dict[str, str] = field(default_factory=dict)
    password_hash: str = ""
    known: dict[str, dict[str, str]] = field(default_factory=dict)

    async def key(self, merchant_id: str, permissions: list[Permission], **changes: Any) -> Any:
        async with self.database.begin() as tx:
            # Old ones go, or the limit of keys would be reached.
            for each in (await api_keys.find_all(tx, merchant_id))[15:]:
                await api_keys.revoke(tx, merchant_id, each.id, now=clock.now())
            return await issue_api_keys.create_key(
                tx,
                merchant_id,
                name="test",
                permissions=permissions,
                environment=Environment.LIVE,
                brand="mlp",
                actor=NOBODY,
                now=clock.now(),
                **changes,
            )

    async def person(self, merchant_id: str, role: Role) -> tuple[str, str]:
        email = f"{secrets.token_hex(8)}@example.com"
        async with self.database.begin() as tx:
            person = await manage_people.add_person(
                tx, merchant_id, email=email, name="", role=role, actor=NOBODY, now=clock.now()
            )
            await people.set_password(tx, person.id, self.password_hash)
        return person.id, email

    async def session(self, merchant_id: str, role: Role) -> dict[str, str]:
        _, email = await self.person(merchant_id, role)
        answer = await self.client("POST", "/merchant/auth/login", {"email": email, "password": PASSWORD})
        assert answer.status == 200, answer.body
        async with self.database.begin() as tx:
            await tx.execute("DELETE FROM login_attempts")
        return dict(answer.body)

    async def endpoint(self) -> str:
        """A new endpoint of the merchant. Old ones go, or the limit of endpoints would be reached."""
        now = clock.now()
        async with self.database.begin() as tx:
            for each in await endpoints.find_all(tx, self.merchant_id):
                await manage_endpoints.delete(tx, self.merchant_id, each.id, actor=NOBODY, now=now)
            encryption = Encryption(SECRET_KEY)
            made, _ = await manage_endpoints.register(
                tx, self.merchant_id, url=NOBODY_HOME, events=list(Event), encryption=encryption, actor=NOBODY, now=now
            )
        return made.id

    async def headers(self, caller: str, *, is_ending: bool) -> dict[str, str]:
        """What the caller holds up. A session is kept for the next call, unless this one may end it."""
        if is_ending or caller not in self.known:
            self.known[caller] = await self._new_headers(caller)
        return self.known.pop(caller) if is_ending else self.known[caller]

    async def _new_headers(self, caller: str) -> dict[str, str]:
        if caller in self.key_texts:
            return {"x-api-key": self.key_texts[caller]}
        match caller:
            case "none":
                return {}
            case "unknown":
                return {"x-api-key": "mlp_live_0000000000000000000000000000000000000000"}
            case "token":
                return {"x-api-key": (await self.session(self.merchant_id, Role.OWNER))["token"]}
            case "key":
                return {"Authorization": f"Bearer {self.key_texts['read']}"}
            case "stranger":
                session = await self.session(self.stranger_id, Role.OWNER)
            case "ended":
                session = await self.session(self.merchant_id, Role.OWNER)
                ended = {"Authorization": f"Bearer {session['token']}"}
                assert (await self.client("POST", "/merchant/auth/logout", headers=ended)).status == 200
            case role:
                session = await self.session(self.merchant_id, Role(role))
        return {"Authorization": f"Bearer {session['token']}"}


@pytest.fixture(scope="module")
async def world(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[World]:
    url = await create_database(postgres, template)
    with starting(tmp_path_factory.mktemp("authorisation")) as start:
        running = await until_ready(start("api", database_url=url, **HOOKS))
        async with (
            Database.opened(url, size=4) as database,
            aiohttp.ClientSession() as http,
            a_worker(Elsewhere(url, Settings(**HOOKS))),
        ):
            merchant = await make_merchant(database, wallet=1_000_000)
            stranger = await make_merchant(database, wallet=1_000_000)
            inactive = await make_merchant(database)
            world = World(Client(http, running.url, None), database, merchant.id, stranger.id)
            world.password_hash = await Passwords().hash(PASSWORD)
            async with database.begin() as tx:
                await onboard.set_active(tx, inactive.id, is_active=False, actor=NOBODY, now=clock.now())
            past = clock.now() - timedelta(seconds=1)
            expired = await world.key(merchant.id, list(Permission), expires_at=past)
            revoked = await world.key(merchant.id, list(Permission))
            async with database.begin() as tx:
                await issue_api_keys.revoke_key(tx, merchant.id, revoked.id, actor=NOBODY, now=clock.now())
            world.key_texts = {
                "expired": expired.text,
                "revoked": revoked.text,
                "inactive": inactive.key,
                "other": stranger.key,
                "read": (await world.key(merchant.id, [Permission.PAYMENTS_READ])).text,
                "create": (await world.key(merchant.id, [Permission.PAYMENTS_CREATE])).text,
                "wallet": (await world.key(merchant.id, [Permission.WALLET_READ])).text,
                "events": (await world.key(merchant.id, [Permission.EVENTS_READ])).text,
            }
            yield world


# What the names in the path stand for, and the body.
Prepared = tuple[Mapping[str, str], Any]


async def _transaction(world: World) -> str:
    key = await world.key(world.merchant_id, [Permission.PAYMENTS_CREATE])
    created = await world.client.as_(key.text)("POST", "/v1/payments", COLLECTION)
    return str(created.body["transaction"]["id"])


async def _by_transaction(world: World) -> Prepared:
    return {"id": await _transaction(world)}, None


async def _by_key(world: World) -> Prepared:
    return {"id": (await world.key(world.merchant_id, [Permission.WALLET_READ])).id}, None


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
    "POST /v1/payments/quote": _body({"type": "COLLECTION", "amount": 1000, "channel": "MPESA"}),
    "POST /v1/recipients/lookup": _body({"channel": "AIRTEL_MONEY", "phone": "+255684000001"}),  # nobody tells names
    "GET /v1/payments/{id}": _by_transaction,
    "POST /v1/payments/{id}/cancel": _by_transaction,
    "POST /merchant/auth/login": _log_in,
    "POST /merchant/auth/refresh": _refresh,
    "POST /merchant/auth/reset": _reset,
    "POST /merchant/auth/confirm": _body({"password": PASSWORD}),
    "POST /merchant/auth/password": _body({"currentPassword": PASSWORD, "newPassword": "mvua ya vuli 12"}),
    "POST /merchant/api-keys": _body({"name": "till", "permissions": ["wallet.read"]}),
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
