"""HTTP/1.1 for `AsyncMalipo`, on asyncio's streams: connections that are kept open, and used by one task at a time.

As in `connections.py` no redirect is followed and no proxy is taken from the environment.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from typing import Any, NamedTuple

from malipo_client.connections import is_closed
from malipo_client.errors import ConnectionFailed
from malipo_client.request import Answer, Request
from malipo_client.service_address import ServiceAddress

_LARGEST_HEAD = 64 * 1024
_MOST_AT_ONCE = 100  # The service takes 256 connections of one address, and there may be another process beside us.


class _Broken(Exception):
    """The answer is not HTTP."""


class _Connection(NamedTuple):
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    @property
    def socket(self) -> int:
        return int(self.writer.get_extra_info("socket").fileno())


class AsyncConnections:
    def __init__(self, address: ServiceAddress, *, timeout: float, tls: ssl.SSLContext | None) -> None:
        self._address = address
        self._timeout = timeout
        self._tls = tls
        self._idle: list[_Connection] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turns: asyncio.Semaphore | None = None

    async def send(self, request: Request[Any]) -> Answer:
        async with self._turns_here():
            return await self._exchange(request)

    async def _exchange(self, request: Request[Any]) -> Answer:
        connection = self._idle_one() or await self._new_one()
        is_reusable = False
        try:
            connection.writer.write(self._bytes_of(request))
            patience = self._timeout + request.wait_seconds
            answer, is_reusable = await asyncio.wait_for(_read(connection), patience)
        except asyncio.TimeoutError as error:
            raise ConnectionFailed(f"No answer from {self._address.url} in time.", was_sent=True) from error
        except (OSError, EOFError, _Broken, asyncio.LimitOverrunError, ValueError) as error:
            words = str(error) or type(error).__name__
            raise ConnectionFailed(f"No answer from {self._address.url}: {words}.", was_sent=True) from error
        finally:  # Also when the task was cancelled: a connection with half an answer is not used again.
            if is_reusable:
                self._idle.append(connection)
            else:
                connection.writer.close()
        return answer

    async def close(self) -> None:
        closing, self._idle = self._idle, []
        for connection in closing:
            connection.writer.close()
        for connection in closing:
            with contextlib.suppress(OSError):  # It was closed from the other side.
                await connection.writer.wait_closed()

    def _turns_here(self) -> asyncio.Semaphore:
        loop = asyncio.get_running_loop()
        if self._turns is None or self._loop is not loop:
            # The connections of another event loop, which may have ended, cannot be used here.
            self._loop, self._idle, self._turns = loop, [], asyncio.Semaphore(_MOST_AT_ONCE)
        return self._turns

    def _idle_one(self) -> _Connection | None:
        while self._idle:
            connection = self._idle.pop()
            if not connection.writer.is_closing() and not is_closed(connection.socket):
                return connection
            connection.writer.close()
        return None

    async def _new_one(self) -> _Connection:
        address = self._address
        if address.is_tls and self._tls is None:
            self._tls = ssl.create_default_context()
        tls = self._tls if address.is_tls else None
        opening = asyncio.open_connection(address.host, address.port, ssl=tls, limit=_LARGEST_HEAD)
        try:
            return _Connection(*await asyncio.wait_for(opening, self._timeout))
        except asyncio.TimeoutError as error:
            raise ConnectionFailed(f"No connection to {address.url} in time.", was_sent=False) from error
        except OSError as error:
            words = error.strerror or str(error) or type(error).__name__
            raise ConnectionFailed(f"No connection to {address.url}: {words}.", was_sent=False) from error

    def _bytes_of(self, request: Request[Any]) -> bytes:
        address, payload = self._address, request.payload
        host = f"[{address.host}]" if ":" in address.host else address.host
        headers = {"Host": f"{host}:{address.port}", **address.headers_of(request)}
        if request.method != "GET":
            headers["Content-Length"] = str(len(payload))
        lines = [f"{request.method} {address.target_of(request)} HTTP/1.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        return "\r\n".join([*lines, "", ""]).encode("ascii") + payload


async def _read(connection: _Connection) -> tuple[Answer, bool]:
    """The answer, and whether another one can follow on this connection."""
    status = 100
    while 100 <= status < 200:  # What comes before the answer itself.
        version, status, headers = _head(await connection.reader.readuntil(b"\r\n\r\n"))
    is_kept = version == "HTTP/1.1" and headers.get("connection", "").lower() != "close"
    reader, length = connection.reader, headers.get("content-length")
    if status in (204, 304):
        return Answer(status, headers, b""), is_kept
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return Answer(status, headers, await _chunks(reader)), is_kept
    if length is not None:
        return Answer(status, headers, await reader.readexactly(_number(length, 10))), is_kept
    return Answer(status, headers, await reader.read()), False


def _head(head: bytes) -> tuple[str, int, dict[str, str]]:
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, rest = first.partition(" ")
    if version not in ("HTTP/1.1", "HTTP/1.0"):
        raise _Broken("this is no HTTP")
    headers: dict[str, str] = {}
    for line in filter(None, lines):
        name, colon, value = line.partition(":")
        if not colon:
            raise _Broken("a header without a colon")
        headers[name.lower()] = value.strip()
    return version, _number(rest[:3], 10), headers


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while size := _number((await reader.readuntil(b"\r\n")).split(b";")[0].strip().decode("ascii"), 16):
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    while await reader.readuntil(b"\r\n") != b"\r\n":
        pass  # Trailers.
    return body


def _number(text: str, base: int) -> int:
    digits = "0123456789abcdef"[:base]
    if not text or len(text) > 12 or not all(each in digits for each in text.lower()):
        raise _Broken(f"not a number: {text!r}")
    return int(text, base)
