"""malipo serve: keeps the listening sockets, migrates, and runs the API and a worker as child processes.

At SIGHUP other children take the place of those that run, with the code and the files of now. They have the same
sockets, and those that they replace stop when they are ready: no connection is refused meanwhile (decision 29).
"""

import argparse
import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence
from typing import Any

from malipo import log
from malipo.api.http.timeouts import STOP_SECONDS
from malipo.child_processes import SAY_READY, SOCKETS, Child, Children, NotStarted, Program
from malipo.cli.database import database_url
from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.db.wait_at_start import is_there, wait_for_database
from malipo.http_server.listen import listeners, of_supervisor
from malipo.merchants.store import merchants
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import connect
from malipo.settings import Settings, demo_settings
from malipo.settings.environment import require

DEMO_MERCHANT = "Demo Shop"
# Beside the time for what is under way: to close connections, and to write the last lines.
_CLOSE_SECONDS = 5.0


def add_commands(commands: Any) -> None:
    serve = commands.add_parser("serve", help="run the service: migrations, then the API and a worker")
    serve.set_defaults(command=_serve)


def _serve(arguments: argparse.Namespace, settings: Settings) -> int:
    require(settings, "secret_key")
    connect(settings, HttpClient())  # Says what is missing, before anything is started.
    log.configure(level=settings.log_level, stream=sys.stderr)
    warn_of_proxies(settings)
    # First of all: a second service on one machine ends with a sentence, and changes nothing.
    sockets = listeners(settings, of_supervisor(os.environ))
    with database_url(settings, may_start=True) as url:
        asyncio.run(_ServiceProcesses(settings, url, sockets).run())
    return 0


class _ServiceProcesses:
    """The API and the worker, until SIGTERM or SIGINT."""

    def __init__(self, settings: Settings, url: str, sockets: Sequence[socket.socket]) -> None:
        self._settings = settings
        self._url = url
        self._sockets = sockets
        self._children = Children(sys.stderr)
        self._current: list[Child] = []
        self._hang_up = asyncio.Event()

    async def run(self) -> None:
        loop = asyncio.get_running_loop()
        stop = asyncio.Event()
        for signal_ in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(signal_, stop.set)
        loop.add_signal_handler(signal.SIGHUP, self._hang_up.set)
        async with self._children:
            work = asyncio.ensure_future(self._start_and_reload())
            stopped = asyncio.ensure_future(stop.wait())
            await asyncio.wait((work, stopped), return_when=asyncio.FIRST_COMPLETED)
            for each in self._sockets:
                each.close()  # Who comes now is refused at once, unless a supervisor has the sockets too.
            if not work.done():
                work.cancel()
            stopped.cancel()
            await asyncio.gather(work, stopped, return_exceptions=True)
        if not work.cancelled():
            work.result()

    async def _start_and_reload(self) -> None:
        await self._start()
        while True:
            await self._hang_up.wait()
            self._hang_up.clear()
            await self._reload()

    async def _start(self) -> None:
        if not await is_there(self._url):
            # It serves without a database: /healthz is alive, /readyz and all else 503.
            self._current.append(await self._children.start(self._api()))
            await wait_for_database(self._url)
        await migrate_at(self._url)
        await _warn_of_demo(self._url)
        demo_settings.delete(self._settings.data_dir)
        if not self._current:
            self._current.append(await self._children.start(self._api()))
        self._current.append(await self._children.start(self._worker()))

    async def _reload(self) -> None:
        """Others take the place of the children. If they cannot be started, everything stays as it is."""
        log.info("serve.reloading")
        replaced, started = self._current, list[Child]()
        try:
            await self._migrate_anew()
            started.append(await self._children.start(self._api()))
            if self._settings.worker_metrics_port is None:
                started.append(await self._children.start(self._worker(says_ready=True)))
        except NotStarted as error:
            await asyncio.gather(*(self._children.stop(each) for each in started))
            log.error("serve.not_reloaded", message=f"{error} The processes before go on.")
            return
        self._current = started
        await asyncio.gather(*(self._children.stop(each) for each in replaced))
        if len(self._current) == 1:  # Two workers cannot listen on one port; payments wait for the second.
            self._current.append(await self._children.start(self._worker()))
        log.info("serve.reloaded")

    async def _migrate_anew(self) -> None:
        """By the code of now, which may be newer than ours."""
        migrating = Program("malipo", ["migrate"], os.environ)
        process = await asyncio.create_subprocess_exec(*migrating.command[:-1], stdout=sys.stderr, stderr=sys.stderr)
        if await process.wait() != 0:
            raise NotStarted("The database could not be migrated.")

    def _api(self) -> Program:
        files = [each.fileno() for each in self._sockets]
        return Program(
            "malipo",
            ["api", SOCKETS, *map(str, files)],
            os.environ,
            stop_seconds=STOP_SECONDS + _CLOSE_SECONDS,
            says_ready=True,
            inherited=files,
        )

    def _worker(self, *, says_ready: bool = False) -> Program:
        return Program(
            "malipo",
            ["worker", SAY_READY] if says_ready else ["worker"],
            os.environ,
            stop_seconds=stop_seconds_of_worker(self._settings),
            says_ready=says_ready,
        )


def stop_seconds_of_worker(settings: Settings) -> float:
    """It waits for requests that are under way, as long as it was told; only then it may be killed."""
    return settings.worker_stop_seconds + _CLOSE_SECONDS


async def migrate_at(url: str) -> None:
    async with Database.opened(url, size=4) as database:
        await migrate(database)


async def _warn_of_demo(url: str) -> None:
    async with Database.opened(url, size=1) as database, database.read() as connection:
        if await merchants.find_by_name(connection, DEMO_MERCHANT):
            log.warning("serve.demo_data", message="The demo merchant, its key and its money are in this database.")


def warn_of_proxies(settings: Settings) -> None:
    """Where TLS ends there is a proxy. Whether it is there cannot be known before the first request."""
    if not settings.trusted_proxies:
        log.warning(
            "proxy.none_trusted",
            message="MALIPO_TRUSTED_PROXIES names no proxy. All clients of a proxy in front of malipo are one address, "
            "to the limits of log-in attempts and to the IP allowlists of keys.",
        )
