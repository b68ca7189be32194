"""Workers and their PostgreSQL are killed, again and again, while thousands of events go to receivers that fail at random.

In the end each endpoint got every event that it subscribed to, at least once, and a repeated delivery has the same bytes.
"""

import asyncio
import hashlib
import hmac
import os
import random
import signal
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from malipo.db import Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.outbox.event import Event
from tests.conftest import PATIENCE_SECONDS, Merchant
from tests.journeys import database_facts
from tests.journeys.full_stack import until
from tests.journeys.webhook_receivers import Receiver, a_receiver, fails_at_random
from tests.journeys.webhook_stack import RegisteredEndpoint as Stand
from tests.journeys.webhook_stack import WebhookStack, webhook_stack
from tests.journeys.worker_stack import CrashingWorker, a_crashing_worker

# Where the workers die, and at which coming to it. Two of them live at a time.
DEATHS = [
    [("fanning", 2), ("sending", 40), ("recorded", 60), ("random", 1)],
    [("claimed", 3), ("random", 2), ("answered", 50), ("fanning", 1)],
]
EACH_TIME = 320  # events for each death
LEASE_SECONDS = 1.5
FAILING = 0.1
# Often enough that nothing is ever given up.
AT_ONCE = ",".join(["0"] * 40)

pytestmark = pytest.mark.slow  # All of it happens in the setup of the first test.


@pytest.fixture(scope="module")
async def place(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[WebhookStack, Path]]:
    """A market whose PostgreSQL is its own, and can be killed."""
    data_dir = tmp_path_factory.mktemp("mortal")
    with server(data_dir) as url:
        async with Database.opened(url, size=4, connect_seconds=PATIENCE_SECONDS) as database:
            await migrate(database)
        async with webhook_stack(url, webhook_retry_seconds=AT_ONCE, database_patience_seconds=30) as place:
            yield place, data_dir


@dataclass(frozen=True)
class Subscription:
    stand: Stand
    path: str
    events: tuple[Event, ...]


class CrashRun:
    """Which endpoints get which events, and how the workers that send them die."""

    def __init__(self, place: WebhookStack, data_dir: Path, folder: Path, receiver: Receiver) -> None:
        self._place = place
        self._data_dir = data_dir
        self._folder = folder
        self._receiver = receiver
        self._chance = random.Random(2000)
        self._merchants: list[Merchant] = []
        self.subscriptions: list[Subscription] = []
        self.deaths: list[int | None] = []
        self.logs: list[Path] = []

    async def begin(self) -> None:
        self._merchants = [await self._place.merchant(), await self._place.merchant()]
        first, second = self._merchants
        await self._listen(first, "/all", tuple(Event), fails=FAILING)
        await self._listen(first, "/cancelled", (Event.PAYMENT_CANCELLED,), fails=FAILING)
        await self._listen(first, "/payouts", (Event.PAYOUT_COMPLETED, Event.PAYMENT_COMPLETED), fails=0)
        await self._listen(second, "/second", (Event.PAYMENT_PENDING, Event.PAYMENT_CANCELLED), fails=0.25)

    async def _listen(self, merchant: Merchant, path: str, events: tuple[Event, ...], *, fails: float) -> None:
        url = self._receiver.behave(path, fails_at_random(fails, self._chance))
        self.subscriptions.append(Subscription(await self._place.register(merchant, url, events), path, events))

    async def make_events(self, number: int) -> None:
        await asyncio.gather(*(self._place.make_events(each, number // 2) for each in self._merchants))

    async def die(self, deaths: list[tuple[str, int]]) -> None:
        """One worker after the other, each killed in its own way."""
        for point, number in deaths:
            folder = self._folder / f"{len(self.logs)}"
            folder.mkdir()
            with a_crashing_worker(
                self._place, folder, point=point, number=number, lease_seconds=LEASE_SECONDS
            ) as worker:
                self.logs.append(worker.log)
                await self.make_events(EACH_TIME)
                if point == "random":
                    await self._begun(worker)
                    await asyncio.sleep(self._chance.uniform(0, 0.5))
                    worker.process.kill()
                await self._until_dead(worker)

    async def _begun(self, worker: CrashingWorker) -> None:
        async def has_begun() -> bool:
            return "worker.started" in worker.log.read_text()

        await until(has_begun, pause=0.02, what="its beginning")

    async def _until_dead(self, worker: CrashingWorker) -> None:
        while not worker.has_ended():
            await self.make_events(10)  # So that it comes to its point, whatever the other one takes.
            await asyncio.sleep(0.2)
        self.deaths.append(worker.process.returncode)

    async def kill_the_database(self, times: int) -> None:
        for number in range(1, times + 1):
            while len(self.deaths) < 2 * number:  # noqa: ASYNC110
                await asyncio.sleep(0.05)
            postmaster = (self._data_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0]
            os.kill(int(postmaster), signal.SIGKILL)


@pytest.fixture(scope="module")
async def steps(
    place: tuple[WebhookStack, Path], tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[WebhookStack, Receiver, CrashRun]]:
    here, data_dir = place
    folder = tmp_path_factory.mktemp("deaths")
    async with a_receiver() as receiver:
        steps = CrashRun(here, data_dir, folder, receiver)
        await steps.begin()
        await asyncio.gather(*(steps.die(deaths) for deaths in DEATHS), steps.kill_the_database(2))
        for name in ("one", "other"):
            (folder / name).mkdir()
        with (
            a_crashing_worker(here, folder / "one", lease_seconds=LEASE_SECONDS) as one,
            a_crashing_worker(here, folder / "other", lease_seconds=LEASE_SECONDS) as other,
        ):
            steps.logs += [one.log, other.log]
            await here.until_delivered()
        yield here, receiver, steps


async def test_every_endpoint_got_every_event_of_its_subscription_and_no_other(
    steps: tuple[WebhookStack, Receiver, CrashRun],
) -> None:
    place, receiver, whole = steps
    assert whole.deaths == [-signal.SIGKILL] * sum(map(len, DEATHS))
    assert len(await place.rows("SELECT FROM events")) >= 2000
    for each in whole.subscriptions:
        rows = await place.rows(
            "SELECT id FROM events WHERE merchant_id = $1 AND event = ANY($2)", each.stand.merchant_id, each.events
        )
        assert receiver.ids(each.path) == {row["id"] for row in rows}, each.path
        assert await place.states(each.stand) == ({"DELIVERED": len(rows)} if rows else {})


async def test_a_repeated_delivery_has_the_same_id_and_bytes(steps: tuple[WebhookStack, Receiver, CrashRun]) -> None:
    place, receiver, whole = steps
    bodies = {row["id"]: row["body"].encode() for row in await place.rows("SELECT id, body FROM events")}
    came: dict[tuple[str, str], int] = defaultdict(int)
    for got in receiver.got:
        assert got.body == bodies[got.id]
        came[got.path, got.id] += 1
    secrets = {each.path: each.stand.secret for each in whole.subscriptions}
    for got in receiver.got:
        expected = hmac.new(secrets[got.path].encode(), got.body, hashlib.sha256).hexdigest()
        assert got.headers["x-service-signature"] == expected

    assert max(came.values()) > 1, "else nothing was shown"
    # A line that the receiver closes just then costs no attempt, so an attempt may knock twice, with the same parcel.
    attempts = {(got.headers["x-service-delivery"], got.path, got.id) for got in receiver.got}
    assert len(attempts) == len({attempt for attempt, _, _ in attempts})


async def test_recorded_attempts_were_received_and_each_delivered_delivery_has_a_200(
    steps: tuple[WebhookStack, Receiver, CrashRun],
) -> None:
    place, receiver, _ = steps
    written = {row["id"] for row in await place.rows("SELECT id FROM webhook_attempts")}
    assert written <= {got.headers["x-service-delivery"] for got in receiver.got}
    rows = await place.rows(
        """
        SELECT FROM webhook_deliveries d WHERE NOT EXISTS (
            SELECT FROM webhook_attempts a WHERE a.endpoint_id = d.endpoint_id AND a.event_id = d.event_id AND a.http_status = 200
        )
        """
    )
    assert rows == [], "what is DELIVERED was answered with 200"


async def test_the_feed_has_no_gap_and_the_books_are_clean(steps: tuple[WebhookStack, Receiver, CrashRun]) -> None:
    place, _, whole = steps
    for merchant_id in {each.stand.merchant_id for each in whole.subscriptions}:
        rows = await place.rows(
            "SELECT feed_number FROM events WHERE merchant_id = $1 ORDER BY feed_number", merchant_id
        )
        assert [row["feed_number"] for row in rows] == list(range(1, len(rows) + 1))
    await database_facts.assert_clean(place.database)


async def test_no_worker_logged_a_broken_part(steps: tuple[WebhookStack, Receiver, CrashRun]) -> None:
    for log in steps[2].logs:
        for word in ("_broke", "part_ended", "not_recorded", "never retrieved"):
            assert word not in log.read_text()
