"""The site: the API, and the pages for people beside it. Listens, answers, and stops gracefully."""

import asyncio
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from malipo import gc_tuning, log
from malipo.api.app import App
from malipo.api.http_protocol import Protocol
from malipo.dashboard.merchant.app import Dashboard
from malipo.dashboard.operator.app import OperatorDashboard
from malipo.db import Database
from malipo.errors import Impossible
from malipo.service import Service
from malipo.settings import Settings

_STOP_SECONDS = 15
# Longer than clients and proxies keep theirs, so that a payment is never sent on a line that we are just closing.
_KEEP_ALIVE_SECONDS = 75


class WebApplication:
    """Pages for merchants at /dashboard and for operators at /operator, the API everywhere else."""

    def __init__(self, service: Service) -> None:
        self._api = App(service)
        self._pages: dict[str, ASGIApp] = {"dashboard": Dashboard(service), "operator": OperatorDashboard(service)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        app = self._pages.get(path[1:].partition("/")[0], self._api)
        await app(scope, receive, send)


class CannotListen(Impossible):
    """Somebody else has the address, or it is not ours."""


async def serve(settings: Settings, database_url: str, *, on_ready: Callable[[], None] = lambda: None) -> None:
    """Answer until SIGTERM or SIGINT; then finish what is under way, and refuse what is new."""
    listener = _listen(settings.host, settings.port)
    database = Database(database_url, size=settings.database_pool, finds_by_key=True)
    await database.open()
    service = Service.assemble(settings, database)
    config = uvicorn.Config(
        WebApplication(service),
        http=Protocol,
        ws="none",
        loop="uvloop",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    server = _Server(config, service, on_ready, f"http://{settings.host}:{settings.port}")
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_, server.stop)
    watches = [asyncio.ensure_future(each.watch()) for each in (service.clock_skew, service.standing)]
    try:
        await server.serve(sockets=[listener])
    finally:
        for each in watches:
            each.cancel()
        await service.finish()
        await database.close()
        log.info("api.stopped")


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CannotListen(
            f"Cannot listen on {host} port {port}: {reason}. "
            "Is malipo already running? Else set MALIPO_HOST or MALIPO_PORT."
        ) from None


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service, on_ready: Callable[[], None], url: str) -> None:
        super().__init__(config)
        self._url = url
        self._service = service
        self._on_ready = on_ready

    def stop(self) -> None:
        # Whoever waits for a status to change is let go first, or the stop would wait for them.
        self._service.release_readers()
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The signals are ours: uvicorn would raise them again at the end and die of them."""
        yield

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        gc_tuning.collect_rarely()
        log.info("api.started", url=self._url)
        self._on_ready()
