"""A server with scripted replies: it records every byte of each request, and sends the bytes a test wrote for it.

It knows as much of HTTP as it takes to see where a request ends, and nothing of any network.
"""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import TypeAlias

from malipo.networks.http.client import Reply as ReceivedReply


@dataclass(frozen=True)
class Request:
    """What was heard. `line` is the method and the path, by which a script finds its place."""

    raw: bytes
    method: str
    target: str
    headers: tuple[tuple[str, str], ...]
    body: bytes
    connection: int

    @property
    def line(self) -> str:
        return f"{self.method} {self.target.partition('?')[0]}"

    def header(self, name: str) -> str:
        """The one header of this name: two would be a fault, and so would none."""
        (value,) = [value for each, value in self.headers if each.lower() == name.lower()]
        return value

    @property
    def header_names(self) -> list[str]:
        return [name.lower() for name, _ in self.headers]


class After(Enum):
    """What becomes of the connection when the bytes are said."""

    STAY = auto()  # and hear the next request
    CLOSE = auto()
    RESET = auto()
    HANG = auto()  # open and silent, until the other side gives up
    POUR = auto()  # more and more bytes, until the other side gives up


@dataclass(frozen=True)
class Reply:
    sent: bytes = b""
    after: After = After.STAY
    piece: int | None = None  # so many bytes at a time
    pause_seconds: float = 0  # between the pieces
    delay_seconds: float = 0
    held_by: asyncio.Event | None = None  # nothing is said before this is set


Saying: TypeAlias = Reply | Callable[[Request], Reply]


def http(status: str, body: str | bytes = b"", *headers: str, media_type: str = "application/json") -> Reply:
    """A well-formed reply: `status` as in "201 Created"."""
    content = body.encode() if isinstance(body, str) else body
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {media_type}", f"Content-Length: {len(content)}", *headers]
    return Reply("\r\n".join([*lines, "", ""]).encode() + content)


def received(reply: Reply) -> ReceivedReply:
    """The same reply, as the HTTP client hands it to whoever reads it."""
    head, _, body = reply.sent.partition(b"\r\n\r\n")
    return ReceivedReply(int(head.split(b" ", 2)[1]), body)


class ScriptedServer:
    def __init__(self) -> None:
        self.port = 0
        self.requests: list[Request] = []
        self.unexpected: list[str] = []
        self.was_called = asyncio.Event()
        self.slams_the_door = False  # reset whoever comes, before a word
        self.said = 0  # replies, to their last byte
        self.poured = 0
        self._connections = 0
        self._queues: dict[str, list[Saying]] = {}
        self._always: dict[str, Saying] = {}
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    def expect(self, line: str, *replies: Saying) -> None:
        """Answer the next requests on this line so, in this order; any more, or fewer, fails the test."""
        self._queues.setdefault(line, []).extend(replies)

    def always(self, line: str, reply: Saying) -> None:
        self._always[line] = reply

    def on(self, line: str) -> list[Request]:
        return [each for each in self.requests if each.line == line]

    @property
    def lines(self) -> list[str]:
        return [each.line for each in self.requests]

    @property
    def unsaid(self) -> list[str]:
        return [line for line, replies in self._queues.items() if replies]

    def leave(self) -> None:
        """Take no new connection: whoever comes is refused."""
        assert self._server is not None
        self._server.close()

    @classmethod
    @asynccontextmanager
    async def opened(cls, *, tls: ssl.SSLContext | None = None) -> AsyncIterator["ScriptedServer"]:
        server = cls()
        server._server = await asyncio.start_server(server._serve, "127.0.0.1", 0, ssl=tls)
        server.port = int(server._server.sockets[0].getsockname()[1])
        try:
            yield server
        finally:
            server._server.close()
            for task in server._tasks:
                task.cancel()
            await asyncio.gather(*server._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._connections += 1
        connection = self._connections
        try:
            if self.slams_the_door:
                _reset(writer)
                return
            while (request := await _read_request(reader, connection)) is not None:
                self.requests.append(request)
                self.was_called.set()
                if not await self._say(self._reply_to(request), reader, writer):
                    return
        except (ConnectionError, asyncio.CancelledError):
            pass  # They hung up, or the test is over.
        finally:
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError, ssl.SSLError):
                await writer.wait_closed()

    def _reply_to(self, request: Request) -> Reply:
        queue = self._queues.get(request.line)
        saying = queue.pop(0) if queue else self._always.get(request.line)
        if saying is None:
            self.unexpected.append(f"{request.method} {request.target}")
            return Reply(after=After.CLOSE)
        return saying if isinstance(saying, Reply) else saying(request)

    async def _say(self, reply: Reply, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        if reply.held_by is not None:
            await reply.held_by.wait()
        await asyncio.sleep(reply.delay_seconds)
        size = reply.piece or len(reply.sent) or 1
        for start in range(0, len(reply.sent), size):
            writer.write(reply.sent[start : start + size])
            await writer.drain()
            await asyncio.sleep(reply.pause_seconds)
        self.said += 1
        if reply.after is After.RESET:
            _reset(writer)
        if reply.after is After.HANG:
            await reader.read()
        while reply.after is After.POUR:
            writer.write(b" " * 65536)
            await writer.drain()
            self.poured += 65536
            await asyncio.sleep(0)
        return reply.after is After.STAY


def _reset(writer: asyncio.StreamWriter) -> None:
    """Throw the connection away, so that the other side gets RST and not FIN."""
    handle: socket.socket = writer.get_extra_info("socket")
    handle.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Request | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head[:-4].decode("latin-1").split("\r\n")
    method, target, version = first.split(" ")
    assert version == "HTTP/1.1"
    headers = tuple((name, value.strip(" ")) for name, _, value in (line.partition(":") for line in lines))
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    body = await reader.readexactly(length)
    return Request(head + body, method, target, headers, body, connection)
