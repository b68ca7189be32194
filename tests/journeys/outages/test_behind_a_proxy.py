"""malipo is reloaded and restarted behind a proxy with the configuration in deploy/: no request fails.

A proxy keeps connections to malipo open. It does not repeat a payment that it has sent on one that malipo was closing.
"""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import aiohttp
import pytest

from malipo.db import Database
from tests.conftest import Merchant, until_ready
from tests.drills.figures import Record
from tests.drills.figures import record as record
from tests.drills.proxies import Proxy, a_proxy
from tests.drills.units import Unit
from tests.journeys.outages.keep_alive_clients import KeepAliveClients
from tests.journeys.outages.test_restart_under_load import _assert_none_lost, _under_load, figures_of, reload
from tests.journeys.outages.test_restart_under_load import socket_unit as socket_unit

pytestmark = pytest.mark.slow

_PAUSE_SECONDS = 0.4  # between a client's requests, of some: their connections are idle when malipo stops


@pytest.fixture(params=["nginx", "haproxy"])
def proxy(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Proxy]]:
    with ExitStack() as stack:
        yield lambda **given: stack.enter_context(a_proxy(request.param, tmp_path, **given))


@pytest.mark.parametrize("is_kept", [True, False], ids=["kept", "one a request"])
@pytest.mark.parametrize("replace", ["reload", "restart"])
async def test_none_of_three_thousand_requests_behind_a_proxy_is_lost(
    socket_unit: Callable[..., Unit],
    proxy: Callable[..., Proxy],
    database_url: str,
    database: Database,
    merchant: Merchant,
    replace: str,
    is_kept: bool,
    record: Record,
    request: pytest.FixtureRequest,
) -> None:
    """With upstream keepalive there were 8 × 502 of 3,000 over five reloads, and 5 over seven restarts."""
    unit = socket_unit(database_url=database_url, trusted_proxies="127.0.0.1")
    await until_ready(unit.service)
    before = proxy(upstream=unit.port, is_kept=is_kept)
    await before.until_ready()
    clients = KeepAliveClients(before.port, merchant.key, pause_seconds=_PAUSE_SECONDS)
    async with _under_load(clients, connections=24):
        for _ in range(5):
            await clients.until_more(500)
            if replace == "reload":
                await reload(unit.service)
            else:
                await asyncio.to_thread(unit.restart)
        await clients.until_more(500)
    name = request.node.callspec.params["proxy"]
    kept = "with keepalive" if is_kept else "without keepalive"
    record(f"five times {replace} behind {name}, {kept}", await figures_of(clients, database))
    await _assert_none_lost(clients, database)


async def test_a_form_is_accepted_through_a_proxy_on_another_port(
    socket_unit: Callable[..., Unit], proxy: Callable[..., Proxy], database_url: str
) -> None:
    """malipo compares the form's origin with the host: a proxy that dropped the port made each form 403."""
    unit = socket_unit(database_url=database_url, trusted_proxies="127.0.0.1")
    await until_ready(unit.service)
    before = proxy(upstream=unit.port, is_kept=True)
    await before.until_ready()
    port = before.port
    form = {"email": "nobody@example.com", "password": "not the right one"}
    for origin, is_refused in ((f"http://127.0.0.1:{port}", False), ("http://127.0.0.1:1", True)):
        async with (
            aiohttp.ClientSession() as http,
            http.post(f"http://127.0.0.1:{port}/dashboard/login", data=form, headers={"Origin": origin}) as answer,
        ):
            assert (answer.status == 403) is is_refused
