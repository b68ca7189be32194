"""Runs the simulator: listens, answers, and stops at once when it is told to."""

import asyncio
import gc
import logging
import os
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import uvicorn
import uvloop
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from malipo_simulator.app import TRANSPORT, App
from malipo_simulator.mail.smtp_server import SmtpServer
from malipo_simulator.router import WebRouter
from malipo_simulator.simulator import Simulator

# Longer than clients' keep-alive, so that a request is never sent on a connection that we are just closing.
_KEEP_ALIVE_SECONDS = 75
# So long a request may take to arrive, and its answer to be read. As malipo's own server.
SLOW_SECONDS = 30.0
_STDIN = 0


class CannotListen(Exception):  # noqa: N818
    """The address is in use, or not on this machine."""


def run(
    *,
    host: str,
    port: int,
    state: Path | None,
    speed: float,
    allowed_hosts: Sequence[str] = (),
    slow_seconds: float = SLOW_SECONDS,
    with_stdin: bool = False,
    mail_port: int | None = None,
) -> None:
    work = serve(
        host=host,
        port=port,
        state=state,
        speed=speed,
        allowed_hosts=allowed_hosts,
        slow_seconds=slow_seconds,
        with_stdin=with_stdin,
        mail_port=mail_port,
        on_ready=_say_so,
    )
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(work)


def _say_so(url: str) -> None:
    print(f"simulator ready on {url}", flush=True)  # noqa: T201 - the parent process waits for it.


async def serve(
    *,
    host: str,
    port: int,
    state: Path | None = None,
    speed: float = 1.0,
    allowed_hosts: Sequence[str] = (),
    slow_seconds: float = SLOW_SECONDS,
    with_stdin: bool = False,
    mail_port: int | None = None,
    on_ready: Callable[[str], None],
) -> None:
    listener = _listen(host, port)
    simulator = Simulator.assemble(state=state, speed=speed, now=time.time)
    smtp_server = SmtpServer(simulator.inbox, time.time)
    if mail_port is not None:
        await _take_mail(smtp_server, simulator, host, mail_port)
    # Errors in a request are printed where they happen; uvicorn's other messages are about bad clients.
    logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
    config = uvicorn.Config(
        App(simulator.network, simulator.gateways, simulator.seen, WebRouter(simulator, [host, *allowed_hosts])),
        http=type("Protocol", (SimulatorProtocol,), {"slow_seconds": slow_seconds}),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=_KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=0,
    )
    shown_host = f"[{host}]" if ":" in host else host
    server = _Server(config, simulator, lambda: on_ready(f"http://{shown_host}:{listener.getsockname()[1]}"))
    for signal_ in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(signal_, server.stop)
    if with_stdin:
        asyncio.get_running_loop().add_reader(_STDIN, _at_the_end_of_input, server.stop)
    try:
        simulator.network.resume()
        await server.serve(sockets=[listener])
    finally:
        await smtp_server.close()
        await simulator.close()


async def _take_mail(smtp_server: SmtpServer, simulator: Simulator, host: str, port: int) -> None:
    try:
        simulator.mail_port = await smtp_server.listen(host, port)
    except OSError as error:
        raise CannotListen(f"Cannot take mail on {host} port {port}: {os.strerror(error.errno or 0)}.") from None


def _at_the_end_of_input(stop: Callable[[], None]) -> None:
    """The parent process holds the other end. When it has ended, even by kill -9, this process ends too."""
    if not os.read(_STDIN, 4096):
        asyncio.get_running_loop().remove_reader(_STDIN)
        stop()


def _listen(host: str, port: int) -> socket.socket:
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family, backlog=2048)
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error)
        raise CannotListen(
            f"Cannot listen on {host} port {port}: {reason}. Is a simulator already running? Else give another --port."
        ) from None


class SimulatorProtocol(HttpToolsProtocol):
    """uvicorn's, with the connection in the application's reach, so that it can be cut; slow ones are closed."""

    slow_seconds = SLOW_SECONDS
    _arrival: asyncio.TimerHandle | None = None  # until the request is there
    _reading: asyncio.TimerHandle | None = None  # until the client has read enough of the answer

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._await_arrival()

    def data_received(self, data: bytes) -> None:
        # Also for bytes that begin no request, such as empty lines: uvicorn takes them for one.
        if self.cycle is None or self.cycle.response_complete:
            self._await_arrival()
        super().data_received(data)

    def _await_arrival(self) -> None:
        if self._arrival is None:
            self._arrival = self.loop.call_later(self.slow_seconds, self._close_slow)

    def on_message_begin(self) -> None:
        super().on_message_begin()
        self._await_arrival()
        self.scope[TRANSPORT] = self.transport  # type: ignore[literal-required]

    def on_message_complete(self) -> None:
        super().on_message_complete()
        if self._arrival is not None:
            self._arrival.cancel()
            self._arrival = None

    def pause_writing(self) -> None:
        super().pause_writing()
        self._reading = self.loop.call_later(self.slow_seconds, self._abort)

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading is not None:
            self._reading.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._arrival, self._reading):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)

    def _close_slow(self) -> None:
        # Closing would first wait until the client has read what is left.
        if self.transport.get_write_buffer_size():
            self._abort()
        else:
            self.transport.close()

    def _abort(self) -> None:
        # At once: the system would otherwise keep what was not read, and go on offering it.
        connection = self.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.transport.abort()


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, simulator: Simulator, on_ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._simulator = simulator
        self._on_ready = on_ready

    def stop(self) -> None:
        # Replies that are held for a decision would hold us up.
        self._simulator.network.let_go()
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """We handle the signals: uvicorn would raise them again at the end, and the process would be killed by them."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        gc.collect()
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        self._on_ready()
