"""The end of an exchange: who closes the connection, and what giving up leaves behind."""

import asyncio
import contextlib
import os
import socket
import ssl

import pytest

from malipo.networks.http.connection import ConnectionBroken
from malipo.networks.http.transport import NotSent, Transport
from tests.both_loops import anyio_backend as anyio_backend
from tests.networks.http.transports import NAME, PAY, PLENTY, listening, pay
from tests.networks.http.transports import exchanges as exchanges
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.webhooks.certificates import authority


async def test_the_connection_is_closed_after_the_answer(exchanges: Transport) -> None:
    hung_up = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n{}")
        writer.write(http("200 OK", "{}").sent)
        assert await reader.read() == b""
        hung_up.set()

    async with listening(serve) as port:
        assert await pay(exchanges, port) == (200, b"{}")
        async with asyncio.timeout(PLENTY):
            await hung_up.wait()


async def test_through_tls_we_say_goodbye(exchanges: Transport) -> None:
    def serve(listener: socket.socket) -> bytes:
        tls = authority().server(NAME)
        tls.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
        line = tls.wrap_socket(listener.accept()[0], server_side=True, suppress_ragged_eofs=False)
        with line:
            line.recv(65536)
            line.sendall(http("200 OK", "{}").sent)
            return line.recv(65536)  # It raises for a connection that just ends.

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(serve, listener))
        assert await pay(exchanges, listener.getsockname()[1], at=f"https://{NAME}") == (200, b"{}")
        async with asyncio.timeout(PLENTY):
            assert await serving == b""


async def test_who_never_says_goodbye_is_not_waited_for_long(exchanges: Transport) -> None:
    def serve(listener: socket.socket) -> None:
        with authority().server(NAME).wrap_socket(listener.accept()[0], server_side=True) as line:
            line.recv(65536)
            line.sendall(http("200 OK", "{}").sent)
            with contextlib.suppress(ConnectionError):
                while os.read(line.fileno(), 65536):  # under the TLS: it does not see their goodbye
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(serve, listener))
        assert await pay(exchanges, listener.getsockname()[1], at=f"https://{NAME}") == (200, b"{}")
        async with asyncio.timeout(PLENTY):
            await serving


async def test_the_other_side_closes_first_and_if_it_does_not_we_do(exchanges: Transport) -> None:
    """Whoever closes first keeps the port for a minute, and we have fewer ports than a network has payments."""

    def serve(listener: socket.socket) -> str:
        with listener.accept()[0] as line:
            line.recv(65536)
            line.sendall(http("200 OK", "{}").sent)
            line.settimeout(0.3)
            with contextlib.suppress(TimeoutError):
                return f"{line.recv(1)!r} at once"
            line.settimeout(PLENTY)
            return repr(line.recv(1))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(serve, listener))
        assert await pay(exchanges, listener.getsockname()[1]) == (200, b"{}")
        async with asyncio.timeout(PLENTY):
            assert await serving == "b''"


async def _gone(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        await reader.read()


@pytest.mark.parametrize("at", ["http", "https"])
@pytest.mark.parametrize("is_late", [False, True], ids=["given up", "too late"])
async def test_who_gives_up_hangs_up(exchanges: Transport, at: str, is_late: bool) -> None:
    asked, hung_up = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n{}")
        asked.set()
        await _gone(reader)
        hung_up.set()

    async with listening(serve, tls=authority().server(NAME) if at == "https" else None) as port:
        call = asyncio.create_task(pay(exchanges, port, at=f"{at}://{NAME}", seconds=3 if is_late else PLENTY))
        await asked.wait()
        if not is_late:
            call.cancel()
        with pytest.raises(ConnectionBroken if is_late else asyncio.CancelledError):
            await call
        async with asyncio.timeout(PLENTY):
            await hung_up.wait()


@pytest.mark.parametrize("is_late", [False, True], ids=["given up", "too late"])
async def test_who_gives_up_before_the_other_side_has_shown_who_it_is_sent_nothing(
    exchanges: Transport, is_late: bool
) -> None:
    greeted, hung_up = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        greeted.set()
        await _gone(reader)
        hung_up.set()

    async with listening(serve) as port:
        call = asyncio.create_task(pay(exchanges, port, at=f"https://{NAME}", seconds=3 if is_late else PLENTY))
        await greeted.wait()
        if not is_late:
            call.cancel()
        with pytest.raises(NotSent if is_late else asyncio.CancelledError):
            await call
        async with asyncio.timeout(PLENTY):
            await hung_up.wait()


async def test_closing_ends_what_is_under_way(server: ScriptedServer) -> None:
    server.expect(PAY, Reply(after=After.HANG))
    exchanges = Transport(authority().trusted())
    call = asyncio.create_task(pay(exchanges, server.port))
    await server.was_called.wait()
    await exchanges.close()
    with pytest.raises(ConnectionBroken, match="the connection was closed"):
        await call
