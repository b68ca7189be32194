"""The simulator of its tests: one real process at fifty times the speed of life, reset before each test."""

import asyncio
import shutil
import urllib.request
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import aiohttp
import msgspec
import pytest
from aiohttp import web

from tests.simulator.airtel import Airtel
from tests.simulator.azampay.client import Azampay
from tests.simulator.clickpesa import Clickpesa
from tests.simulator.halopesa import Halopesa
from tests.simulator.merchant_clients import ByAirtel, ByAzampay, ByClickpesa, ByHalopesa, ByMpesa, ByTigo, Merchant
from tests.simulator.mpesa import Mpesa
from tests.simulator.processes import Listener, Process, Sim, start
from tests.simulator.tigo import Tigo

SPEED = 30


@pytest.fixture(scope="package")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the process keeps its state, and others find credentials that need not be made again."""
    return tmp_path_factory.mktemp("simulator")


@pytest.fixture(scope="package")
def process(folder: Path) -> Iterator[Process]:
    running = start("--speed", str(SPEED), "--state", str(folder))
    yield running
    assert running.stop() == (0, "")


@pytest.fixture
def state(process: Process, folder: Path, tmp_path: Path) -> Path:
    """A folder with credentials and nothing else."""
    shutil.copy(folder / "credentials.json", tmp_path)
    return tmp_path


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    # No connection is used twice: a cut one must not be noticed by the next request.
    connector = aiohttp.TCPConnector(force_close=True, limit=0)
    async with aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(total=15)) as session:
        yield session


@pytest.fixture(scope="package")
def credentials(process: Process) -> dict[str, Any]:
    with urllib.request.urlopen(f"{process.url}/api/credentials") as answer:  # noqa: S310 - our own process.
        found: dict[str, Any] = msgspec.json.decode(answer.read())
    return found


@pytest.fixture
async def sim(process: Process, http: aiohttp.ClientSession, credentials: dict[str, Any]) -> Sim:
    sim = Sim(http, process.url, credentials)
    await sim("POST", "/api/reset")
    return sim


@pytest.fixture
async def unhurried(sim: Sim) -> None:
    """At the speed of life: a prompt is there until it is answered, however busy the machine."""
    await sim.control(speed=1)


@pytest.fixture
async def mpesa(sim: Sim) -> Mpesa:
    return await Mpesa(sim.http, sim.url, sim.credentials["MPESA"]).open()


@pytest.fixture
async def airtel(sim: Sim) -> Airtel:
    return await Airtel(sim.http, sim.url, sim.credentials["AIRTEL_MONEY"]).open()


@pytest.fixture
async def tigo(sim: Sim) -> Tigo:
    return await Tigo(sim.http, sim.url, sim.credentials["TIGO_PESA"]).open()


@pytest.fixture
async def halopesa(sim: Sim) -> Halopesa:
    return Halopesa(sim.http, sim.url, sim.credentials["HALOPESA"])


@pytest.fixture
async def clickpesa(sim: Sim) -> Clickpesa:
    return await Clickpesa(sim.http, sim.url, sim.credentials["CLICKPESA"]).open()


@pytest.fixture
async def azampay(sim: Sim) -> Azampay:
    return await Azampay(sim.http, sim.url, sim.credentials["AZAMPAY"]).open()


@pytest.fixture
def merchants(
    mpesa: Mpesa, airtel: Airtel, tigo: Tigo, halopesa: Halopesa, clickpesa: Clickpesa, azampay: Azampay
) -> dict[str, Merchant]:
    return {
        "MPESA": ByMpesa(mpesa),
        "AIRTEL_MONEY": ByAirtel(airtel),
        "TIGO_PESA": ByTigo(tigo),
        "HALOPESA": ByHalopesa(halopesa),
        "CLICKPESA": ByClickpesa(clickpesa),
        "AZAMPAY": ByAzampay(azampay),
    }


@pytest.fixture
async def listener(sim: Sim) -> AsyncIterator[Listener]:
    """Somebody who is told everything that every network has to tell."""
    received = Listener("")
    app = web.Application()
    app.router.add_post("/told", received.take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    received.url = f"http://127.0.0.1:{runner.addresses[0][1]}/told"
    await sim("PUT", "/api/callbacks", dict.fromkeys(sim.credentials, received.url))
    yield received
    await sim("POST", "/api/reset")
    await runner.cleanup()


PATIENT = "+255754123100"


async def answer_prompt(sim: Sim, phone: str, action: str) -> None:
    async with asyncio.timeout(240):
        while not (prompts := await sim("GET", f"/api/prompts?phone=%2B{phone[1:]}")):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    await sim("POST", f"/api/prompts/{prompts[0]['id']}", {"action": action})
