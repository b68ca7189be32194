"""The feed under writers, numberers and readers at once: no gap, no event twice, and the same order for every reader.

If a number became visible before a smaller one, a reader that goes on from it would miss the smaller one for ever. So the
events of each reader are compared with the whole feed.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

import aiohttp
import pytest
from msgspec.structs import replace

from malipo import ids
from malipo.db import Database, Tx
from malipo.payments import status_writer
from malipo.payments.status_writer import StatusChange
from malipo.payments.transaction import Cause, Transaction, Type
from malipo.webhooks.fan_out import fan_out
from malipo.worker.pruner import prune
from tests.conftest import NO_LIMITS, Client, Merchant, Running, until_ready
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.journeys.full_stack import until
from tests.journeys.in_process_api import InProcessApi, in_process_api
from tests.journeys.webhook_stack import ManualClock, WebhookStack, webhook_stack

WRITERS = 20
PAYMENTS = 12  # of each writer


async def _number(tx: Tx, stack: WebhookStack, *, most: int) -> int:
    """What a worker does to give events their places; how many."""
    done = await fan_out(
        tx,
        most=most,
        claim_id=ids.mint("clm_", stack.clock()),
        lease_seconds=60,
        may_claim=lambda _: False,
        now=stack.clock(),
    )
    return done.event_count


async def _open(tx: Tx, merchant: Merchant, *, at: datetime | None = None) -> Transaction:
    asked = order(merchant.id, Type.COLLECTION, 1000).draft
    assert asked is not None
    draft = asked if at is None else replace(asked, id=ids.mint("txn_", at), created_at=at)
    await status_writer.open_all(tx, [draft], {}, now=draft.created_at)
    return draft


async def _end(tx: Tx, stack: WebhookStack, opened: Transaction, *, at: datetime | None = None) -> None:
    change = StatusChange(merchant_id=opened.merchant_id, transaction_id=opened.id, cause=Cause.WITHDRAWN)
    await status_writer.advance(tx, [change], now=at or stack.clock())


class Reader:
    """A merchant's program that reads on from where it was, and keeps what it has read."""

    def __init__(self, api: InProcessApi, merchant: Merchant, chance: random.Random) -> None:
        self._door = api
        self._merchant = merchant
        self._chance = chance
        self._next = "0"
        self.read: list[dict[str, Any]] = []

    async def on(self, *, wait_seconds: int = 0) -> bool:
        """Read on once; whether there was anything."""
        limit = self._chance.choice([1, 3, 20, 100])
        query = f"?after={self._next}&limit={limit}&wait={wait_seconds}"
        answer = await self._door.events(self._merchant, query)
        assert answer.status == 200, answer.body
        self._next = answer.body["next"]
        self.read += answer.body["events"]
        return bool(answer.body["events"])

    async def until(self, is_over: asyncio.Event) -> None:
        while await self.on(wait_seconds=1) or not is_over.is_set():
            pass


async def _feed(stack: WebhookStack, merchant: Merchant) -> list[str]:
    """The whole feed as it stands in the database, which must be numbered from 1 without a gap."""
    rows = await stack.rows(
        "SELECT id, feed_number FROM events WHERE merchant_id = $1 ORDER BY feed_number", merchant.id
    )
    assert [row["feed_number"] for row in rows] == list(range(1, len(rows) + 1))
    return [row["id"] for row in rows]


def _assert_told_in_order(read: Sequence[dict[str, Any]]) -> None:
    """The event of a payment's end never comes before that of its beginning."""
    begun: set[str] = set()
    for each in read:
        if each["event"] == "payment.pending":
            begun.add(each["transaction"]["id"])
        else:
            assert each["transaction"]["id"] in begun, each


@pytest.fixture
async def stack(database_url: str) -> AsyncIterator[WebhookStack]:
    async with webhook_stack(database_url) as stack:
        yield stack


async def test_writers_numberers_and_readers_at_once_make_one_feed(stack: WebhookStack) -> None:
    chance = random.Random(6)
    merchants = [await stack.merchant(), await stack.merchant()]
    over = asyncio.Event()

    async def write(writers: Database, merchant: Merchant) -> None:
        for _ in range(PAYMENTS):
            async with writers.begin() as tx:
                opened = await _open(tx, merchant)
                await asyncio.sleep(chance.uniform(0, 0.03))  # Who began first need not commit first.
            async with writers.begin() as tx:
                await _end(tx, stack, opened)
                await asyncio.sleep(chance.uniform(0, 0.03))

    async def number(numberers: Database) -> None:
        while True:
            async with numberers.begin() as tx:
                numbered = await _number(tx, stack, most=chance.randrange(1, 20))
                await asyncio.sleep(chance.uniform(0, 0.005))  # Between the numbers and their commit.
            if not numbered and over.is_set():
                return

    async with (
        Database.opened(stack.database_url, size=WRITERS) as writers,
        Database.opened(stack.database_url, size=3) as numberers,
        in_process_api(stack) as opened,
    ):
        readers = [(Reader(opened, merchants[n % 2], chance), merchants[n % 2]) for n in range(5)]
        all_read = asyncio.Event()
        reading = [asyncio.create_task(reader.until(all_read)) for reader, _ in readers]
        numbering = [asyncio.create_task(number(numberers)) for _ in range(3)]
        await asyncio.gather(*(write(writers, merchants[n % 2]) for n in range(WRITERS)))
        over.set()
        await asyncio.gather(*numbering)
        all_read.set()
        await asyncio.gather(*reading)

    for reader, merchant in readers:
        feed = await _feed(stack, merchant)
        assert len(feed) == WRITERS * PAYMENTS
        assert [each["id"] for each in reader.read] == feed
        _assert_told_in_order(reader.read)
    await database_facts.assert_clean(stack.database)


async def test_events_of_a_transaction_that_stayed_open_come_later_and_are_not_passed_over(
    stack: WebhookStack,
) -> None:
    merchant = await stack.merchant()
    async with in_process_api(stack) as opened:
        reader, other = (Reader(opened, merchant, random.Random(n)) for n in range(2))
        async with stack.database.begin() as late:
            draft = await _open(late, merchant)
            for _ in range(3):
                await stack.make_events(merchant, 4)
                async with stack.database.begin() as tx:
                    assert await _number(tx, stack, most=100) == 4
                while await reader.on():
                    pass
        async with stack.database.begin() as tx:
            assert await _number(tx, stack, most=100) == 1
        for each in (reader, other):
            while await each.on():
                pass

    assert len(reader.read) == 13
    assert reader.read[-1]["transaction"]["id"] == draft.id
    assert reader.read == other.read
    assert [each["id"] for each in reader.read] == await _feed(stack, merchant)


async def test_events_of_one_millisecond_are_in_order_however_they_are_cut_into_batches(
    stack: WebhookStack,
) -> None:
    merchant = await stack.merchant()
    now = stack.clock()
    for _ in range(20):
        async with stack.database.begin() as tx:
            await _end(tx, stack, await _open(tx, merchant, at=now), at=now)

    async with stack.database.begin() as tx:
        # In a book that was pruned, what was written first need not lie first.
        await tx.execute("UPDATE events SET body = body WHERE event = 'payment.pending'")

    numbered = 1
    while numbered:
        async with stack.database.begin() as tx:
            numbered = await _number(tx, stack, most=3)

    async with in_process_api(stack) as opened:
        answer = await opened.events(merchant, "?limit=100")
    assert len(answer.body["events"]) == 40
    _assert_told_in_order(answer.body["events"])


async def _next(api: InProcessApi, merchant: Merchant, query: str = "") -> str:
    answer = await api.events(merchant, query)
    assert answer.status == 200, answer.body
    return str(answer.body["next"])


@pytest.mark.parametrize("has_begun", [False, True], ids=["that is empty", "at its end"])
async def test_a_reader_that_waits_at_a_feed_is_answered_when_an_event_is_written(
    stack: WebhookStack, has_begun: bool
) -> None:
    merchant, other = await stack.merchant(), await stack.merchant()
    async with stack.a_worker(), in_process_api(stack) as opened:
        if has_begun:
            await stack.make_events(merchant, 3)
            await until(lambda: _is_numbered(stack), what="the beginning of the feed")
        waiting = asyncio.create_task(opened.events(merchant, "?after=latest&wait=30"))
        elsewhere = asyncio.create_task(opened.events(other, "?wait=30"))
        await asyncio.sleep(0.5)
        [reported] = await stack.open(merchant)
        async with asyncio.timeout(15):  # Half of what it may wait.
            answer = await waiting

        assert [each["transaction"]["id"] for each in answer.body["events"]] == [reported.id]
        assert not elsewhere.done(), "an event of one merchant wakes no other"
        await stack.open(other)
        assert len((await elsewhere).body["events"]) == 1


async def _is_numbered(stack: WebhookStack) -> bool:
    return not await stack.rows("SELECT FROM events WHERE feed_number IS NULL")


async def test_a_reader_that_waits_in_vain_is_answered_at_the_end_of_the_wait(stack: WebhookStack) -> None:
    merchant = await stack.merchant()
    await stack.make_events(merchant, 3)
    async with stack.database.begin() as tx:
        await _number(tx, stack, most=100)
    async with in_process_api(stack) as opened:
        loop = asyncio.get_running_loop()
        began = loop.time()
        answer = await opened.events(merchant, "?after=3&wait=1")

        assert loop.time() - began >= 1
        assert (answer.status, answer.body) == (200, {"success": True, "events": [], "next": "3"})


async def test_a_waiting_reader_is_answered_when_the_service_stops(
    stack: WebhookStack, start: Callable[..., Running]
) -> None:
    merchant = await stack.merchant()
    running = await until_ready(start("api", database_url=stack.database_url, **NO_LIMITS))
    async with aiohttp.ClientSession() as http:
        client = Client(http, running.url, merchant.key)
        waiting = asyncio.create_task(client("GET", "/v1/events?wait=30"))
        await asyncio.sleep(0.5)
        running.process.terminate()
        async with asyncio.timeout(15):
            answer = await waiting

    assert (answer.status, answer.body) == (200, {"success": True, "events": [], "next": "0"})
    assert await asyncio.to_thread(running.stop) == 0


async def test_the_latest_place_is_where_the_feed_ends(stack: WebhookStack) -> None:
    merchant = await stack.merchant()
    async with in_process_api(stack) as opened:
        assert await _next(opened, merchant, "?after=latest") == "0"
        await stack.make_events(merchant, 5)
        assert await _next(opened, merchant, "?after=latest") == "0", "nothing has a place yet"
        async with stack.database.begin() as tx:
            await _number(tx, stack, most=100)

        answer = await opened.events(merchant, "?after=latest")
        assert answer.body == {"success": True, "events": [], "next": "5"}


async def test_a_cursor_that_the_feed_never_gave_is_refused(stack: WebhookStack) -> None:
    """Also one that is ahead of it: to say that there is nothing after it would be to hide what comes before."""
    merchant = await stack.merchant()
    await stack.make_events(merchant, 5)
    async with stack.database.begin() as tx:
        await _number(tx, stack, most=100)
    async with in_process_api(stack) as opened:
        for after in ("6", "9" * 18, "9" * 19, "-1", "1.0", "evt_1", "LATEST", "٣", " 1", "1%0A"):
            answer = await opened.events(merchant, f"?after={after}&wait=1")
            assert (answer.status, answer.code) == (400, "cursor_invalid"), after
            assert list(answer.body["details"]) == ["after"]
        assert (await opened.events(merchant, "?after=%00")).status == 400


async def test_deleted_events_are_gone_from_the_feed_and_its_cursors_say_so(database_url: str) -> None:
    manual_clock = ManualClock()
    async with (
        webhook_stack(database_url, clock=manual_clock, events_keep_days=10) as stack,
        in_process_api(stack) as opened,
    ):
        merchant, other = await stack.merchant(), await stack.merchant()
        for days in (0, 4, 4):
            manual_clock.move(timedelta(days=days))
            await stack.make_events(merchant, 4)
            async with stack.database.begin() as tx:
                await _number(tx, stack, most=100)
        await prune(stack.service.queries.database, stack.service.settings, stack.service.clock)
        assert await _next(opened, merchant, "?limit=100") == "12", "all are kept"

        manual_clock.move(timedelta(days=3))
        await prune(stack.service.queries.database, stack.service.settings, stack.service.clock)
        await prune(stack.service.queries.database, stack.service.settings, stack.service.clock)

        assert len((await opened.events(merchant)).body["events"]) == 8
        assert [(await opened.events(merchant, f"?after={after}")).code for after in (0, 3)] == ["cursor_expired"] * 2
        assert [len((await opened.events(merchant, f"?after={after}")).body["events"]) for after in (4, 5, 12)] == [
            8,
            7,
            0,
        ]
        assert (await opened.events(other)).body["events"] == []

        manual_clock.move(timedelta(days=100))
        await prune(stack.service.queries.database, stack.service.settings, stack.service.clock)
        assert await _next(opened, merchant) == await _next(opened, merchant, "?after=latest") == "12"
        assert (await opened.events(merchant, "?after=11")).code == "cursor_expired"
        await stack.make_events(merchant, 1)
        async with stack.database.begin() as tx:
            await _number(tx, stack, most=100)
        assert await _next(opened, merchant, "?after=12") == "13", "numbers are never given twice"
