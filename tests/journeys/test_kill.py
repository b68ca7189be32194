"""malipo or its PostgreSQL dies in the middle of its work, or is asked to stop: what was answered is there, once.

Every process is a real one, with the PostgreSQL it keeps for itself, and is killed with the signals that a kernel
or an operator would use.
"""

import asyncio
import os
import random
import secrets
import shutil
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import asyncpg
import pytest

from malipo import clock
from malipo.db import Database
from malipo.db.embedded import server
from malipo.ledger.book import Kind, book
from tests.conftest import COLLECTION, NO_LIMITS, PAYOUT, Answer, Client, Merchant, Running, make_merchant, until_ready
from tests.journeys import witness
from tests.journeys.crowd import at_once, create, tally
from tests.journeys.terminal import malipo

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
async def _opened(data_dir: Path) -> AsyncIterator[Database]:
    """The database in this folder, running or not."""
    with server(data_dir) as url:
        database = Database(url, size=4)
        await database.open()
        try:
            yield database
        finally:
            await database.close()


async def _onboard(data_dir: Path) -> Merchant:
    """A merchant with a fortune, taken in as an operator does it."""
    merchant = (await malipo("merchant", "create", "Duka", "--json", data_dir=data_dir)).json
    key = (await malipo("key", "create", "Duka", "--json", data_dir=data_dir)).json
    async with _opened(data_dir) as database, database.begin() as tx:
        await book(tx, Kind.TOP_UP, merchant["id"], WEALTH, reference="BANK-1", now=clock.now())
    return Merchant(merchant["id"], key["key"])


@asynccontextmanager
async def _calling(running: Running, merchant: Merchant) -> AsyncIterator[Client]:
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
        async with asyncio.timeout(30):
            while len(self.created) < wanted:  # noqa: ASYNC110
                await asyncio.sleep(0.002)


@asynccontextmanager
async def _under_load(client: Client) -> AsyncIterator[Load]:
    load = Load()
    running = asyncio.create_task(load.run(client))
    try:
        yield load
    finally:
        load.is_over = True
        await running


async def _assert_nothing_is_lost_or_doubled(client: Client, merchant: Merchant, data_dir: Path, load: Load) -> None:
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
    async with _opened(data_dir) as database:
        assert set(await witness.ids(database)) == {answer.body["transaction"]["id"] for answer in again.values()}
        assert len(await witness.ids(database)) == len(load.sent)
        assert await witness.wallet(database, merchant.id) == (WEALTH - paid, paid)
        await witness.assert_clean(database)
    checked = await malipo("ledger", "check", data_dir=data_dir)
    assert checked.code == 0, checked.err


async def test_a_service_killed_again_and_again_loses_nothing_that_it_answered(
    start: Callable[..., Running], data_dir: Path
) -> None:
    def serve() -> Running:
        return start("serve", data_dir=data_dir, **NO_LIMITS)

    running = await until_ready(serve())
    merchant = await _onboard(data_dir)
    whole = Load()

    for number in (1, 60, 200):
        async with _calling(running, merchant) as client, _under_load(client) as load:
            await load.until_created(number)
            await asyncio.sleep(random.uniform(0, 0.01))
            running.kill()
            began = time.monotonic()
        running = await until_ready(serve())
        print(f"start after kill -9 of malipo: {time.monotonic() - began:.2f} s")
        assert load.broken_off, "killed under load, so that somebody was not answered"
        whole.sent |= load.sent
        whole.answers |= load.answers

    assert {answer.status for answer in whole.answers.values()} == {201}
    async with _calling(running, merchant) as client:
        await _assert_nothing_is_lost_or_doubled(client, merchant, data_dir, whole)


def _postmaster(data_dir: Path) -> int:
    return int((data_dir / "postgres" / "data" / "postmaster.pid").read_text().splitlines()[0])


async def _some_backend(data_dir: Path) -> int:
    with server(data_dir) as url:
        connection = await asyncpg.connect(url)
        try:
            return int(
                await connection.fetchval(
                    """
                    SELECT pid FROM pg_stat_activity
                    WHERE application_name = 'malipo' AND backend_type = 'client backend' ORDER BY state LIMIT 1
                    """
                )
            )
        finally:
            await connection.close()


async def test_a_database_killed_again_and_again_is_waited_for(start: Callable[..., Running], data_dir: Path) -> None:
    running = await until_ready(start("serve", data_dir=data_dir, **NO_LIMITS))
    merchant = await _onboard(data_dir)

    async with _calling(running, merchant) as client:
        async with _under_load(client) as load:
            for kill_all in (True, False, True):
                await load.until_created(random.randrange(20, 120))
                victim = _postmaster(data_dir) if kill_all else await _some_backend(data_dir)
                os.kill(victim, signal.SIGKILL)
                began = time.monotonic()
                await asyncio.sleep(0.05)  # What was under way may still be answered.
                await load.until_created(1)
                what = "PostgreSQL" if kill_all else "one session"
                print(f"first payment after kill -9 of {what}: {time.monotonic() - began:.2f} s")
            await load.until_created(50)

        assert len(load.answers) == len(load.sent)  # Everybody was answered,
        assert set(tally(list(load.answers.values()))) <= {  # and nobody was told anything wrong.
            (201, None),
            (503, "unavailable"),
            (503, "outcome_unknown"),
        }
        await _assert_nothing_is_lost_or_doubled(client, merchant, data_dir, load)


async def test_a_service_asked_to_stop_answers_what_it_took_and_takes_nothing_new(
    start: Callable[..., Running], data_dir: Path
) -> None:
    running = await until_ready(start("serve", data_dir=data_dir, **NO_LIMITS))
    merchant = await _onboard(data_dir)

    async with _calling(running, merchant) as client, _opened(data_dir) as database:
        watched = await create(client, COLLECTION, key="watched")
        waiting = asyncio.create_task(client("GET", f"/v1/payments/{watched.body['transaction']['id']}?wait=30"))
        async with _under_load(client) as load:
            await load.until_created(200)
            async with _wallets_held(database):
                under_way = load.under_way
                running.process.terminate()
                began = time.monotonic()
                answer = await waiting
                released = time.monotonic() - began
                await asyncio.sleep(0.7)  # Longer than anything that would only look as if it waited.
                with pytest.raises(aiohttp.ClientConnectorError):
                    await client("GET", "/healthz")
                assert running.process.poll() is None
            began = time.monotonic()
            async with asyncio.timeout(10):
                code = await asyncio.to_thread(running.process.wait, 10)
            stopped = time.monotonic() - began

        print(
            f"SIGTERM under load: reader released after {released:.2f} s, ended {stopped:.2f} s after its last answer"
        )
        assert (code, answer.status, answer.body["transaction"]["status"]) == (0, 200, "PENDING")
        assert released < 0.7
        assert stopped < 5
        assert {each.status for each in load.answers.values()} == {201}
        assert len(under_way) > 1
        assert under_way <= set(load.answers)
        # Whoever was not answered was not taken in either: nothing was done behind anybody's back.
        created = {each.body["transaction"]["id"] for each in [*load.created.values(), watched]}
        assert set(await witness.ids(database)) == created
        await witness.assert_clean(database)


@asynccontextmanager
async def _wallets_held(database: Database) -> AsyncIterator[None]:
    """Nobody can pay out meanwhile, so that the work of the service is under way until we let go."""
    async with database.begin() as tx:
        await tx.execute("SELECT * FROM wallets FOR UPDATE")
        async with database.read() as connection, asyncio.timeout(10):
            while not await connection.fetchval("SELECT count(*) FROM pg_locks WHERE NOT granted"):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)  # And the others wait behind whoever waits for the wallet.
        yield


async def test_a_second_start_goes_on_where_the_first_one_stopped(
    start: Callable[..., Running], tmp_path: Path
) -> None:
    """How long both take is printed, not promised."""
    data_dir = tmp_path / "var"
    began = time.monotonic()
    running = await until_ready(start("serve", data_dir=data_dir, **NO_LIMITS))
    print(f"first start, with initdb: {time.monotonic() - began:.2f} s")
    merchant = await _onboard(data_dir)
    async with _calling(running, merchant) as client:
        first = await create(client, PAYOUT, key="order-1")
    began = time.monotonic()
    assert await asyncio.to_thread(running.stop) == 0
    print(f"stop: {time.monotonic() - began:.2f} s")

    began = time.monotonic()
    running = await until_ready(start("serve", data_dir=data_dir, **NO_LIMITS))
    print(f"second start: {time.monotonic() - began:.2f} s")

    async with _calling(running, merchant) as client:
        again = await create(client, PAYOUT, key="order-1")
        wallet = await client("GET", "/v1/wallet")
    assert (again.status, again.body) == (201, first.body)
    assert wallet.body["wallet"]["reserved"] == 1000


def _assert_says_unavailable(answer: Answer) -> None:
    assert answer.status == 503
    assert int(answer.headers["Retry-After"]) >= 1
    assert answer.headers["Content-Type"] == "application/json"
    assert answer.headers["X-Request-Id"].startswith("req_")
    assert list(answer.body) == ["error"]


@pytest.fixture
def away(data_dir: Path) -> tuple[str, Callable[[], Any]]:
    """The address of a database that is not there yet, and how it comes."""
    with server(data_dir) as url:
        pass
    return url, lambda: server(data_dir)


async def test_a_service_without_its_database_says_so_and_recovers_when_it_comes(
    start: Callable[..., Running], away: tuple[str, Callable[[], Any]]
) -> None:
    url, database_comes = away
    running = start("api", database_url=url, database_patience_seconds=1, **NO_LIMITS)
    while "api.started" not in running.log.read_text():  # noqa: ASYNC110
        await asyncio.sleep(0.02)

    async def ask(client: Client) -> dict[str, Answer]:
        paths = ["/healthz", "/readyz", "/v1/wallet", "/v1/payments", "/v1/payments/txn_1"]
        answers = await at_once([*(client("GET", path) for path in paths), create(client, PAYOUT, key="order-1")])
        return dict(zip([*paths, "create"], answers, strict=True))

    async with _calling(running, Merchant("", "mlp_live_nobody")) as stranger:
        at_first = await ask(stranger)
        with database_comes():
            unmigrated = await stranger("GET", "/readyz")
            assert (await malipo("migrate", database_url=url)).code == 0
            database = Database(url, size=4)
            await database.open()
            merchant = await make_merchant(database, wallet=10_000)
            await database.close()
            client = stranger.as_(merchant.key)
            began = time.monotonic()
            await until_ready(running)
            print(f"ready after the database came: {time.monotonic() - began:.2f} s")
            there = await ask(client)
        later = await ask(client)
        with database_comes():
            began = time.monotonic()
            await until_ready(running)
            print(f"ready after the database came back: {time.monotonic() - began:.2f} s")
            back = await ask(client)

    for answers in (at_first, later):
        assert answers.pop("/healthz").status == 200
        assert answers["/readyz"].code == "not_ready"
        for answer in answers.values():
            _assert_says_unavailable(answer)
    assert (unmigrated.status, unmigrated.code) == (503, "not_ready")
    assert "migration" in unmigrated.body["error"]
    assert there["create"].status == back["create"].status == 201
    assert back["create"].body == there["create"].body
    for answers in (there, back):
        assert [answers[path].status for path in ("/healthz", "/readyz", "/v1/wallet", "/v1/payments")] == [200] * 4
        assert answers["/v1/payments/txn_1"].status == 404
