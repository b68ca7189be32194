"""The HTTP client for callbacks: one POST at a time on each connection, kept open in between.

It knows HTTP/1.1 and nothing of results. No redirect is followed, and no proxy is taken from the environment. A general
client costs several times as much, and a benchmark sends a thousand callbacks a second.
"""

import asyncio
import base64
import ssl
from collections import defaultdict
from functools import lru_cache
from typing import NamedTuple

import httptools
from yarl import URL

_TIMEOUT_SECONDS = 10
_MOST_ANSWER_BYTES = 64 * 1024
# Shorter than servers' keep-alive, so that a callback is never sent on a connection that is just closing.
_KEEP_ALIVE_SECONDS = 4


class CallbackResponse(NamedTuple):
    status: int
    body: bytes


class _Place(NamedTuple):
    host: str
    port: int
    is_secure: bool


class CallbackClient:
    def __init__(self) -> None:
        self._idle: defaultdict[_Place, list[_Connection]] = defaultdict(list)

    async def post(self, url: str, body: bytes, content_type: bytes) -> CallbackResponse:
        """What was answered. OSError (a TimeoutError is one) or ValueError if nothing was, or nothing that is HTTP."""
        place, head = _address(url)
        request = b"%bContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b" % (head, content_type, len(body), body)
        async with asyncio.timeout(_TIMEOUT_SECONDS):
            line = self._kept(place) or await _opened(place)
            try:
                return await line.exchange(request)
            finally:
                if line.may_be_kept:
                    self._idle[place].append(line)
                else:
                    line.close()

    def _kept(self, place: _Place) -> "_Connection | None":
        """The connection that was used last: the others are more likely to be closed soon."""
        idle, now = self._idle[place], asyncio.get_running_loop().time()
        while idle:
            line = idle.pop()
            if line.may_be_kept and now < line.used_at + _KEEP_ALIVE_SECONDS:
                return line
            line.close()
        return None

    def close(self) -> None:
        for line in (line for idle in self._idle.values() for line in idle):
            line.close()
        self._idle.clear()


async def _opened(place: _Place) -> "_Connection":
    loop = asyncio.get_running_loop()
    context = _trust() if place.is_secure else None
    _, line = await loop.create_connection(lambda: _Connection(loop), place.host, place.port, ssl=context)
    return line


@lru_cache
def _trust() -> ssl.SSLContext:
    return ssl.create_default_context()


@lru_cache(maxsize=64)
def _address(url: str) -> tuple[_Place, bytes]:
    """The place, and the request up to the headers that change."""
    given = URL(url)
    assert given.raw_host, "The portal takes no other address."
    assert given.port, "Nor one of another scheme."
    head = f"POST {given.raw_path_qs} HTTP/1.1\r\nHost: {given.host_port_subcomponent}\r\nUser-Agent: simulator\r\n"
    if given.user:
        credentials = base64.b64encode(f"{given.user}:{given.password or ''}".encode())
        head += f"Authorization: Basic {credentials.decode()}\r\n"
    return _Place(given.raw_host, given.port, given.scheme == "https"), head.encode()


class _Connection(asyncio.Protocol):
    """A connection, with the answer that is just coming in."""

    _transport: asyncio.Transport

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._parser = httptools.HttpResponseParser(self)
        self._answer: asyncio.Future[CallbackResponse] = loop.create_future()
        self._answer.cancel()  # Nothing has been asked yet.
        self._status = 0
        self._body = b""
        self.used_at = 0.0
        self.may_be_kept = False

    async def exchange(self, request: bytes) -> CallbackResponse:
        if self._transport.is_closing():
            raise ConnectionResetError("the line was closed before anything was sent")
        self.may_be_kept = False
        self._status, self._body = 0, b""
        self._answer = self._loop.create_future()
        self._transport.write(request)
        answer = await self._answer
        self.used_at = self._loop.time()
        return answer

    def close(self) -> None:
        self._transport.close()

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserError:
            self._end(ValueError("the answer is not HTTP"))

    def connection_lost(self, error: Exception | None) -> None:
        # The end of a response without a length.
        self._end(None if self._status else error or ConnectionResetError("the line was closed before an answer came"))

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        self._status = status if status >= 200 else 0  # Below that, the answer is still to come.

    def on_body(self, body: bytes) -> None:
        self._body += body
        if len(self._body) >= _MOST_ANSWER_BYTES:
            self._end()

    def on_message_complete(self) -> None:
        if self._status:
            # Bytes without a request are not the answer to the next one.
            self._end(may_be_kept=not self._answer.done() and self._parser.should_keep_alive())

    def _end(self, error: Exception | None = None, *, may_be_kept: bool = False) -> None:
        self.may_be_kept = may_be_kept
        if self._answer.done():
            return
        if error:
            self._answer.set_exception(error)
        else:
            self._answer.set_result(CallbackResponse(self._status, self._body[:_MOST_ANSWER_BYTES]))
