"""Runs the application: listens, answers, and stops gracefully."""

import asyncio
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from malipo import clock, ids, log
from malipo.api.app import App
from malipo.api.errors import response
from malipo.db import Database
from malipo.service import Service
from malipo.settings import Settings

_STOP_SECONDS = 15
_MOST_HEAD_BYTES = 256 * 1024


class CannotListen(Exception):  # noqa: N818
    """Somebody else has the address, or it is not ours."""


async def serve(settings: Settings, database_url: str, *, on_ready: Callable[[], None] = lambda: None) -> None:
    """Answer until SIGTERM or SIGINT; then finish what is under way, and refuse what is new."""
    listener = _listen(settings.host, settings.port)
    database = Database(database_url, size=settings.database_pool)
    await database.open()
    service = Service.assemble(settings, database)
    config = uvicorn.Config(
        App(service),
        http=_Protocol,
        ws="none",
        loop="uvloop",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_graceful_shutdown=_STOP_SECONDS,
    )
    server = _Server(config, service, on_ready)
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_, server.stop)
    try:
        await server.serve(sockets=[listener])
    finally:
        await service.finish()
        await database.close()
        log.info("api.stopped")


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CannotListen(f"Cannot listen on {host} port {port}: {reason}. Set MALIPO_HOST or MALIPO_PORT.") from None


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, service: Service, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._service = service
        self._on_ready = on_ready

    def stop(self) -> None:
        # Whoever waits for a status to change is let go first, or the stop would wait for them.
        self._service.watch.release()
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """The signals are ours: uvicorn would raise them again at the end and die of them."""
        yield

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        log.info("api.started")
        self._on_ready()


class _Protocol(HttpToolsProtocol):
    """HTTP itself, with our error shape for what is not HTTP, and a bound on what precedes a body."""

    _head_bytes = 0
    _is_in_head = True

    def on_message_begin(self) -> None:
        self._is_in_head = True
        self._head_bytes = 0
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        if self._is_in_head:
            self._head_bytes += len(data)
            if self._head_bytes > _MOST_HEAD_BYTES:
                return self.send_400_response("The request's headers are too large.")
        return super().data_received(data)

    def send_400_response(self, msg: str) -> None:
        answer = response(400, "bad_request", "The request is not valid HTTP.")
        answer.headers["X-Request-Id"] = ids.mint("req_", clock.now())
        head = [b"HTTP/1.1 400 Bad Request\r\n"]
        head += [name + b": " + value + b"\r\n" for name, value in answer.raw_headers]
        self.transport.write(b"".join([*head, b"connection: close\r\n\r\n", bytes(answer.body)]))
        self.transport.close()
