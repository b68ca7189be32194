"""A service whose connection to its database a test can cut or silence."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import aiohttp
import pytest

from malipo.db import Database
from tests.conftest import COLLECTION, NO_LIMITS, PAYOUT, Answer, Client, Merchant, Running, until_ready
from tests.journeys import database_facts
from tests.journeys.concurrency import create, tally
from tests.journeys.postgres_proxy import Fault, PostgresProxy, Trap, proxy_to

# What a transaction has run that takes payments in, and a statement that only lets callers in.
TAKES_PAYMENTS = "INSERT INTO transactions"
LETS_IN = "JOIN api_keys"
# Enough for every try that succeeds; and next to nothing, for those that are to end without success.
PATIENCE_SECONDS = 6
LITTLE_PATIENCE_SECONDS = 2


@dataclass(frozen=True)
class DatabaseProxy:
    """A malipo at the far end of a wire."""

    proxy: PostgresProxy
    client: Client
    running: Running

    @asynccontextmanager
    async def in_time(self, seconds: float) -> AsyncIterator[None]:
        """Fail when this takes longer; a malipo that hangs would not stop either, so it is killed."""
        try:
            async with asyncio.timeout(seconds):
                yield
        except TimeoutError:
            self.running.kill()
            raise


@pytest.fixture
async def line(start: Callable[..., Running], database_url: str, merchant: Merchant) -> AsyncIterator[DatabaseProxy]:
    async with a_line(start, database_url, merchant, PATIENCE_SECONDS) as line:
        yield line


@pytest.fixture
async def impatient(
    start: Callable[..., Running], database_url: str, merchant: Merchant
) -> AsyncIterator[DatabaseProxy]:
    async with a_line(start, database_url, merchant, LITTLE_PATIENCE_SECONDS) as line:
        yield line


@asynccontextmanager
async def a_line(
    start: Callable[..., Running], database_url: str, merchant: Merchant, patience_seconds: int
) -> AsyncIterator[DatabaseProxy]:
    async with proxy_to(database_url) as (proxy, url):
        running = start("api", database_url=url, database_patience_seconds=patience_seconds, **NO_LIMITS)
        await until_ready(running)
        async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
            client = Client(http, running.url, merchant.key)
            # One of each, so that connections stand and keys are known before anything is cut.
            await client("GET", "/v1/wallet")
            yield DatabaseProxy(proxy, client, running)
        proxy.come_back()
        proxy.speak_again()
        proxy.cut_all()
        await asyncio.to_thread(running.stop)


def mixed_payments(number: int) -> list[tuple[dict[str, Any], str | None]]:
    """Collections and payouts, with and without keys, which all need a transaction."""
    kinds = [(COLLECTION, False), (PAYOUT, True), (COLLECTION, False), (PAYOUT, False)]
    return [
        (body | {"amount": 1000 + n}, f"order-{n}" if has_key else None)
        for n, (body, has_key) in zip(range(number), itertools.cycle(kinds), strict=False)
    ]


def plain_collections(number: int) -> list[tuple[dict[str, Any], str | None]]:
    """Those that one statement writes, without a transaction around it."""
    return [(COLLECTION | {"amount": 1000 + n}, f"order-{n}") for n in range(number)]


PAYMENTS = [mixed_payments, plain_collections]


async def ride_together(
    line: DatabaseProxy,
    requests: list[tuple[dict[str, Any], str | None]],
    *faults: tuple[Fault, str],
    stays_away: bool = False,
) -> tuple[list[asyncio.Task[Answer]], list[Trap]]:
    """Send one ahead and hold its COMMIT until all the others wait behind it; they will share the next one.

    The traps are set before it may pass: one statement of the others may be all that there is.
    """
    first = line.proxy.trap(Fault.HOLD, after=TAKES_PAYMENTS)
    ahead = asyncio.create_task(create(line.client, COLLECTION))
    await first.sprung.wait()
    tasks = [asyncio.create_task(create(line.client, body, key=key)) for body, key in requests]
    await _until_waiting(line, len(requests))
    traps = [line.proxy.trap(fault, after=after, stays_away=stays_away) for fault, after in faults]
    first.may_pass.set()
    assert (await ahead).status == 201
    return tasks, traps


async def _until_waiting(line: DatabaseProxy, callers: int) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS), aiohttp.ClientSession() as http:
        while True:
            async with http.get(f"{line.running.url}/metrics") as shown:
                if f'malipo_group_waiting{{group="initiate"}} {callers}.0' in await shown.text():
                    return
            await asyncio.sleep(0.02)


async def assert_each_was_done_once(
    database: Database, merchant: Merchant, requests: list[tuple[dict[str, Any], str | None]], answers: list[Answer]
) -> None:
    assert tally(answers) == {(201, None): len(requests)}
    assert [answer.body["transaction"]["amount"] for answer in answers] == [body["amount"] for body, _ in requests]
    assert not any("Idempotency-Replayed" in answer.headers for answer in answers)
    shown = {answer.body["transaction"]["id"] for answer in answers}
    found = set(await database_facts.ids(database))
    assert shown < found
    assert len(found) == len(requests) + 1  # and the one ahead
    paid = sum(body["amount"] for body, _ in requests if "recipientPhone" in body)
    assert await database_facts.wallet(database, merchant.id) == (1_000_000 - paid, paid)
    assert await database_facts.count(database, "idempotency_keys") == sum(key is not None for _, key in requests)
    # With the one ahead. What the lost statement had to check the key of comes again, and may ride in a commit of its own:
    # on a busy machine the body of a request comes after its head, and then that request goes the usual way.
    assert await database_facts.commits(database) <= 3
    await database_facts.assert_clean(database)


async def said_by(task: asyncio.Task[Answer]) -> Answer:
    return await task


async def make_a_commit_slow(database: Database, *, amount: int) -> None:
    """Let the server work for half a second inside the COMMIT of whoever takes in this amount."""
    async with database.begin() as tx:
        await tx.execute(
            f"""
            CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(0.5); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON transactions DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW WHEN (NEW.amount = {int(amount)}) EXECUTE FUNCTION dawdle();
            """
        )
