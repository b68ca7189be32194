"""One live service for all tests of the door. Each test has a merchant of its own, so that none disturbs another."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from malipo import ids
from malipo.app.assemble import Service, assemble
from malipo.db import Database
from malipo.networks.connector import Channel
from malipo.payments.initiate import PaymentRequest
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause, Status, Transaction, Type
from malipo.settings import Settings
from tests.conftest import (
    NO_LIMITS,
    PATIENCE_SECONDS,
    Answer,
    Client,
    Merchant,
    Running,
    create_database,
    make_merchant,
    starting,
    until_ready,
)
from tests.journeys.in_process_api import InProcessApi, in_process_api
from tests.journeys.webhook_receivers import Receiver, a_receiver
from tests.journeys.webhook_stack import SECRET_KEY, webhook_stack
from tests.kept_database import PlanningDatabase
from tests.status_changes import change_status

Make = Callable[..., Awaitable[Merchant]]


@pytest.fixture(scope="package")
async def database_url(postgres: str, template: str) -> str:
    return await create_database(postgres, template)


@pytest.fixture(scope="package")
async def database(database_url: str) -> AsyncIterator[Database]:
    async with PlanningDatabase.opened(database_url, size=20, connect_seconds=PATIENCE_SECONDS) as database:
        yield database


@pytest.fixture(scope="package")
async def service(database: Database) -> AsyncIterator[Service]:
    """The parts on the same database, to do what a network would."""
    service = assemble(Settings(**NO_LIMITS), database)
    yield service
    await service.finish()


@asynccontextmanager
async def live(folder: Path, database_url: str, **settings: Any) -> AsyncIterator[Running]:
    """A malipo process with these settings."""
    with starting(folder) as start:
        yield await until_ready(start("api", database_url=database_url, **settings))


@pytest.fixture(scope="package")
async def running(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> AsyncIterator[Running]:
    """The service without rate limits."""
    async with live(tmp_path_factory.mktemp("api"), database_url, secret_key=SECRET_KEY, **NO_LIMITS) as running:
        yield running


FLEET_LIMITS = {"rate_limit_create": 3, "rate_limit_list": 5, "rate_limit_other": 50}


@pytest.fixture(scope="package")
async def fleet(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> AsyncIterator[list[Running]]:
    """Two processes on the same database, with small rate limits."""
    async with (
        live(tmp_path_factory.mktemp("fleet"), database_url, **FLEET_LIMITS) as one,
        live(tmp_path_factory.mktemp("fleet"), database_url, **FLEET_LIMITS) as other,
    ):
        yield [one, other]


@pytest.fixture(scope="package")
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        yield http


@pytest.fixture
def api(running: Running, http: aiohttp.ClientSession, merchant: Merchant) -> Client:
    """The service, called by the merchant."""
    return Client(http, running.url, merchant.key)


@pytest.fixture
async def stranger(database: Database) -> Merchant:
    """Another merchant, with a full wallet too."""
    return await make_merchant(database, wallet=1_000_000, name="Another")


# How a transaction gets to a status.
WAYS: dict[Status, tuple[Cause, ...]] = {
    Status.PENDING: (),
    Status.PROCESSING: (Cause.SUBMITTED,),
    Status.COMPLETED: (Cause.SUBMITTED, Cause.CONFIRMED),
    Status.FAILED: (Cause.SUBMITTED, Cause.REFUSED),
    Status.CANCELLED: (Cause.WITHDRAWN,),
}


async def move(service: Service, merchant: Merchant, id_: str, cause: Cause) -> None:
    """What happens to a transaction, as the network or the merchant says."""
    learned: dict[str, str] = {}
    if cause is Cause.CONFIRMED:
        learned = {"provider_reference": "NET-42"}
    elif cause in (Cause.REFUSED, Cause.LAPSED):
        learned = {"failure_code": "declined", "failure_reason": "The customer declined."}
    outcome = await change_status(
        service, StatusChange(merchant_id=merchant.id, transaction_id=id_, cause=cause, **learned)
    )
    assert outcome is not None
    assert outcome.has_moved


async def bring(service: Service, merchant: Merchant, id_: str, status: Status) -> None:
    """Bring a PENDING transaction to this status."""
    for cause in WAYS[status]:
        await move(service, merchant, id_, cause)


async def place(
    service: Service,
    merchant: Merchant,
    *,
    at: datetime,
    type_: Type = Type.COLLECTION,
    channel: Channel = Channel.MPESA,
    phone: str = "+255754000001",
    name: str = "",
    order_reference: str | None = None,
    key: str | None = None,
) -> Transaction:
    """A transaction of TZS 1,000 that was created at a chosen time."""
    suffix = ids.suffix(at)
    draft = Transaction(
        merchant_id=merchant.id,
        id=ids.mint("txn_", at),
        reference=service.payments.terms.reference_of(suffix),
        network_key=suffix,
        type=type_,
        channel=channel,
        status=Status.PENDING,
        amount=1000,
        fee=0,
        phone=phone,
        name=name,
        description="",
        metadata={},
        created_at=at,
        order_reference=order_reference,
    )
    order = PaymentRequest(merchant_id=merchant.id, type=type_, draft=draft, problem=None, key=key, request_hash=b"")
    return (await service.payments.initiate(order)).transaction


async def created(api: Client, body: dict[str, Any]) -> dict[str, Any]:
    """The transaction that this request makes."""
    route = "/v1/payments" if "buyerPhone" in body else "/v1/payments/disburse"
    answer = await api("POST", route, body)
    assert answer.status == 201, answer
    transaction: dict[str, Any] = answer.body["transaction"]
    return transaction


async def shown(api: Client, id_: str) -> dict[str, Any]:
    """The transaction as it is now."""
    answer = await api("GET", f"/v1/payments/{id_}")
    assert answer.status == 200, answer
    transaction: dict[str, Any] = answer.body["transaction"]
    return transaction


async def wallet(api: Client) -> tuple[int, int]:
    """What is available, and what is reserved."""
    answer = await api("GET", "/v1/wallet")
    assert answer.status == 200, answer
    return answer.body["wallet"]["available"], answer.body["wallet"]["reserved"]


async def total(api: Client) -> int:
    """How many transactions the merchant has."""
    answer = await api("GET", "/v1/payments?limit=1")
    assert answer.status == 200, answer
    count: int = answer.body["pagination"]["total"]
    return count


def is_refused(answer: Answer, status: int, code: str, *fields: str) -> bool:
    """In the shape of the contract, with these bad fields and no others."""
    shape = {"error", "details"} if fields else {"error"}
    return (
        (answer.status, answer.code) == (status, code)
        and set(answer.body) == shape
        and set(answer.body.get("details", ())) == set(fields)
    )


# Webhooks


@pytest.fixture(scope="package")
async def gate(postgres: str, template: str) -> AsyncIterator[InProcessApi]:
    """The API in this process, on a database of its own. Webhooks may go to this machine; workers are the test's."""
    own = await create_database(postgres, template)
    async with webhook_stack(own) as here, in_process_api(here) as gate:
        yield gate


@pytest.fixture
async def shop() -> AsyncIterator[Receiver]:
    """A merchant's server."""
    async with a_receiver() as receiver:
        yield receiver


@dataclass(frozen=True)
class Desk:
    """Somebody of a merchant who works with its webhooks."""

    gate: InProcessApi
    merchant: Merchant

    async def __call__(self, method: str, path: str = "", body: Any = None) -> Answer:
        return await self.gate(self.merchant, method, f"/merchant/webhooks{path}", body)

    async def register(self, url: str, *events: str) -> dict[str, Any]:
        """A new endpoint, with its secret; it is told all that becomes of collections, unless events are named."""
        wanted = events or ("payment.pending", "payment.completed", "payment.failed", "payment.cancelled")
        answer = await self("POST", "", {"url": url, "events": list(wanted)})
        assert answer.status == 201, answer
        endpoint: dict[str, Any] = answer.body["endpoint"]
        return endpoint

    async def shown(self, id_: str) -> dict[str, Any]:
        answer = await self("GET", f"/{id_}")
        assert answer.status == 200, answer
        endpoint: dict[str, Any] = answer.body["endpoint"]
        return endpoint

    async def deliveries(self, id_: str, query: str = "") -> list[dict[str, Any]]:
        answer = await self("GET", f"/{id_}/deliveries{query}")
        assert answer.status == 200, answer
        found: list[dict[str, Any]] = answer.body["deliveries"]
        return found


@pytest.fixture
async def desk(gate: InProcessApi) -> Desk:
    return Desk(gate, await gate.webhook_stack.merchant())
