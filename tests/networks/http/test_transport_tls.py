"""One exchange through TLS: the server proves its name, and a cut connection never counts as a complete reply."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable

import pytest

from malipo.networks.http.connection import ConnectionBroken, HttpResponse
from malipo.networks.http.transport import NotSent, Transport
from tests.both_loops import anyio_backend as anyio_backend
from tests.networks.http.transports import NAME, OK, PAY, listening, opened, pay
from tests.networks.http.transports import exchanges as exchanges
from tests.networks.scripted_server import ScriptedServer, http
from tests.webhooks.certificates import authority


async def test_the_name_is_what_the_other_side_must_prove(exchanges: Transport) -> None:
    tls = authority().server(NAME)
    asked_for: list[str | None] = []
    tls.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    async with ScriptedServer.opened(tls=tls) as server:
        server.always(PAY, http("200 OK", "{}"))
        assert await pay(exchanges, server.port, at=f"https://{NAME}") == (200, b"{}")
        for other in ("https://other.example.com", "https://127.0.0.1"):
            with pytest.raises(NotSent, match=r"^no connection: certificate verify failed$"):
                await pay(exchanges, server.port, at=other)
        assert len(server.requests) == 1
    assert asked_for[0] == NAME


@pytest.mark.parametrize(
    "tls",
    [lambda: authority("A stranger").server(NAME), lambda: authority().server(NAME, days=-1), lambda: None],
    ids=["a stranger", "too old", "no TLS at all"],
)
async def test_who_cannot_prove_it_is_told_nothing(
    exchanges: Transport, tls: Callable[[], ssl.SSLContext | None]
) -> None:
    async with ScriptedServer.opened(tls=tls()) as server:
        with pytest.raises(NotSent):
            await pay(exchanges, server.port, at=f"https://{NAME}", seconds=1)
    assert server.requests == []


async def test_the_next_address_is_tried_if_the_first_cannot_prove_it() -> None:
    async with (
        ScriptedServer.opened(tls=authority().server(NAME)) as server,
        opened("127.0.0.2", "127.0.0.1") as exchanges,
    ):
        server.expect(PAY, http("200 OK", "{}"))
        stranger = authority("A stranger").server(NAME)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            raise AssertionError("nobody gets here")

        async with listening(serve, "127.0.0.2", port=server.port, tls=stranger):
            assert await pay(exchanges, server.port, at=f"https://{NAME}") == (200, b"{}")


TORN = {
    "the whole is whole without a goodbye": (http("200 OK", "{}").sent, False, HttpResponse(200, b"{}")),
    "what ends with a goodbye is whole": (OK + b"\r\n{}", True, HttpResponse(200, b"{}")),
    "what ends without a goodbye may have been cut": (OK + b"\r\n{}", False, ConnectionBroken),
    "what is short is not whole for all their goodbyes": (OK + b"Content-Length: 3\r\n\r\n{}", True, ConnectionBroken),
}


@pytest.mark.parametrize("case", TORN.values(), ids=TORN.keys())
async def test_who_cuts_the_line_cannot_make_an_answer(
    exchanges: Transport, case: tuple[bytes, bool, HttpResponse | type[ConnectionBroken]]
) -> None:
    sent, says_goodbye, expected = case

    def serve(listener: socket.socket) -> None:
        with authority().server(NAME).wrap_socket(listener.accept()[0], server_side=True) as line:
            line.recv(65536)
            line.sendall(sent)
            with contextlib.suppress(OSError):
                line.unwrap() if says_goodbye else line.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(serve, listener))
        call = pay(exchanges, listener.getsockname()[1], at=f"https://{NAME}")
        if isinstance(expected, HttpResponse):
            assert await call == expected
        else:
            with pytest.raises(expected):
                await call
        await serving
