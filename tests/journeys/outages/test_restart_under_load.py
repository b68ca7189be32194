"""`malipo serve` is replaced under load: no request is refused or left without an answer, and each payment exists once."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from malipo.db import Database
from tests.api.raw_http import exchange
from tests.conftest import Merchant, Running, until_ready
from tests.drills.summary import Figures
from tests.drills.units import Unit, a_unit, listening
from tests.journeys import database_facts
from tests.journeys.outages.keep_alive_clients import KeepAliveClients
from tests.journeys.outages.load import data_dir as data_dir
from tests.journeys.outages.load import made_once as made_once
from tests.journeys.outages.load import onboard_merchant, opened


@pytest.fixture
def socket_unit(tmp_path: Path) -> Iterator[Callable[..., Unit]]:
    """malipo.service with malipo.socket."""
    with ExitStack() as stack:
        listener = stack.enter_context(listening())

        def start(**settings: Any) -> Unit:
            variables = {f"MALIPO_{name.upper()}": str(value) for name, value in settings.items()}
            return stack.enter_context(a_unit(tmp_path, "serve", environment=variables, listener=listener))

        yield start


async def reload(running: Running) -> None:
    """systemctl reload, and the wait until it is done."""
    done = _count(running, "serve.reloaded")
    running.process.send_signal(signal.SIGHUP)
    while _count(running, "serve.reloaded") == done:
        assert _count(running, "serve.not_reloaded") == 0, running.log.read_text()
        await asyncio.sleep(0.02)


def _version(unit: Unit) -> str:
    answer = exchange(unit.service.url, b"GET /healthz HTTP/1.1\r\nhost: malipo\r\nconnection: close\r\n\r\n")
    version: str = answer.json["version"]
    return version


def _count(running: Running, event: str) -> int:
    return running.log.read_text().count(f'"event":"{event}"')


@asynccontextmanager
async def _under_load(clients: KeepAliveClients, *, connections: int) -> AsyncIterator[None]:
    load = asyncio.ensure_future(clients.run(connections))
    try:
        yield
    finally:
        clients.is_over = True
        await load


async def figures_of(clients: KeepAliveClients, database: Database) -> Figures:
    """There is no network here: `twice` are the payments that no client got an answer about, or that one key made two of."""
    found = await database_facts.ids(database)
    return Figures(
        answers=clients.answered,
        payments=len(clients.ids),
        failed_first=len(clients.lost) + sum(number for status, number in clients.statuses.items() if status > 201),
        longest_gap_seconds=clients.longest_gap_seconds,
        lost=len(set(clients.ids) - set(found)),
        twice=len(found) - len(set(clients.ids)),
    )


async def _assert_none_lost(clients: KeepAliveClients, database: Database) -> None:
    print(
        f"{clients.answered} answers, {len(clients.lost)} lost, {clients.connects} connects, "
        f"the slowest {clients.slowest_seconds:.2f} s"
    )
    assert clients.lost == []
    payments = clients.sent - clients.sent // 4
    assert clients.statuses == {201: payments, 200: clients.sent - payments}
    assert sorted(await database_facts.ids(database)) == sorted(clients.ids), "each exists once"
    await database_facts.assert_clean(database)


async def test_a_reload_and_a_restart_lose_no_request(
    socket_unit: Callable[..., Unit], database_url: str, database: Database, merchant: Merchant
) -> None:
    unit = socket_unit(database_url=database_url)
    await until_ready(unit.service)
    clients = KeepAliveClients(unit.port, merchant.key)
    async with _under_load(clients, connections=16):
        await clients.until_more(100)
        unit.install("2")
        await reload(unit.service)
        assert _version(unit) == "2", "a reload takes what is installed now"
        await clients.until_more(100)
        await asyncio.to_thread(unit.restart)
        await clients.until_more(100)
    await _assert_none_lost(clients, database)


@pytest.mark.slow
@pytest.mark.parametrize("replace", ["reload", "restart"])
async def test_none_of_ten_thousand_requests_at_64_connections_is_lost(
    socket_unit: Callable[..., Unit], data_dir: Path, replace: str
) -> None:
    """With the embedded PostgreSQL: a reload leaves it as it is, and a restart ends it and starts it again."""
    unit = socket_unit(data_dir=data_dir)
    await until_ready(unit.service)
    merchant = await onboard_merchant(data_dir)
    clients = KeepAliveClients(unit.port, merchant.key)
    async with _under_load(clients, connections=64):
        for _ in range(3):
            await clients.until_more(2_500)
            if replace == "reload":
                await reload(unit.service)
            else:
                await asyncio.to_thread(unit.restart)
        await clients.until_more(2_500)
    async with opened(data_dir) as database:
        await _assert_none_lost(clients, database)
