"""Limits for one logged-in person: requests, their duration, and database connections."""

import asyncio
import secrets
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field

import aiohttp
import pytest

from malipo import clock, ids
from malipo.db import Database
from malipo.merchants.roles import Role
from malipo.operators import store as operators
from tests.api.conftest import live
from tests.cheap_hash import PASSWORD, cheap_hash
from tests.conftest import COLLECTION, NO_LIMITS, SECRET_KEY, Answer, Client, Merchant, Running, make_merchant
from tests.dashboard.conftest import OPTIONAL
from tests.dashboard.page_client import Surfer, add_person, surfing
from tests.journeys.full_stack import until

_LIMITS = NO_LIMITS | {"rate_limit_session": 6, "rate_limit_person": 9, "live_streams_person": 2, "live_streams": 3}


@pytest.fixture(scope="module")
async def limited(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> AsyncIterator[Running]:
    """A service with small limits for people."""
    async with live(
        tmp_path_factory.mktemp("limited"), database_url, secret_key=SECRET_KEY, **_LIMITS, **OPTIONAL
    ) as running:
        yield running


@dataclass
class Team:
    """People of one merchant, each with browsers and programs."""

    running: Running
    database: Database
    merchant: Merchant
    stack: AsyncExitStack
    emails: dict[str, str] = field(default_factory=dict)

    async def email(self, name: str) -> str:
        if name not in self.emails:
            self.emails[name] = f"{name}+{secrets.token_hex(6)}@example.com"
            await add_person(self.database, self.merchant.id, self.emails[name], Role.VIEWER)
        return self.emails[name]

    async def browser(self, name: str) -> Surfer:
        """Somebody logs in, and has opened no page yet."""
        surfer = await self.stack.enter_async_context(surfing(self.running.url))
        email = await self.email(name)
        assert (await surfer.post("/dashboard/login", {"email": email, "password": PASSWORD})).status == 303
        return surfer

    async def program(self, name: str) -> "Program":
        http = await self.stack.enter_async_context(aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)))
        client = Client(http, self.running.url, None)
        body = {"email": await self.email(name), "password": PASSWORD}
        answer = await client("POST", "/merchant/auth/login", body)
        return Program(client, answer.body["token"])


@dataclass
class Program:
    client: Client
    token: str

    async def get(self, path: str) -> Answer:
        return await self.client("GET", path, headers={"Authorization": f"Bearer {self.token}"})


@asynccontextmanager
async def team_of(running: Running, database: Database) -> AsyncIterator[Team]:
    async with AsyncExitStack() as stack:
        yield Team(running, database, await make_merchant(database), stack)


@pytest.fixture
async def team(limited: Running, database: Database) -> AsyncIterator[Team]:
    async with team_of(limited, database) as team:
        yield team


async def test_pages_above_a_sessions_limit_are_429_in_both_languages(team: Team) -> None:
    asha = await team.browser("asha")
    assert [(await asha.get("/dashboard/keys")).status for _ in range(6)] == [200] * 6
    seen = await asha.get("/dashboard/transactions?search=ab")
    assert seen.status == 429
    assert 1 <= int(seen.headers["Retry-After"]) <= 60
    assert "You opened very many pages in a short time." in seen.words
    swahili = await asha.get("/dashboard/keys", headers={"Accept-Language": "sw"})
    assert "Umefungua kurasa nyingi mno kwa muda mfupi." in swahili.words


async def test_a_person_has_one_limit_for_all_sessions_and_others_have_their_own(team: Team) -> None:
    first, second = await team.browser("asha"), await team.browser("asha")
    other = await team.browser("juma")
    assert [(await first.get("/dashboard/keys")).status for _ in range(5)] == [200] * 5
    assert [(await second.get("/dashboard/keys")).status for _ in range(5)] == [200] * 4 + [429]
    assert (await other.get("/dashboard/keys")).status == 200


async def test_bearer_routes_above_the_limit_are_429_in_the_shape_of_the_api(team: Team) -> None:
    program = await team.program("asha")
    assert [(await program.get("/merchant/webhooks")).status for _ in range(6)] == [200] * 6
    refused = await program.get("/merchant/api-keys")
    assert (refused.status, refused.code, set(refused.body)) == (429, "rate_limited", {"error"})
    assert 1 <= int(refused.headers["Retry-After"]) <= 60


async def test_operators_have_limits_too(team: Team) -> None:
    name = f"rose.{secrets.token_hex(4)}"
    async with team.database.begin() as tx:
        id_ = ids.mint("opr_", clock.now())
        await operators.insert_operator(tx, id_, name, now=clock.now())
        await operators.set_password(tx, id_, cheap_hash())
    rose = await team.stack.enter_async_context(surfing(team.running.url))
    assert (await rose.post("/operator/login", {"name": name, "password": PASSWORD})).status == 303
    assert [(await rose.get("/operator/networks")).status for _ in range(7)] == [200] * 6 + [429]


async def test_live_streams_are_bounded_for_a_person_and_in_all_and_the_page_is_told_nothing(team: Team) -> None:
    asha, juma, neema = await team.browser("asha"), await team.browser("juma"), await team.browser("neema")
    async with AsyncExitStack() as streams:
        for surfer in (asha, asha, juma):
            stream = await streams.enter_async_context(surfer.http.get(f"{surfer.url}/dashboard/live"))
            assert stream.status == 200
            assert await stream.content.readline() == b"retry: 3000\n"
        over = await asha.get("/dashboard/live")
        assert (over.status, over.text) == (204, "")
        assert (await neema.get("/dashboard/live")).status == 204
    for _ in range(5):  # The server learns of the three that left, one after the other.
        async with neema.http.get(f"{neema.url}/dashboard/live") as again:
            if again.status == 200:
                return
    pytest.fail("no stream is free although all have ended")


@pytest.fixture(scope="module")
async def patient(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> AsyncIterator[Running]:
    """A service in which what people read may take long."""
    settings = NO_LIMITS | {"secret_key": SECRET_KEY, "database_people_seconds": 60, "database_pool": 4}
    async with live(tmp_path_factory.mktemp("patient"), database_url, **settings) as running:
        yield running


@asynccontextmanager
async def locked(database_url: str, table: str) -> AsyncIterator[None]:
    """Whoever reads this table waits, as for a statement that takes long."""
    async with Database.opened(database_url, size=1) as own, own.begin() as tx:
        await tx.execute(f"SET LOCAL idle_in_transaction_session_timeout = 0; LOCK TABLE {table}")
        yield


@pytest.mark.parametrize(
    ("table", "path"),
    [
        ("search_index", "/v1/payments?search=zqx"),
        ("webhook_endpoints", "/merchant/webhooks"),
        ("webhook_endpoints", "/dashboard/webhooks"),
    ],
)
async def test_payments_do_not_wait_for_what_people_read_or_search(
    patient: Running, database: Database, database_url: str, table: str, path: str
) -> None:
    async with team_of(patient, database) as team:
        program, browser = await team.program("asha"), await team.browser("asha")
        key = program.client.as_(team.merchant.key)

        async def read() -> int:
            if path.startswith("/dashboard"):
                return (await browser.get(path)).status
            answer = await (key("GET", path) if path.startswith("/v1") else program.get(path))
            return answer.status

        async with locked(database_url, table):
            reads = [asyncio.ensure_future(read()) for _ in range(30)]
            await until(lambda: _are_waiting(database, table))
            paid = [(await key("POST", "/v1/payments", COLLECTION)).status for _ in range(5)]
            still_read = sum(not each.done() for each in reads)
        assert paid == [201] * 5
        assert still_read == 30
        assert set(await asyncio.gather(*reads)) == {200}


async def _are_waiting(database: Database, table: str) -> bool:
    async with database.read() as connection:
        waiting = await connection.fetchval(
            "SELECT count(*) FROM pg_locks WHERE relation = $1::regclass AND NOT granted", table
        )
    return int(waiting) >= 2


@pytest.fixture(scope="module")
async def hasty(tmp_path_factory: pytest.TempPathFactory, database_url: str) -> AsyncIterator[Running]:
    """A service in which what people read may take a second."""
    settings = NO_LIMITS | {"secret_key": SECRET_KEY, "database_people_seconds": 1}
    async with live(tmp_path_factory.mktemp("hasty"), database_url, **settings) as running:
        yield running


async def test_what_takes_too_long_is_stopped_and_said_so(
    hasty: Running, database: Database, database_url: str
) -> None:
    async with team_of(hasty, database) as team:
        program, browser = await team.program("asha"), await team.browser("asha")
        async with locked(database_url, "webhook_endpoints"):
            page, answer = await asyncio.gather(browser.get("/dashboard/webhooks"), program.get("/merchant/webhooks"))
            # The server has ended the statements: nobody is left who would only wait for what nobody reads.
            assert not await _are_waiting(database, "webhook_endpoints")
    assert page.status == 503
    assert "This took too long and was stopped." in page.words
    assert (answer.status, answer.code, set(answer.body)) == (503, "query_timeout", {"error"})
    assert int(answer.headers["Retry-After"]) > 0
