"""The webhook stack: merchants with endpoints and events, on a database of its own. No network takes part.

Events are made as in production: collections are created and cancelled, through `status_writer.py`.
"""

import asyncio
import contextlib
import dataclasses
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from malipo import clock as clocks
from malipo import ids
from malipo.app.assemble import Service, assemble
from malipo.clock import Clock
from malipo.db import Database
from malipo.outbox.event import Event
from malipo.payments.cancel import Cancellation
from malipo.payments.transaction import Transaction, Type
from malipo.restore.installation import NotComparedYet
from malipo.settings import Settings
from malipo.settings.environment import read
from malipo.webhooks import manage_endpoints
from malipo.webhooks.http_client import WebhookClient
from malipo.worker.run import work
from tests.conftest import NO_LIMITS, NOBODY, PATIENCE_SECONDS, Merchant, make_merchant
from tests.journeys.concurrency import order
from tests.journeys.full_stack import until

SECRET_KEY = "the-key-that-encrypts-the-secrets-of-this-stack"
SETTINGS: dict[str, Any] = NO_LIMITS | {
    "secret_key": SECRET_KEY,
    "webhook_allow_private": "true",
    "lapse_seconds": 86_400,
    "log_level": "warning",
}


class ManualClock:
    """A clock that only the test moves."""

    def __init__(self) -> None:
        self._now = clocks.now()

    def __call__(self) -> datetime:
        return self._now

    def move(self, by: timedelta) -> None:
        self._now += by

    def move_to(self, moment: datetime) -> None:
        self._now = moment


@dataclass(frozen=True)
class RegisteredEndpoint:
    """An endpoint of a merchant."""

    id: str
    merchant_id: str
    secret: str


@dataclass
class WebhookStack:
    database: Database
    database_url: str  # where workers find it
    environment: dict[str, str]
    settings: Settings
    clock: Clock
    service: Service

    async def merchant(self) -> Merchant:
        return await make_merchant(self.database)

    async def register(self, merchant: Merchant, url: str, events: Sequence[str] = tuple(Event)) -> RegisteredEndpoint:
        async with self.database.begin() as tx:
            endpoint, secret = await manage_endpoints.register(
                tx,
                merchant.id,
                url=url,
                events=events,
                encryption=self.service.encryption,
                actor=NOBODY,
                now=self.clock(),
            )
        return RegisteredEndpoint(endpoint.id, merchant.id, secret)

    async def open(self, merchant: Merchant, number: int = 1) -> list[Transaction]:
        """So many collections, which tell `payment.pending`."""

        async def one() -> Transaction:
            asked = order(merchant.id, Type.COLLECTION, 1000)
            assert asked.draft is not None
            now = self.clock()
            draft = replace(asked.draft, id=ids.mint("txn_", now), created_at=now)
            return (await self.service.payments.initiate(replace(asked, draft=draft))).transaction

        return list(await asyncio.gather(*(one() for _ in range(number))))

    async def take_back(self, opened: Sequence[Transaction]) -> None:
        """Each has the event `payment.cancelled`. A server that has just restarted refuses until a worker has compared it."""

        async def one(each: Transaction) -> None:
            with contextlib.suppress(NotComparedYet):
                await self.service.payments.cancel(Cancellation(each.merchant_id, each.id))

        await asyncio.gather(*(one(each) for each in opened))

    async def make_events(self, merchant: Merchant, number: int) -> None:
        """So many events, of both kinds."""
        opened = await self.open(merchant, number - number // 2)
        await self.take_back(opened[: number // 2])

    @asynccontextmanager
    async def a_worker(
        self,
        *,
        lease_seconds: float | None = None,
        at_point: Callable[[str], None] = lambda _: None,
        webhook_client: WebhookClient | None = None,
        **settings: Any,
    ) -> AsyncIterator[Service]:
        """A worker in this process, with a pool of its own and the stack's clock."""
        stop = asyncio.Event()
        async with Database.opened(self.database_url, size=10, connect_seconds=PATIENCE_SECONDS) as database:
            service = assemble(
                dataclasses.replace(self.settings, **settings),
                database,
                clock=self.clock,
                webhook_client=webhook_client,
            )
            running = asyncio.ensure_future(
                work(service, self.database_url, stop, finish_seconds=0, lease_seconds=lease_seconds, at_point=at_point)
            )
            try:
                yield service
            finally:
                stop.set()
                with contextlib.suppress(asyncio.CancelledError):
                    await running
                await service.finish()

    async def make_commits_slow(self, sql: str) -> None:
        """Let the server work for a while inside each COMMIT of whoever does this to a table."""
        act, table = re.findall(r"(INSERT|UPDATE)(?: INTO)? ([a-z_]+)", sql)[0]
        async with self.database.begin() as tx:
            await tx.execute(
                f"""
                CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS '
                    BEGIN
                        IF current_setting(''market.slow'', true) IS DISTINCT FROM pg_current_xact_id()::text THEN
                            PERFORM set_config(''market.slow'', pg_current_xact_id()::text, true);
                            PERFORM pg_sleep(0.3);
                        END IF;
                        RETURN NULL;
                    END';
                CREATE CONSTRAINT TRIGGER slow AFTER {act} ON {table} DEFERRABLE INITIALLY DEFERRED
                    FOR EACH ROW EXECUTE FUNCTION dawdle();
                """
            )

    async def rows(self, sql: str, *arguments: object) -> list[dict[str, Any]]:
        async with self.database.read() as connection:
            return [dict(row) for row in await connection.fetch(sql, *arguments)]

    async def states(self, endpoint: RegisteredEndpoint | None = None) -> dict[str, int]:
        """How many deliveries are in which state, of an endpoint or of all."""
        rows = await self.rows(
            "SELECT state, count(*) FROM webhook_deliveries WHERE $1::text IS NULL OR endpoint_id = $1 GROUP BY state",
            endpoint.id if endpoint else None,
        )
        return {row["state"]: row["count"] for row in rows}

    async def until_delivered(self, *, seconds: float = PATIENCE_SECONDS) -> None:
        """Return when every event has its place, and every delivery is delivered."""

        async def is_delivered() -> bool:
            rows = await self.rows("SELECT FROM events WHERE feed_number IS NULL LIMIT 1")
            return not rows and set(await self.states()) <= {"DELIVERED"}

        await until(is_delivered, seconds=seconds, pause=0.05, what="the delivery of everything")


@asynccontextmanager
async def webhook_stack(
    database_url: str,
    *,
    via: str | None = None,
    clock: Clock = clocks.now,
    answer_seconds: int = 60,
    **settings: Any,
) -> AsyncIterator[WebhookStack]:
    """`via` is where its workers find the database, if not where it is; `answer_seconds` are how long the API waits for
    what a receiver answers to a test event."""
    variables = {f"MALIPO_{name.upper()}": str(value) for name, value in (SETTINGS | settings).items()}
    variables["MALIPO_DATABASE_URL"] = via or database_url
    read_settings = read(variables)
    async with Database.opened(database_url, size=20, connect_seconds=PATIENCE_SECONDS) as database:
        # The test chooses the patience of the workers; the service that creates payments has plenty.
        patient = dataclasses.replace(
            read_settings, database_patience_seconds=120, webhook_timeout_seconds=answer_seconds
        )
        service = assemble(patient, database, clock=clock)
        yield WebhookStack(database, via or database_url, variables, read_settings, clock, service)
        await service.finish()
