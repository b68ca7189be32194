"""A running service with everything in it that the contract speaks of."""

import asyncio
import ipaddress
import itertools
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import requests
from schemathesis import Case

from malipo import clock
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.merchants import manage_people
from malipo.merchants.roles import Role
from malipo.merchants.store import approval_rules, people
from malipo.merchants.store.approval_rules import ApprovalRules
from malipo.outbox.event import Event
from malipo.payments.transaction import Status
from malipo.settings import Settings
from malipo.webhooks import manage_endpoints
from malipo.webhooks.delivery_state import DeliveryState
from malipo.webhooks.store import delivery_history
from tests.api.conftest import bring, created
from tests.cheap_hash import cheap_hash
from tests.conftest import (
    COLLECTION,
    NO_LIMITS,
    NOBODY,
    PATIENCE_SECONDS,
    PAYOUT,
    Client,
    Merchant,
    create_database,
    make_merchant,
    starting,
    until_ready,
)
from tests.journeys.full_stack import Elsewhere, a_worker, until
from tests.journeys.webhook_receivers import a_receiver
from tests.networks.rsa_keys import MPESA_PUBLIC_KEY
from tests.settlement.settlement_steps import add_account

# A network that is connected, and that nobody calls; and one that could tell names, if it answered.
CONNECTED = {
    "clickpesa_base_url": "http://127.0.0.1:9/third-parties",
    "clickpesa_client_id": "id",
    "clickpesa_api_key": "key",
    "mpesa_base_url": "http://127.0.0.1:9/mpesa",
    "mpesa_api_key": "key",
    "mpesa_public_key": MPESA_PUBLIC_KEY,
    "mpesa_service_provider_code": "000000",
    "mpesa_callback_token": "a-token-of-the-contract",
}
PASSWORD = "maji ya kunde 7"
BATCHES = "/v1/payments/disburse/batches"

# Wide enough for everything here; without limits there would be no headers that tell them.
WIDE_LIMITS = dict.fromkeys(NO_LIMITS, 1_000_000)


# What random requests do to an endpoint that there is. Without a worker a test would be waited for in vain.
ABOUT_AN_ENDPOINT = (
    "getWebhook",
    "changeWebhook",
    "rotateSecret",
    "finishRotation",
    "listDeliveries",
    "getDelivery",
    "redeliver",
    "recover",
)
HOOKS: dict[str, Any] = {"webhook_allow_private": True, "secret_key": "a-secret-of-the-contract-that-nobody-knows"}


@dataclass
class World:
    """A running service with a merchant who has money, people who are logged in, payments in every status, and a
    webhook endpoint that was told of them."""

    url: str
    merchant: Merchant
    reader: Merchant  # somebody who only reads the page, and has not paid before
    settler: Merchant  # whose wallet random requests may settle to the bank, all of it
    token: str
    payments: dict[Status, str]
    people: list[str]
    endpoints: list[str]
    deliveries: list[str]
    log: Path
    database_url: str
    batches: list[str]
    numbers: Iterator[int] = field(default_factory=itertools.count)
    links: list[str] = field(default_factory=list)
    settlements: list[str] = field(default_factory=list)
    collected: str = ""  # a collection that is COMPLETED, and that no random request speaks of
    # Connections are kept, and the environment is not searched for a proxy at each of thousands of requests.
    session: requests.Session = field(default_factory=requests.Session)

    def __post_init__(self) -> None:
        self.session.trust_env = False

    def make_real(self, operation: str, case: Case[Any]) -> None:
        """Let a random request speak of things that there are."""
        number = next(self.numbers)
        # What has ended is answered at once, also to somebody who would wait.
        ended = [self.payments[status] for status in Status if status.is_final]
        names = {
            "retrieve": ended,
            "cancel": list(self.payments.values()),
            "refund": ended,
            "receipt": ended,
            "changeRole": self.people,
        }.get(operation)
        if operation in ("getBatch", "listBatchItems", "approveBatch", "cancelBatch"):
            names = self.batches
        if operation in ("getLink", "cancelLink"):
            names = self.links
        if operation in ("getSettlement", "cancelSettlement", "getSettlementReport"):
            names = self.settlements
        if operation.removesuffix("ByKey") in ABOUT_AN_ENDPOINT:
            names = self.endpoints
        if names is not None:
            case.path_parameters["id"] = [*names, "unknown"][number % (len(names) + 1)]
        if "delivery" in case.path_parameters and number % 4:
            case.path_parameters["delivery"] = self.deliveries[number % len(self.deliveries)]
        if "Idempotency-Key" in case.headers and number % 3:
            case.headers["Idempotency-Key"] = f"contract-{number}"

    def headers_for(self, case: Case[Any]) -> dict[str, str]:
        """The credential of the route, and an address of its own where attempts are counted for each address."""
        headers = {"x-forwarded-for": self.address()} if case.path.startswith("/merchant/auth") else {}
        match case.operation.definition.raw["security"]:
            case [{"apiKey": _}] if case.path.startswith("/v1/settlements"):
                headers["x-api-key"] = self.settler.key
            case [{"apiKey": _}]:
                headers["x-api-key"] = self.merchant.key
            case [{"bearer": _}]:
                # Whoever logs out is somebody else, so that the owner stays in.
                is_leaving = case.path == "/merchant/auth/logout"
                headers["Authorization"] = f"Bearer {self.log_in('leaver@duka.example') if is_leaving else self.token}"
        return headers

    def a_worker(self) -> AbstractAsyncContextManager[Service]:
        return a_worker(Elsewhere(self.database_url, Settings(**NO_LIMITS, **HOOKS)))

    def address(self) -> str:
        return str(ipaddress.IPv4Address("10.0.0.0") + next(self.numbers))

    def log_in(self, email: str) -> str:
        answer = self.session.post(
            f"{self.url}/merchant/auth/login",
            json={"email": email, "password": PASSWORD},
            headers={"x-forwarded-for": self.address()},
            timeout=240,
        )
        assert answer.status_code == 200, answer.text
        return str(answer.json()["token"])


METRICS_TOKEN = "5b1f0c9e7d3a48f6a2c4e8d0b6f1a3c5"  # Behind a proxy nobody else reads them.


@pytest.fixture(scope="module")
def world(postgres: str, template: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    database_url = asyncio.run(create_database(postgres, template))
    with starting(tmp_path_factory.mktemp("contract")) as start:
        # Attempts to log in are counted for each address; a proxy that we trust tells as many as we like.
        proxied = {"trusted_proxies": "127.0.0.1/32", "metrics_token": METRICS_TOKEN}
        running = start("api", database_url=database_url, **proxied, **WIDE_LIMITS, **CONNECTED, **HOOKS)
        world = asyncio.run(_furnish(running, database_url))
        with world.session:
            yield world


async def _furnish(running: Any, database_url: str) -> World:
    await until_ready(running)
    async with Database.opened(database_url, size=4, connect_seconds=PATIENCE_SECONDS) as database:
        merchant = await make_merchant(database, wallet=10**15)
        password_hash = cheap_hash()
        ids = {}
        async with database.begin() as tx:
            for name, role in (("owner", Role.OWNER), ("leaver", Role.STAFF), ("juma", Role.VIEWER)):
                person = await manage_people.add_person(
                    tx, merchant.id, email=f"{name}@duka.example", name=name, role=role, actor=NOBODY, now=clock.now()
                )
                await people.set_password(tx, person.id, password_hash)
                ids[name] = person.id
        service = assemble(Settings(**NO_LIMITS, **HOOKS), database)
        payments = await _payments(running.url, service, merchant)
        batches = await _batches(running.url, service, merchant)
        endpoint, deliveries = await _move_payments(service, merchant, database_url)
        async with aiohttp.ClientSession() as http:
            linked = Client(http, running.url, merchant.key)
            made = [await linked("POST", "/v1/links", {"description": "Order", "amount": 1000}) for _ in range(2)]
            links = [str(each.body["link"]["id"]) for each in made]
            settler, reader = (
                await make_merchant(database, wallet=10**15),
                await make_merchant(database, wallet=1_000_000),
            )
            for each in (merchant, settler, reader):
                await add_account(database, each.id, now=clock.now())
            settling = linked.as_(settler.key)
            settled = [await settling("POST", "/v1/settlements", {"amount": 1000}) for _ in range(2)]
            settlements = [str(each.body["settlement"]["id"]) for each in settled]
            collected = str((await created(Client(http, running.url, merchant.key), COLLECTION))["id"])
        await bring(service, merchant, collected, Status.COMPLETED)
        await service.finish()
    present = [ids["leaver"], ids["juma"]]
    world = World(
        running.url,
        merchant,
        reader,
        settler,
        "",
        payments,
        present,
        [endpoint],
        deliveries,
        running.log,
        database_url,
        batches,
    )
    world.token = world.log_in("owner@duka.example")
    world.collected = collected
    world.links = links
    world.settlements = settlements
    return world


async def _move_payments(service: Service, merchant: Merchant, database_url: str) -> tuple[str, list[str]]:
    """An endpoint that was told of all that became of the payments; and the deliveries."""
    async with a_receiver() as shop:
        async with service.queries.database.begin() as tx:
            endpoint, _ = await manage_endpoints.register(
                tx,
                merchant.id,
                url=shop.url("/"),
                events=list(Event),
                encryption=service.encryption,
                actor=NOBODY,
                now=clock.now(),
            )

        async def find_all() -> list[str] | None:
            async with service.queries.database.read() as connection:
                found = await delivery_history.page(
                    connection, endpoint.id, state=DeliveryState.DELIVERED, before=None, limit=100
                )
                number = await connection.fetchval("SELECT count(*) FROM events WHERE merchant_id = $1", merchant.id)
            return [each.event_id for each in found] if len(found) == number else None

        async with a_worker(Elsewhere(database_url, service.settings)):
            return endpoint.id, await until(find_all, pause=0.05)


async def _batches(url: str, service: Service, merchant: Merchant) -> list[str]:
    """One that awaits approval, one that is running, and one that was cancelled. One person is enough to approve."""
    async with service.queries.database.begin() as tx:
        await approval_rules.save(tx, merchant.id, ApprovalRules(takes_two=False, above=None))
    async with aiohttp.ClientSession() as http:
        api = Client(http, url, merchant.key)
        made = [await api("POST", BATCHES, {"items": [PAYOUT, PAYOUT]}) for _ in range(3)]
        ids = [str(each.body["batch"]["id"]) for each in made]
        assert (await api("POST", f"{BATCHES}/{ids[1]}/approve")).status == 200
        assert (await api("POST", f"{BATCHES}/{ids[2]}/cancel")).status == 200
    return ids


async def _payments(url: str, service: Service, merchant: Merchant) -> dict[Status, str]:
    """One payment in every status, by its id; collections and payouts in turn."""
    ids = {}
    async with aiohttp.ClientSession() as http:
        api = Client(http, url, merchant.key)
        for status, body in zip(Status, itertools.cycle([COLLECTION, PAYOUT])):
            ids[status] = (await created(api, body | {"metadata": {"orderId": "A-1"}}))["id"]
            await bring(service, merchant, ids[status], status)
    return ids
