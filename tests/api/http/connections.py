"""A server on a real socket, and a client's connection to it, both of which can be looked at."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import uvicorn
from starlette.types import ASGIApp
from uvicorn.server import ServerState

from malipo.api.http.protocol import Protocol
from tests.api.raw_http import RawAnswer

LONG = 5.0


class Watched(Protocol):
    """Counts what it hears, and what it writes."""

    received_bytes = 0
    parsed = 0  # heads of requests
    went_off = 0  # its timers

    def connection_made(self, transport: Any) -> None:
        self.written: list[bytes] = []
        self.is_lost = asyncio.Event()
        super().connection_made(_Transport(transport, self.written))  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.is_lost.set()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.received_bytes += len(data)

    def on_headers_complete(self) -> None:
        self.parsed += 1
        super().on_headers_complete()

    def _close_if_idle(self) -> None:
        self.went_off += 1
        super()._close_if_idle()

    def _close_when_answered(self) -> None:
        self.went_off += 1
        super()._close_when_answered()


class _Transport:
    def __init__(self, transport: asyncio.Transport, written: list[bytes]) -> None:
        self._transport = transport
        self._written = written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._written.append(data)
        self._transport.write(data)


class Line:
    """A client's end of a connection, and the server's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, other_end: Watched) -> None:
        self._reader = reader
        self._writer = writer
        self._said = 0
        self.other_end = other_end

    @property
    def ends(self) -> tuple[Any, Any]:
        """The client's address, and the server's."""
        return self._writer.get_extra_info("sockname"), self._writer.get_extra_info("peername")

    def throw(self, packet: bytes) -> None:
        """Send, and do not look whether it is read."""
        self._said += len(packet)
        self._writer.write(packet)

    async def say(self, *packets: bytes) -> None:
        """Send each when the one before it has been read."""
        for packet in packets:
            self.throw(packet)
            await until(lambda: self.other_end.received_bytes == self._said)

    async def read_answer(self, *, is_head: bool = False) -> RawAnswer:
        status, headers = await self.read_head()
        if is_head or status in (100, 204, 304):
            return RawAnswer(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while chunk := await self.read_chunk():
                body += chunk
            return RawAnswer(status, headers, body)
        return RawAnswer(status, headers, await self.read_bytes(int(headers["content-length"])))

    async def read_head(self) -> tuple[int, dict[str, str]]:
        async with asyncio.timeout(LONG):
            head = await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = head[:-4].decode("latin-1").split("\r\n")
        assert first.startswith("HTTP/1.1 ")
        headers = [tuple(line.split(": ", 1)) for line in lines]
        assert len(dict(headers)) == len(headers), f"a header that is there twice: {head!r}"  # type: ignore[arg-type]
        return int(first.split(" ")[1]), dict(headers)  # type: ignore[arg-type]

    async def read_chunk(self) -> bytes:
        async with asyncio.timeout(LONG):
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            return (await self._reader.readexactly(size + 2))[:-2]

    async def read_bytes(self, number: int) -> bytes:
        async with asyncio.timeout(LONG):
            return await self._reader.readexactly(number)

    async def read_rest(self) -> bytes:
        """Everything until the other side hangs up."""
        async with asyncio.timeout(LONG):
            return await self._reader.read()

    async def is_silent(self, *, seconds: float = 0.03) -> bool:
        """Whether nothing comes for so long, not even the end."""
        try:
            async with asyncio.timeout(seconds):
                received_bytes = await self._reader.read(1)
        except TimeoutError:
            return True
        assert not received_bytes, received_bytes
        return False

    async def hang_up(self) -> None:
        self._writer.close()
        async with asyncio.timeout(LONG):
            await self.other_end.is_lost.wait()


class Place:
    """A server, and its lines."""

    def __init__(self, port: int, ends: "list[Watched]", state: ServerState) -> None:
        self._port = port
        self._ends = ends
        self.state = state
        self._writers: list[asyncio.StreamWriter] = []

    async def call(self, *, address: str = "127.0.0.1") -> Line:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, local_addr=(address, 0))
        self._writers.append(writer)
        await until(lambda: len(self._ends) == len(self._writers))
        return Line(reader, writer, self._ends[-1])

    async def leave(self) -> None:
        for writer in self._writers:
            writer.close()
        for end in self._ends:
            await end.is_lost.wait()


@asynccontextmanager
async def serving(app: ASGIApp, *, keep_alive: float = LONG) -> AsyncIterator[Place]:
    settings: Any = {"timeout_keep_alive": keep_alive, "proxy_headers": False}  # as the service has it
    config = uvicorn.Config(app, http=Watched, ws="none", lifespan="off", log_config=None, access_log=False, **settings)
    config.load()
    ends: list[Watched] = []
    state = ServerState()

    def answer_the_call() -> Watched:
        ends.append(Watched(config=config, server_state=state, app_state={}))
        return ends[-1]

    server = await asyncio.get_running_loop().create_server(answer_the_call, "127.0.0.1", 0)
    place = Place(server.sockets[0].getsockname()[1], ends, state)
    try:
        yield place
    finally:
        server.close()
        async with asyncio.timeout(LONG):
            await place.leave()
            if state.tasks:
                await asyncio.wait(state.tasks)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(LONG):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)
