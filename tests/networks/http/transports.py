"""Exchanges with real sockets: a payment to send, and servers that listen as a test wants."""

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from malipo.networks.http.connection import HttpResponse
from malipo.networks.http.dns import DnsCache
from malipo.networks.http.transport import Transport
from tests.webhooks.certificates import authority

PAY = "POST /pay"
NAME = "gateway.example.com"
PLENTY = 20.0  # seconds, where the time limit is not what is tested
OK = b"HTTP/1.1 200 OK\r\n"


@asynccontextmanager
async def opened(*addresses: str) -> AsyncIterator[Transport]:
    """All names lead to these addresses."""

    async def look_up(host: str) -> tuple[str, ...]:
        return addresses

    exchanges = Transport(authority().trusted(), DnsCache(look_up))
    try:
        yield exchanges
    finally:
        await exchanges.close()


@pytest.fixture
async def exchanges() -> AsyncIterator[Transport]:
    async with opened("127.0.0.1") as exchanges:
        yield exchanges


async def pay(
    exchanges: Transport, port: int, *, at: str = "http://127.0.0.1", body: bytes = b"{}", seconds: float = PLENTY
) -> HttpResponse:
    return await exchanges.make("POST", f"{at}:{port}/pay", headers={}, body=body, timeout_seconds=seconds)


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(
    serve: Serve, host: str = "127.0.0.1", *, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    handled: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handled.add(asyncio.create_task(handle(reader, writer)))

    async with await asyncio.start_server(begin, host, port, ssl=tls) as server:
        yield int(server.sockets[0].getsockname()[1])
    await asyncio.gather(*handled)
