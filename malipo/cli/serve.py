"""malipo serve: keeps the listening sockets, migrates, and runs the API and a worker as child processes.

At SIGHUP other children take the place of those that run, with the code and the files of now. They have the same
sockets, and those that they replace stop when they are ready: no connection is refused meanwhile (decision 29).
`malipo reload` sends the signal and waits for the end. With --only there is one child and no migration: for machines
that run one of both, and roles that may not migrate.
"""

import argparse
import asyncio
import os
import signal
import socket
import sys
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import msgspec

from malipo import log
from malipo.api.http.timeouts import STOP_SECONDS
from malipo.cli.child_processes import SAY_READY, SOCKETS, Child, Children, NotStarted, Program
from malipo.cli.command_table import add_command
from malipo.cli.database_url import database_url
from malipo.cli.reload import ReloadFile
from malipo.db import Database
from malipo.db.migrate import migrate
from malipo.db.wait_for_database import is_there, wait_for_database
from malipo.http_server.sockets import listeners, of_supervisor
from malipo.merchants.store import merchants
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import connect
from malipo.settings import Settings, demo_settings
from malipo.settings.environment import require_to_serve

DEMO_MERCHANT = "Demo Shop"
# Beside the time for what is under way: to close connections, and to write the last lines.
_CLOSE_SECONDS = 5.0
_PARTS = ("api", "worker")


def add_commands(commands: Any) -> None:
    serve = add_command(commands, "serve")
    serve.add_argument("--only", choices=_PARTS, help="run only this process, without migrations")
    serve.set_defaults(command=_serve)


def _serve(arguments: argparse.Namespace, settings: Settings) -> int:
    require_to_serve(settings)
    connect(settings, HttpClient())  # Says what is missing, before anything is started.
    log.configure(level=settings.log_level, stream=sys.stderr)
    parts = (arguments.only,) if arguments.only else _PARTS
    sockets: Sequence[socket.socket] = ()
    if "api" in parts:
        warn_of_proxies(settings)
        # First of all: a second service on one machine ends with a sentence, and changes nothing.
        sockets = listeners(settings, of_supervisor(os.environ))
    with database_url(settings, may_start=True) as url, closing(ReloadFile(settings.data_dir)) as reloads:
        asyncio.run(_ServiceProcesses(settings, url, sockets, reloads, parts).run())
    return 0


class _ServiceProcesses:
    """The API and the worker, or one of them, until SIGTERM or SIGINT."""

    def __init__(
        self,
        settings: Settings,
        url: str,
        sockets: Sequence[socket.socket],
        reloads: ReloadFile,
        parts: Sequence[str],
    ) -> None:
        self._settings = settings
        self._url = url
        self._sockets = sockets
        self._reloads = reloads
        self._parts = parts
        self._migrates = len(parts) == len(_PARTS)
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
                each.close()  # A client that connects now is refused at once, unless a supervisor has the sockets too.
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
        if not self._migrates:
            await is_there(self._url)  # An address that cannot be used ends it here, with a sentence.
            part = self._api() if "api" in self._parts else self._worker()
            self._current.append(await self._children.start(part))
            return
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
        """Replace the child processes, and report the result to `malipo reload`."""
        log.info("serve.reloading")
        self._reloads.begin()
        try:
            await self._replace()
        except NotStarted as error:
            log.error("serve.not_reloaded", message=str(error))
            self._reloads.end(str(error))
        else:
            log.info("serve.reloaded")
            self._reloads.end(None)

    async def _replace(self) -> None:
        """If the others cannot be started, everything stays as it is."""
        replaced, started = self._current, list[Child]()
        worker_waits = "worker" in self._parts and self._settings.worker_metrics_port is not None
        try:
            await self._prepare_database()
            if "api" in self._parts:
                started.append(await self._children.start(self._api()))
            if "worker" in self._parts and not worker_waits:
                started.append(await self._children.start(self._worker(says_ready=True)))
        except NotStarted as error:
            await asyncio.gather(*(self._children.stop(each) for each in started))
            raise NotStarted(f"{error} The processes before go on.") from error
        self._current = started
        await asyncio.gather(*(self._children.stop(each) for each in replaced))
        if worker_waits:  # Two workers cannot listen on one port; payments wait for the second.
            await self._start_worker()

    async def _start_worker(self) -> None:
        try:
            self._current.append(await self._children.start(self._worker(says_ready=True)))
        except NotStarted as error:
            self._current.append(await self._children.start(self._worker()))
            raise NotStarted(f"{error} No worker runs; it is started again every second.") from error

    async def _prepare_database(self) -> None:
        """Prepare the database by the code of now, which may be newer than ours: migrate, or see that the schema serves
        it."""
        arguments = ["migrate"] if self._migrates else ["migrate", "--status", "--json"]
        command = Program("malipo", arguments, os.environ).command[:-1]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        output, errors = await process.communicate()
        sys.stderr.write(errors.decode(errors="replace"))
        if process.returncode != 0:
            raise NotStarted(f"`malipo migrate` of the version that is installed now failed: {_why(output, errors)}")

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


def _why(output: bytes, errors: bytes) -> str:
    """The command's reason: the sentences of its errors, or the problem in its JSON."""
    lines = errors.decode(errors="replace").splitlines()
    if sentences := [line.removeprefix("malipo: ") for line in lines if line.startswith("malipo: ")]:
        return " ".join(sentences)
    try:
        return str(msgspec.json.decode(output)["problem"])
    except (msgspec.MsgspecError, KeyError, TypeError):
        return lines[-1] if lines else "it gave no reason."


def stop_seconds_of_worker(settings: Settings) -> float:
    """The worker waits this long for requests that are under way. Only then it may be killed."""
    return settings.worker_stop_seconds + _CLOSE_SECONDS


async def migrate_at(url: str) -> None:
    async with Database.opened(url, size=4) as database:
        await migrate(database)


async def _warn_of_demo(url: str) -> None:
    async with Database.opened(url, size=1) as database, database.read() as connection:
        if await merchants.find_by_name(connection, DEMO_MERCHANT):
            log.warning("serve.demo_data", message="The demo merchant, its key and its money are in this database.")


def warn_of_proxies(settings: Settings) -> None:
    """Warn at the start if no proxy is trusted, because a missing setting shows only at the first request."""
    if not settings.trusted_proxies:
        log.warning(
            "proxy.none_trusted",
            message="MALIPO_TRUSTED_PROXIES names no proxy. All clients of a proxy in front of malipo are one address, "
            "to the limits of log-in attempts and to the IP allowlists of keys.",
        )
