"""A proxy to a network that can fail: it refuses connections, accepts and never answers, or breaks them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum, auto
from urllib.parse import urlsplit

from tests.conftest import free_port

_BROKEN = (
    b"HTTP/1.1 500 Oops\r\nContent-Type: text/html\r\nContent-Length: 15\r\nConnection: close\r\n\r\n<h1>Broken</h1>"
)


class Bar(Enum):
    REFUSES = auto()  # no connection is taken: provably nothing arrives
    HANGS = auto()  # connections are taken, and nothing is ever answered
    BREAKS = auto()  # everything is answered with HTTP 500


class NetworkProxy:
    def __init__(self, target_url: str) -> None:
        parts = urlsplit(target_url)
        self._target = (str(parts.hostname), parts.port or 80)
        self._port = free_port()
        self._path = parts.path
        self._bar: Bar | None = None
        self._listener: asyncio.Server | None = None
        self._lines: set[asyncio.StreamWriter] = set()
        self.travellers = 0  # who have set out on it

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}{self._path}"

    async def open(self) -> None:
        self._bar = None
        if self._listener is None:
            self._listener = await asyncio.start_server(self._travel, "127.0.0.1", self._port)

    async def bar(self, bar: Bar) -> None:
        """From now on, for everybody on it and everybody who comes."""
        await self.open()
        self._bar = bar
        if bar is Bar.REFUSES:
            await self.close()
        for line in list(self._lines):
            line.transport.abort()

    async def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
            self._listener = None
        for line in list(self._lines):
            line.transport.abort()

    async def _travel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.travellers += 1
        self._lines.add(writer)
        try:
            if self._bar is Bar.HANGS:
                await reader.read()
            elif self._bar is Bar.BREAKS:
                await reader.readuntil(b"\r\n\r\n")
                writer.write(_BROKEN)
                await writer.drain()
            else:
                await self._pass(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self._lines.discard(writer)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from_network, to_network = await asyncio.open_connection(*self._target)
        self._lines.add(to_network)
        pumps = {
            asyncio.ensure_future(_pump(reader, to_network)),
            asyncio.ensure_future(_pump(from_network, writer)),
        }
        try:
            await asyncio.wait(pumps, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for pump in pumps:
                pump.cancel()
            await asyncio.gather(*pumps, return_exceptions=True)
            self._lines.discard(to_network)
            to_network.close()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@asynccontextmanager
async def a_network_proxy(target_url: str) -> AsyncIterator[NetworkProxy]:
    road = NetworkProxy(target_url)
    await road.open()
    try:
        yield road
    finally:
        await road.close()
