"""Somebody at /dashboard/webhooks, with endpoints and what was sent there."""

import itertools
import re
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import pytest

from malipo import clock, ids
from malipo.app.assemble import Service
from malipo.db import Database
from malipo.merchants.roles import Role
from malipo.webhooks.delivery_state import Attempt
from malipo.webhooks.endpoint import Endpoint
from malipo.webhooks.store import delivery_history, delivery_queue, endpoints
from tests.conftest import Merchant, Running, make_merchant
from tests.dashboard.page_client import Seen, Surfer, add_person, surfing

PATH = "/dashboard/webhooks"
URL = "https://41.59.1.20/hook"
GOOD = [("url", URL), ("events", "payment.pending"), ("events", "payout.failed")]
SECRET = re.compile(r"whsec_[A-Za-z0-9+/]{43}=")
ROW = re.compile(r"/deliveries/(evt_\w+)\"")
numbers = itertools.count(1)


@dataclass
class WebhookPages:
    """Somebody in front of a merchant's endpoints."""

    surfer: Surfer
    service: Service
    merchant: Merchant

    async def add(self, fields: Sequence[tuple[str, str]] = GOOD) -> Endpoint:
        assert (await self.surfer.post(PATH, fields)).status == 201
        return (await self.endpoints())[-1]

    async def endpoints(self) -> list[Endpoint]:
        return await self.service.queries.read(lambda connection: endpoints.find_all(connection, self.merchant.id))

    async def deliveries(self, endpoint: Endpoint) -> list[delivery_history.DeliveryHistory]:
        return await self.service.queries.read(
            lambda connection: delivery_history.page(connection, endpoint.id, state=None, before=None, limit=100)
        )

    async def deliver(self, endpoint: Endpoint, at: datetime | None = None) -> str:
        """A delivery that waits."""
        event_id = ids.mint("evt_", at or clock.now())
        new = delivery_queue.NewDelivery(endpoint.id, event_id, self.merchant.id, "payment.pending", claim_id="clm_1")
        async with self.service.queries.database.begin() as tx:
            await delivery_queue.insert(tx, [new], lease_seconds=60, now=clock.now())
        return event_id

    async def answer(
        self,
        endpoint: Endpoint,
        event_id: str,
        *,
        status: int | None = 200,
        body: bytes = b"",
        headers: Sequence[tuple[str, str]] = (),
        error: str | None = None,
    ) -> None:
        """What a worker would write down after a try."""
        at = clock.now()
        key, attempt_id = (endpoint.id, event_id), ids.mint("att_", at)
        await self.service.attempts.record(
            Attempt(key, "clm_1", attempt_id, at, 1234, status, headers, body, error=error)
        )


@pytest.fixture
async def surfer(running: Running) -> AsyncIterator[Surfer]:
    async with surfing(running.url, seen_from=f"10.42.0.{next(numbers)}") as surfer:
        yield surfer


@pytest.fixture
async def desk(surfer: Surfer, database: Database, service: Service) -> WebhookPages:
    merchant = await make_merchant(database)
    person = await add_person(database, merchant.id, f"staff+{secrets.token_hex(6)}@example.com", Role.STAFF)
    assert (await surfer.log_in(person.email)).status == 303
    return WebhookPages(surfer, service, merchant)


def secret_in(seen: Seen) -> str:
    found = set(SECRET.findall(seen.text.replace("&#43;", "+").replace("&#47;", "/")))
    assert len(found) == 1, seen.words
    return str(found.pop())
