"""A service with its own PostgreSQL under load, and whether anything that it answered was lost or doubled."""

import asyncio
import random
import secrets
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from malipo import clock
from malipo.db import Database
from malipo.db.embedded import server
from malipo.ledger.bookings import BookingKind, book
from tests.conftest import COLLECTION, PAYOUT, Answer, Client, Merchant, Running
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, create, tally
from tests.journeys.operator_commands import malipo

WEALTH = 1_000_000_000


@pytest.fixture(scope="session")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cluster to copy, because making one is most of a first start."""
    data_dir = tmp_path_factory.mktemp("made")
    with server(data_dir):
        pass
    return data_dir / "postgres" / "data"


@pytest.fixture
def data_dir(tmp_path: Path, made_once: Path) -> Path:
    data_dir = tmp_path / "malipo"
    (data_dir / "postgres").mkdir(parents=True)
    shutil.copytree(made_once, data_dir / "postgres" / "data")
    return data_dir


@asynccontextmanager
async def opened(data_dir: Path) -> AsyncIterator[Database]:
    """The database in this folder, running or not."""
    with server(data_dir) as url:
        database = Database(url, size=4)
        await database.open()
        try:
            yield database
        finally:
            await database.close()


async def onboard_merchant(data_dir: Path) -> Merchant:
    """A merchant with a fortune, taken in as an operator does it."""
    merchant = (await malipo("merchant", "create", "Duka", "--json", data_dir=data_dir)).json
    key = (await malipo("key", "create", "Duka", "--json", data_dir=data_dir)).json
    async with opened(data_dir) as database, database.begin() as tx:
        await book(tx, BookingKind.TOP_UP, merchant["id"], WEALTH, reference="BANK-1", now=clock.now())
    return Merchant(merchant["id"], key["key"])


@asynccontextmanager
async def calling(running: Running, merchant: Merchant) -> AsyncIterator[Client]:
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        yield Client(http, running.url, merchant.key)


@dataclass
class Load:
    """Merchants' programs that send payment after payment, each with a key of its own, until they are stopped."""

    sent: dict[str, dict[str, Any]] = field(default_factory=dict)
    answers: dict[str, Answer] = field(default_factory=dict)
    broken_off: set[str] = field(default_factory=set)
    under_way: set[str] = field(default_factory=set)
    is_over: bool = False

    async def run(self, client: Client, *, programs: int = 12) -> None:
        await asyncio.gather(*(self._send(client) for _ in range(programs)))

    async def _send(self, client: Client) -> None:
        while not self.is_over:
            key = secrets.token_hex(8)
            self.sent[key] = random.choice([COLLECTION, PAYOUT]) | {"amount": random.randrange(500, 5000)}
            self.under_way = self.under_way | {key}
            try:
                self.answers[key] = await create(client, self.sent[key], key=key)
            except aiohttp.ClientConnectorError:
                await asyncio.sleep(0.01)
            except aiohttp.ClientError:
                self.broken_off.add(key)  # It was sent, and perhaps it was done.
            else:
                if self.answers[key].status != 201:
                    await asyncio.sleep(0.01)
            finally:
                self.under_way = self.under_way - {key}

    @property
    def created(self) -> dict[str, Answer]:
        return {key: answer for key, answer in self.answers.items() if answer.status == 201}

    async def until_created(self, number: int) -> None:
        """Return when so many more were created."""
        wanted = len(self.created) + number
        async with asyncio.timeout(240):
            while len(self.created) < wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.002)


@asynccontextmanager
async def under_load(client: Client) -> AsyncIterator[Load]:
    load = Load()
    running = asyncio.create_task(load.run(client))
    try:
        yield load
    finally:
        load.is_over = True
        await running


async def assert_nothing_is_lost_or_doubled(client: Client, merchant: Merchant, data_dir: Path, load: Load) -> None:
    """What was answered is there; what was not can be sent again with its key; and then everything is there once."""
    found = await at_once(
        [client("GET", f"/v1/payments/{answer.body['transaction']['id']}") for answer in load.created.values()]
    )
    assert tally(found) == {(200, None): len(load.created)}
    again = dict(
        zip(
            load.sent,
            await at_once([create(client, body, key=key) for key, body in load.sent.items()]),
            strict=True,
        )
    )
    assert tally(list(again.values())) == {(201, None): len(load.sent)}
    for key, answer in load.created.items():
        assert again[key].body == answer.body
        assert again[key].headers.get("Idempotency-Replayed") == "true"
    paid = sum(body["amount"] for body in load.sent.values() if "recipientPhone" in body)
    async with opened(data_dir) as database:
        assert set(await database_facts.ids(database)) == {
            answer.body["transaction"]["id"] for answer in again.values()
        }
        assert len(await database_facts.ids(database)) == len(load.sent)
        assert await database_facts.wallet(database, merchant.id) == (WEALTH - paid, paid)
        await database_facts.assert_clean(database)
    checked = await malipo("ledger", "check", data_dir=data_dir)
    assert checked.code == 0, checked.err
