"""Callbacks of the simulator: every way in which a server may answer a POST, or not."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest

from malipo_simulator.callback_client import CallbackClient, CallbackResponse

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Server:
    """Says what it is told to, byte for byte, to one request after the other."""

    def __init__(self, says: list[bytes]) -> None:
        self._says: Iterator[bytes] = iter(says)
        self.lines = 0
        self.requests: list[bytes] = []
        self.url = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.lines += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                self.requests.append(head + await reader.readexactly(4))
                said = next(self._says)
                writer.write(said.removesuffix(b"<end>"))
                if said.endswith(b"<end>"):
                    return
        except asyncio.IncompleteReadError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def saying(*says: bytes) -> AsyncIterator[tuple[Server, CallbackClient]]:
    server, lines = Server(list(says)), CallbackClient()
    async with await asyncio.start_server(server.serve, "127.0.0.1", 0) as listening:
        server.url = f"http://ann:pw@127.0.0.1:{listening.sockets[0].getsockname()[1]}/a b?c=d"
        try:
            yield server, lines
        finally:
            lines.close()


async def post(server: Server, lines: CallbackClient) -> CallbackResponse:
    return await asyncio.wait_for(lines.post(server.url, b"body", b"application/json"), 60)


async def test_a_line_is_used_again() -> None:
    async with saying(PLAIN, PLAIN, PLAIN) as (server, lines):
        assert [await post(server, lines) for _ in range(3)] == [CallbackResponse(200, b"ok")] * 3
        assert server.lines == 1
        assert server.requests[0] == server.requests[2]
        head = server.requests[0].decode()
        assert head.startswith("POST /a%20b?c=d HTTP/1.1\r\nHost: 127.0.0.1:")
        assert "\r\nAuthorization: Basic YW5uOnB3\r\n" in head
        assert head.endswith("Content-Type: application/json\r\nContent-Length: 4\r\n\r\nbody")


async def test_two_at_once_have_a_line_each() -> None:
    async with saying(PLAIN, PLAIN) as (server, lines):
        await asyncio.gather(post(server, lines), post(server, lines))
        assert server.lines == 2


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", CallbackResponse(200, b"ok")),
        (b"HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n", CallbackResponse(503, b"")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", CallbackResponse(204, b"")),
        (b"HTTP/1.1 103 Early Hints\r\n\r\n" + PLAIN, CallbackResponse(200, b"ok")),
    ],
)
async def test_after_a_whole_answer_the_line_is_kept(said: bytes, answer: CallbackResponse) -> None:
    async with saying(said, PLAIN) as (server, lines):
        assert await post(server, lines) == answer
        assert await post(server, lines) == CallbackResponse(200, b"ok")
        assert server.lines == 1


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (PLAIN.replace(b"OK", b"OK\r\nConnection: close"), CallbackResponse(200, b"ok")),
        (PLAIN + b"<end>", CallbackResponse(200, b"ok")),
        (b"HTTP/1.1 200 OK\r\n\r\nok<end>", CallbackResponse(200, b"ok")),
        (PLAIN + PLAIN, CallbackResponse(200, b"ok")),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n" + b"x" * 70_000, CallbackResponse(200, b"x" * 65_536)),
    ],
    ids=["said so", "closed", "no length", "one too many", "too long"],
)
async def test_after_anything_else_a_new_line_is_opened(said: bytes, answer: CallbackResponse) -> None:
    async with saying(said, PLAIN) as (server, lines):
        assert await post(server, lines) == answer
        await asyncio.sleep(0.02)
        assert await post(server, lines) == CallbackResponse(200, b"ok")
        assert server.lines == 2


@pytest.mark.parametrize(
    ("said", "error"),
    [(b"<end>", ConnectionResetError), (b"HTTP/1.1 20<end>", ConnectionResetError), (b"hello\r\n\r\n", ValueError)],
)
async def test_no_answer_is_an_error(said: bytes, error: type[Exception]) -> None:
    async with saying(said, PLAIN) as (server, lines):
        with pytest.raises(error):
            await post(server, lines)
        assert await post(server, lines) == CallbackResponse(200, b"ok")


async def test_who_gave_up_does_not_hear_the_answer_later() -> None:
    async with saying(b"", PLAIN) as (server, lines):
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(lines.post(server.url, b"body", b"text/plain"), 0.05)
        assert await post(server, lines) == CallbackResponse(200, b"ok")
        assert server.lines == 2
