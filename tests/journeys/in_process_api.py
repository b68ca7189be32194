"""malipo's API in the test's own process, over real HTTP, so that the test's clock is its clock too.

And a webhook scenario, with which most tests of webhooks begin: one merchant, a receiver, a worker and such an API.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import aiohttp
import uvicorn

from malipo import ids
from malipo.accounts.bearer_tokens import Tokens
from malipo.api.app import App
from malipo.api.http.protocol import Protocol
from malipo.merchants import manage_people
from malipo.merchants.roles import Role
from malipo.merchants.store import sessions
from malipo.outbox.event import Event
from tests.conftest import NOBODY, Answer, Client, Merchant, free_port
from tests.journeys.full_stack import until
from tests.journeys.webhook_receivers import Behaviour, Receiver, a_receiver, good, says
from tests.journeys.webhook_stack import SECRET_KEY, ManualClock, RegisteredEndpoint, WebhookStack, webhook_stack


@dataclass
class InProcessApi:
    webhook_stack: WebhookStack
    client: Client
    people: dict[str, str]  # a session for each merchant
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def __call__(self, merchant: Merchant, method: str, path: str, body: Any = None) -> Answer:
        """Somebody of this merchant asks, logged in."""
        async with self._one_at_a_time:
            session_id = self.people.get(merchant.id) or await self._log_in(merchant)
        token = Tokens(SECRET_KEY).make(session_id, now=self.webhook_stack.clock())
        return await self.client.as_(None)(method, path, body, headers={"Authorization": f"Bearer {token}"})

    async def events(self, merchant: Merchant, query: str = "") -> Answer:
        return await self.client.as_(merchant.key)("GET", f"/v1/events{query}")

    async def _log_in(self, merchant: Merchant) -> str:
        now = self.webhook_stack.clock()
        session_id = ids.mint("ses_", now)
        async with self.webhook_stack.database.begin() as tx:
            email = f"{merchant.id}@example.com"
            person = await manage_people.add_person(
                tx, merchant.id, email=email, name="", role=Role.OWNER, actor=NOBODY, now=now
            )
            for_long = now + timedelta(days=1000)
            await sessions.insert(
                tx, session_id, person.id, now=now, confirmed_at=now, expires_at=for_long, address="", user_agent="test"
            )
        self.people[merchant.id] = session_id
        return session_id


@asynccontextmanager
async def in_process_api(webhook_stack: WebhookStack) -> AsyncIterator[InProcessApi]:
    port = free_port()
    config = uvicorn.Config(
        App(webhook_stack.service),
        port=port,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
    )
    server = uvicorn.Server(config)
    serving = asyncio.ensure_future(server.serve())
    try:
        await until(lambda: _has_started(server), pause=0.01, what="the start of the API")
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            yield InProcessApi(webhook_stack, Client(http, f"http://127.0.0.1:{port}", None), {})
    finally:
        webhook_stack.service.long_polls.release()
        server.should_exit = True
        await serving


async def _has_started(server: uvicorn.Server) -> bool:
    return server.started


@dataclass
class WebhookScenario:
    manual_clock: ManualClock
    stack: WebhookStack
    api: InProcessApi
    receiver: Receiver
    merchant: Merchant
    _probe: RegisteredEndpoint  # an endpoint that shows that the worker has polled

    async def look(self) -> None:
        """Return when the worker has taken up everything that is due now."""
        answer = await self.api(self.merchant, "POST", f"/merchant/webhooks/{self._probe.id}/test")
        assert answer.body["delivery"]["state"] == "DELIVERED", answer.body

    async def register(
        self, path: str, events: Sequence[Event] = (Event.PAYMENT_PENDING,), *, behaviour: Behaviour = good
    ) -> RegisteredEndpoint:
        return await self.stack.register(self.merchant, self.receiver.behave(path, behaviour), events)

    async def ask(self, endpoint: RegisteredEndpoint, method: str, path: str = "", body: Any = None) -> Answer:
        return await self.api(self.merchant, method, f"/merchant/webhooks/{endpoint.id}{path}", body)

    async def shown(self, endpoint: RegisteredEndpoint) -> dict[str, Any]:
        answer = await self.ask(endpoint, "GET")
        assert answer.status == 200, answer.body
        return dict(answer.body["endpoint"])

    async def change(self, endpoint: RegisteredEndpoint, **fields: Any) -> dict[str, Any]:
        answer = await self.ask(endpoint, "PATCH", body=fields)
        assert answer.status == 200, answer.body
        return dict(answer.body["endpoint"])

    async def deliveries(self, endpoint: RegisteredEndpoint, *, state: str | None = None) -> list[dict[str, Any]]:
        answer = await self.ask(endpoint, "GET", "/deliveries?limit=100" + (f"&state={state}" if state else ""))
        assert answer.status == 200, answer.body
        return list(answer.body["deliveries"])

    async def until_attempts(self, endpoint: RegisteredEndpoint, number: int) -> None:
        """Return when so many attempts are written down."""

        async def is_written() -> bool:
            rows = await self.stack.rows("SELECT FROM webhook_attempts WHERE endpoint_id = $1", endpoint.id)
            return len(rows) >= number

        await until(is_written, pause=0.02, what=f"attempt {number}")

    async def until_states(self, endpoint: RegisteredEndpoint, **states: int) -> None:
        async def are_so() -> bool:
            return await self.stack.states(endpoint) == states

        try:
            await until(are_so, pause=0.02, what=f"{states}")
        except AssertionError:
            assert await self.stack.states(endpoint) == states
            raise


@asynccontextmanager
async def webhook_scenario(database_url: str, **settings: Any) -> AsyncIterator[WebhookScenario]:
    manual_clock = ManualClock()
    # Answers come within it on a busy machine too; those who hang are waited for so long.
    async with (
        webhook_stack(database_url, clock=manual_clock, **{"webhook_timeout_seconds": 6} | settings) as stack,
        a_receiver() as receiver,
        in_process_api(stack) as opened,
        stack.a_worker(),
    ):
        merchant = await stack.merchant()
        # Its connection is not kept: what goes wrong on a kept one is tried again within the same attempt.
        alone = says(200, headers=(("Connection", b"close"),))
        probe = await stack.register(merchant, receiver.behave("/probe", alone), [Event.PAYOUT_COMPLETED])
        yield WebhookScenario(manual_clock, stack, opened, receiver, merchant, probe)
