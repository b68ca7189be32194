"""malipo is asked to stop, starts again, or has no database: what was answered is there, once."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from malipo.db import Database
from malipo.db.embedded import server
from tests.conftest import COLLECTION, NO_LIMITS, PAYOUT, Answer, Client, Merchant, Running, make_merchant, until_ready
from tests.db.lock_waits import are_waiting
from tests.journeys import database_facts
from tests.journeys.concurrency import at_once, create
from tests.journeys.full_stack import until
from tests.journeys.operator_commands import malipo
from tests.journeys.outages.load import calling, onboard_merchant, opened, under_load
from tests.journeys.outages.load import data_dir as data_dir
from tests.journeys.outages.load import made_once as made_once


async def test_a_service_asked_to_stop_answers_what_it_took_and_takes_nothing_new(
    start: Callable[..., Running], data_dir: Path
) -> None:
    running = await until_ready(start("serve", data_dir=data_dir, worker_stop_seconds=60, **NO_LIMITS))
    merchant = await onboard_merchant(data_dir)

    async with calling(running, merchant) as client, opened(data_dir) as database:
        watched = await create(client, COLLECTION, key="watched")
        waiting = asyncio.create_task(client("GET", f"/v1/payments/{watched.body['transaction']['id']}?wait=30"))
        async with under_load(client) as load:
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
            async with asyncio.timeout(240):
                code = await asyncio.to_thread(running.process.wait, 240)
            stopped = time.monotonic() - began

        print(
            f"SIGTERM under load: reader released after {released:.2f} s, ended {stopped:.2f} s after its last answer"
        )
        assert (code, answer.status, answer.body["transaction"]["status"]) == (0, 200, "PENDING")
        assert released < 15, "half of what it may wait"
        assert stopped < 15, "nothing was waited for until its time was over"
        assert {each.status for each in load.answers.values()} == {201}
        assert len(under_way) > 1
        assert under_way <= set(load.answers)
        # Whoever was not answered was not taken in either: nothing was done behind anybody's back.
        created = {each.body["transaction"]["id"] for each in [*load.created.values(), watched]}
        assert set(await database_facts.ids(database)) == created
        await database_facts.assert_clean(database)


@asynccontextmanager
async def _wallets_held(database: Database) -> AsyncIterator[None]:
    """Nobody can pay out meanwhile, so that the work of the service is under way until we let go."""
    async with database.begin() as tx:
        await tx.execute("SELECT * FROM wallets FOR UPDATE")
        await until(lambda: are_waiting(database), pause=0.01)
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
    merchant = await onboard_merchant(data_dir)
    async with calling(running, merchant) as client:
        first = await create(client, PAYOUT, key="order-1")
    began = time.monotonic()
    assert await asyncio.to_thread(running.stop) == 0
    print(f"stop: {time.monotonic() - began:.2f} s")

    began = time.monotonic()
    running = await until_ready(start("serve", data_dir=data_dir, **NO_LIMITS))
    print(f"second start: {time.monotonic() - began:.2f} s")

    async with calling(running, merchant) as client:
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
    running = start("api", database_url=url, database_patience_seconds=1, ready_grace_seconds=0, **NO_LIMITS)
    while "api.started" not in running.log.read_text():  # noqa: ASYNC110
        await asyncio.sleep(0.02)

    async def ask(client: Client) -> dict[str, Answer]:
        paths = ["/healthz", "/readyz", "/v1/wallet", "/v1/payments", "/v1/payments/txn_1"]
        answers = await at_once([*(client("GET", path) for path in paths), create(client, PAYOUT, key="order-1")])
        return dict(zip([*paths, "create"], answers, strict=True))

    async with calling(running, Merchant("", "mlp_live_nobody")) as stranger:
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
    assert unmigrated.body["error"] == "The database has no schema yet: run malipo migrate."
    assert there["create"].status == back["create"].status == 201
    assert back["create"].body == there["create"].body
    for answers in (there, back):
        assert [answers[path].status for path in ("/healthz", "/readyz", "/v1/wallet", "/v1/payments")] == [200] * 4
        assert answers["/v1/payments/txn_1"].status == 404
