"""`malipo serve` is replaced under load: no request is refused or left without an answer, and each payment exists once."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from malipo.db import Database
from tests.api.raw_http import exchange
from tests.conftest import NO_LIMITS, SECRET_KEY, Merchant, Running, until_ready
from tests.journeys import database_facts
from tests.journeys.outages.keep_alive_clients import KeepAliveClients
from tests.journeys.outages.load import data_dir as data_dir
from tests.journeys.outages.load import made_once as made_once
from tests.journeys.outages.load import onboard_merchant, opened

# As systemd starts a service that has a socket unit.
_ACTIVATED = """
import os, sys
os.dup2(int(sys.argv[1]), 3)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
os.execv(sys.argv[2], [sys.argv[2], "serve"])
"""
# What is installed as bin/malipo; each version has a folder of its own.
_PROGRAM = """#!{python}
import malipo
malipo.__version__ = "{version}"
from malipo.cli import main
main()
"""


class SocketUnit:
    """What systemd does with malipo.socket: it keeps the socket, whatever becomes of the service."""

    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
        self.port: int = self._listener.getsockname()[1]
        self._log = folder / "malipo.log"
        self._installed = folder / "installed"
        self.install("1")
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "MALIPO_PORT": str(self.port),
            "MALIPO_SECRET_KEY": SECRET_KEY,
            "MALIPO_WORKER_STOP_SECONDS": "1",
            **{f"MALIPO_{name.upper()}": str(value) for name, value in (NO_LIMITS | settings).items()},
        }
        self.service = self._start()

    def install(self, version: str) -> None:
        """A new folder, and the link of the unit shows to it from now on."""
        folder = self._installed.with_name(f"version-{version}")
        folder.mkdir()
        program = folder / "malipo"
        program.write_text(_PROGRAM.format(python=sys.executable, version=version))
        program.chmod(0o755)
        self._installed.unlink(missing_ok=True)
        self._installed.symlink_to(folder)

    def restart(self) -> None:
        """systemctl restart: the next process begins when the last one has ended."""
        assert self.service.stop() == 0
        self.service = self._start()

    def close(self) -> None:
        self.service.stop()
        self._listener.close()

    def _start(self) -> Running:
        file = self._listener.fileno()
        with self._log.open("ab") as output:
            command = [sys.executable, "-c", _ACTIVATED, str(file), str(self._installed / "malipo")]
            process = subprocess.Popen(
                command, env=self._environment, stdout=output, stderr=output, cwd=self._log.parent, pass_fds=[file]
            )
        return Running(process, f"http://127.0.0.1:{self.port}", self._log)


@pytest.fixture
def socket_unit(tmp_path: Path) -> Iterator[Callable[..., SocketUnit]]:
    started: list[SocketUnit] = []

    def start(**settings: Any) -> SocketUnit:
        started.append(SocketUnit(tmp_path, settings))
        return started[-1]

    yield start
    for each in started:
        each.close()


async def reload(running: Running) -> None:
    """systemctl reload, and the wait until it is done."""
    done = _count(running, "serve.reloaded")
    running.process.send_signal(signal.SIGHUP)
    while _count(running, "serve.reloaded") == done:
        assert _count(running, "serve.not_reloaded") == 0, running.log.read_text()
        await asyncio.sleep(0.02)


def _version(unit: SocketUnit) -> str:
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
    socket_unit: Callable[..., SocketUnit], database_url: str, database: Database, merchant: Merchant
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
    socket_unit: Callable[..., SocketUnit], data_dir: Path, replace: str
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
