"""Merchants' servers: real HTTP on a real port, that answer, fail, hang, drip or hang up, as the test says.

A receiver keeps everything it was sent, byte for byte. It is written without malipo's own HTTP, and knows nothing of it.
"""

import asyncio
import contextlib
import random
import socket
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Got:
    """One request, as it came."""

    path: str
    headers: Mapping[str, str]  # by their names in small letters
    body: bytes

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    @property
    def event(self) -> str:
        return self.headers["x-service-event"]


@dataclass(frozen=True, slots=True)
class Line:
    """Where it came from, and where its answer goes."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter


# What is done about a request. The line stays open for the next one if it returns.
Behaviour = Callable[[Got, Line], Awaitable[None]]


class HungUp(Exception):  # noqa: N818
    """The receiver closes the line."""


def says(
    status: int, body: bytes = b"", *, headers: tuple[tuple[str, bytes], ...] = (), after_seconds: float = 0
) -> Behaviour:
    lines = [b"%s: %s\r\n" % (name.encode(), value) for name, value in headers]
    head = b"HTTP/1.1 %d Said\r\nContent-Length: %d\r\n%s\r\n" % (status, len(body), b"".join(lines))

    async def behave(_: Got, line: Line) -> None:
        if after_seconds:
            await asyncio.sleep(after_seconds)
        line.writer.write(head + body)

    return behave


good = says(200)
gone = says(410)


def good_after(let: asyncio.Event) -> Behaviour:
    """A good answer, once the test lets it."""

    async def behave(got: Got, line: Line) -> None:
        await let.wait()
        await good(got, line)

    return behave


async def hangs(_: Got, line: Line) -> None:
    """The request is read, and nothing is ever answered, until the other side gives up."""
    await line.reader.read()
    raise HungUp


async def drips(_: Got, line: Line) -> None:
    """A byte a second of an answer that never ends."""
    line.writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while not line.reader.at_eof():
        line.writer.write(b".")
        await line.writer.drain()
        await asyncio.sleep(1)
    raise HungUp


async def hangs_up(_: Got, line: Line) -> None:
    raise HungUp


def fails_at_random(share: float, chance: random.Random) -> Behaviour:
    """Of so many, with a 500, a 429, or by hanging up: the receiver has it, and we get no success."""
    faults = [says(500), says(429, b"slowly"), hangs_up]

    async def behave(got: Got, line: Line) -> None:
        await (chance.choice(faults) if chance.random() < share else good)(got, line)

    return behave


def in_turn(*behaviours: Behaviour) -> Behaviour:
    """Each once; the last for ever."""
    left = list(behaviours)

    async def behave(got: Got, line: Line) -> None:
        await (left.pop(0) if len(left) > 1 else left[0])(got, line)

    return behave


class Receiver:
    """One server; each path of it is a merchant's endpoint that behaves in its own way, and well if nothing is said."""

    def __init__(self) -> None:
        self.got: list[Got] = []
        self.under_way: Counter[str] = Counter()
        self.most_under_way: Counter[str] = Counter()
        self._behaviours: dict[str, Behaviour] = defaultdict(lambda: good)
        self._tasks: set[asyncio.Task[None]] = set()
        self.port = 0

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def behave(self, path: str, behaviour: Behaviour) -> str:
        """From now on; the address."""
        self._behaviours[path] = behaviour
        return self.url(path)

    def at(self, path: str) -> list[Got]:
        return [each for each in self.got if each.path == path]

    def ids(self, path: str) -> set[str]:
        return {each.id for each in self.got if each.path == path}

    async def take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                await self._answer(await _request(reader), Line(reader, writer))
        except (HungUp, OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass  # A line that we end ourselves must not look like a failure.
        finally:
            self._tasks.discard(task)
            writer.transport.abort()

    async def _answer(self, got: Got, line: Line) -> None:
        self.got.append(got)
        self.under_way[got.path] += 1
        self.most_under_way[got.path] = max(self.most_under_way[got.path], self.under_way[got.path])
        try:
            await self._behaviours[got.path](got, line)
            await line.writer.drain()
        finally:
            self.under_way[got.path] -= 1

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


async def _request(reader: asyncio.StreamReader) -> Got:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *rest = head.split("\r\n")[:-2]
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in rest)}
    return Got(first.split(" ")[1], headers, await reader.readexactly(int(headers["content-length"])))


@asynccontextmanager
async def a_receiver(port: int = 0) -> AsyncIterator[Receiver]:
    receiver = Receiver()
    server = await asyncio.start_server(receiver.take, "127.0.0.1", port, backlog=2048)
    receiver.port = server.sockets[0].getsockname()[1]
    try:
        yield receiver
    finally:
        server.close()
        await receiver.close()
        with contextlib.suppress(OSError):
            await server.wait_closed()


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which connections are refused, and which nobody else can take meanwhile."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/"
