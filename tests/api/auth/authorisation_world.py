"""A live service, and one of every kind of caller: what the table of authorisation is tried with."""

import secrets
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import aiohttp
import pytest

from malipo import clock
from malipo.db import Database
from malipo.encryption import Encryption
from malipo.merchants import issue_api_keys, manage_people, onboard
from malipo.merchants.api_keys import Environment, KeyTerms, Permission
from malipo.merchants.roles import Role
from malipo.merchants.store import api_keys, people
from malipo.outbox.event import Event
from malipo.settings import Settings
from malipo.webhooks import manage_endpoints
from malipo.webhooks.store import endpoints
from tests.cheap_hash import cheap_hash
from tests.conftest import (
    NO_LIMITS,
    NOBODY,
    PATIENCE_SECONDS,
    Client,
    create_database,
    make_merchant,
    starting,
    until_ready,
)
from tests.journeys.full_stack import Elsewhere, a_worker
from tests.kept_database import PlanningDatabase

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
                KeyTerms(
                    name="test", permissions=tuple(permissions), environment=Environment.LIVE, brand="mlp", **changes
                ),
                actor=NOBODY,
                now=clock.now(),
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
            PlanningDatabase.opened(url, size=4, connect_seconds=PATIENCE_SECONDS) as database,
            aiohttp.ClientSession() as http,
            a_worker(Elsewhere(url, Settings(**HOOKS))),
        ):
            merchant = await make_merchant(database, wallet=1_000_000)
            stranger = await make_merchant(database, wallet=1_000_000)
            inactive = await make_merchant(database)
            world = World(Client(http, running.url, None), database, merchant.id, stranger.id)
            world.password_hash = cheap_hash()
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
                "take": (await world.key(merchant.id, [Permission.PAYMENTS_COLLECT])).text,
                "pay": (await world.key(merchant.id, [Permission.PAYMENTS_DISBURSE])).text,
                "wallet": (await world.key(merchant.id, [Permission.WALLET_READ])).text,
                "events": (await world.key(merchant.id, [Permission.EVENTS_READ])).text,
            }
            yield world
