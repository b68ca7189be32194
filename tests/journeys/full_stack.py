"""The full stack: simulated networks, malipo's API and workers, each a process or loop of its own, over real HTTP."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import aiohttp

from malipo.app.assemble import Service, assemble
from malipo.cli import simulator_setup
from malipo.db import Database
from malipo.settings import Settings
from malipo.settings.environment import read
from malipo.worker.run import work
from tests.conftest import (
    NO_LIMITS,
    PATIENCE_SECONDS,
    SECRET_KEY,
    Client,
    Merchant,
    Running,
    make_merchant,
    starting,
    until_ready,
)
from tests.journeys.operator_commands import malipo
from tests.simulator.processes import Sim
from tests.simulator.processes import start as start_simulator

SPEED = 10

# Queries come soon and often, so that a test sees in seconds what takes an hour in production.
HURRY: dict[str, Any] = {
    "poll_seconds": "1,1,1,1,1,2",
    "not_found_seconds": "2",
    "not_indexed_seconds": "2",
    "not_indexed_answers": "3",
    "follow_up_seconds": "2,4",
    "tigo_pesa_not_found_codes": "GetSOError010",  # as a contract would list it
    "unsettled_seconds": "8",
    "secret_key": SECRET_KEY,
    **NO_LIMITS,
}


@dataclass
class FullStack:
    sim: Sim
    api: Client
    merchant: Merchant
    database: Database
    database_url: str
    settings: Settings
    environment: dict[str, str]
    start: Callable[..., Running]  # another malipo process of this stack

    async def take(self, channel: str, type_: str, phone: str, amount: int = 1000) -> str:
        """A payment, as a merchant's program asks for it; its id."""
        party = "buyer" if type_ == "COLLECTION" else "recipient"
        path = "/v1/payments" if type_ == "COLLECTION" else "/v1/payments/disburse"
        answer = await self.api("POST", path, {"amount": amount, "channel": channel, f"{party}Phone": phone})
        assert answer.status == 201, answer.body
        return str(answer.body["transaction"]["id"])

    async def shown(self, id_: str) -> dict[str, Any]:
        answer = await self.api("GET", f"/v1/payments/{id_}")
        assert answer.status == 200, answer.body
        found: dict[str, Any] = answer.body["transaction"]
        return found

    async def unsettled(self) -> dict[str, str]:
        """What an operator is shown: payments, and why."""
        named = {name.removeprefix("MALIPO_").lower(): value for name, value in self.environment.items()}
        said = await malipo("payments", "unsettled", "--json", database_url=self.database_url, **named)
        assert said.code == 0, said.err
        return {each["payment"]: each["why"] for each in said.json}

    async def moved(self) -> dict[str, list[dict[str, Any]]]:
        """What the networks' own book says, by phone."""
        book: dict[str, list[dict[str, Any]]] = {}
        for each in (await self.sim("GET", "/api/book"))["movements"]:
            book.setdefault(each["phone"], []).append(each)
        return book


@asynccontextmanager
async def full_stack_started(
    folder: Path,
    database_url: str,
    *,
    speed: float = SPEED,
    wallet: int = 50_000_000,
    api_url: str | None = None,
    **settings: Any,
) -> AsyncIterator[FullStack]:
    """A simulator and an API, unless the test starts one at this address itself; workers are the test's to start."""
    simulator = await asyncio.to_thread(start_simulator, "--speed", str(speed))
    started: list[Running] = []
    try:
        variables = simulator_setup.environment(simulator.url, await simulator_setup.credentials(simulator.url))
        otel = {name: settings.pop(name) for name in list(settings) if name.startswith("OTEL_")}
        variables |= {f"MALIPO_{name.upper()}": str(value) for name, value in (HURRY | settings).items()}
        # As in a connection pool of a real client: one that is cut must not be noticed by another request.
        http = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))
        with starting(folder) as start_one:
            named = {name.removeprefix("MALIPO_").lower(): value for name, value in variables.items()}

            def start(*command: str, **more: Any) -> Running:
                started.append(start_one(*command, **{"database_url": database_url} | named | otel | more))
                return started[-1]

            if api_url is None:
                api_url = (await until_ready(start("api"))).url
            async with http, Database.opened(database_url, size=20, connect_seconds=PATIENCE_SECONDS) as database:
                merchant = await make_merchant(database, wallet=wallet)
                read_settings = read(variables)
                await simulator_setup.register_callbacks(simulator.url, api_url, read_settings)
                sim = Sim(http, simulator.url, {})
                client = Client(http, api_url, merchant.key)
                yield FullStack(sim, client, merchant, database, database_url, read_settings, variables, start)
    finally:
        # Also when the test has failed: processes that are left would disturb the next one.
        for each in started:
            await asyncio.to_thread(each.stop)
        simulator.stop()


class Home(Protocol):
    """What a worker needs to know of where it works."""

    @property
    def database_url(self) -> str: ...

    @property
    def settings(self) -> Settings: ...


@dataclass(frozen=True)
class Elsewhere:
    """Where a worker works that finds the database, or the networks, in another place than the rest of the stack."""

    database_url: str
    settings: Settings


@asynccontextmanager
async def a_worker(
    full_stack: Home, *, lease_seconds: float | None = None, at_point: Callable[[str], None] = lambda _: None
) -> AsyncIterator[Service]:
    """A worker in this process, with a database pool of its own."""
    stop = asyncio.Event()
    async with Database.opened(full_stack.database_url, size=10, connect_seconds=PATIENCE_SECONDS) as database:
        service = assemble(full_stack.settings, database)
        running = asyncio.ensure_future(
            work(
                service, full_stack.database_url, stop, finish_seconds=2, lease_seconds=lease_seconds, at_point=at_point
            )
        )
        try:
            yield service
        finally:
            stop.set()
            with contextlib.suppress(asyncio.CancelledError):
                await running
            await service.finish()


async def until(
    question: Callable[[], Any],
    *,
    seconds: float = PATIENCE_SECONDS,
    pause: float = 0.1,
    what: str = "what was waited for",
) -> Any:
    """Poll until the answer is true."""
    deadline = asyncio.get_running_loop().time() + seconds
    while True:
        answer = await question()
        if answer:
            return answer
        assert asyncio.get_running_loop().time() < deadline, f"{what} did not happen in {seconds} s"
        await asyncio.sleep(pause)
