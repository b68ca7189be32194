"""A connection for one request and its response, parsed as it arrives.

It decides when a response is complete. One that is too long, or not HTTP, or followed by other bytes, counts as none.
What comes after the response is ignored. The side that closes first keeps the port in TIME_WAIT for a minute, and ports
are limited: so the other side, which was asked to close, may close first.
"""

import asyncio
import os
import socket
import zlib
from ssl import SSLError, SSLObject
from typing import NamedTuple, cast

import httptools

_MOST_OF_A_HEAD = 64 * 1024  # bytes of the head, with any heads of interim answers before it
MOST_OF_A_BODY = 256 * 1024
_MOST_PER_BYTE = 4  # bytes of a body on the wire. Small chunks add many bytes of their own
_FAREWELL_SECONDS = 1.0
_PACKED = (b"gzip", b"x-gzip", b"deflate")
_TOO_LONG = "the answer is too long"


class ConnectionBroken(Exception):  # noqa: N818
    """There was a connection, and no complete response on it."""


class HttpResponse(NamedTuple):
    status: int
    body: bytes


class NetworkConnection(asyncio.Protocol):
    """The methods whose names begin with `on_` are called by the parser, during `feed_data`."""

    def __init__(
        self,
        outcome: "asyncio.Future[HttpResponse | ConnectionBroken]",
        among: "set[NetworkConnection]",
        most_of_a_body: int = MOST_OF_A_BODY,
    ) -> None:
        self.outcome = outcome
        self._most_of_a_body = most_of_a_body
        self._among = among  # while it is open
        self._parser = httptools.HttpResponseParser(self)
        # Lenient, because networks are. That is only dangerous where another response follows on the same connection.
        self._parser.set_dangerous_leniencies(
            lenient_headers=True, lenient_optional_cr_before_lf=True, lenient_spaces_after_chunk_size=True
        )
        self._is_asked = False
        self._heard = 0
        self._status = 0
        self._body = bytearray()
        self._is_whole = False
        self._leaving: asyncio.TimerHandle | None = None  # when the answer is there
        self.on_message_begin()

    def send(self, request: bytes) -> None:
        if not self._transport.is_closing():
            self._is_asked = True
            self._transport.write(request)

    def hang_up(self, *, at_once: bool = False) -> None:
        if at_once or self._leaving is None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._among.add(self)

    def data_received(self, data: bytes) -> None:
        if self.outcome.done():
            self._transport.abort()
            return
        self._heard += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail("the answer is not HTTP/1.1")
            return
        if not self._is_asked or self._transport.get_write_buffer_size():
            self._fail("an answer came before all was asked")
        elif self._is_too_long:
            self._fail(_TOO_LONG)
        elif self._is_whole:
            self._succeed()

    @property
    def _is_too_long(self) -> bool:
        most = _MOST_PER_BYTE * self._most_of_a_body if self._has_head else _MOST_OF_A_HEAD
        return self._heard > most or len(self._body) > self._most_of_a_body

    def eof_received(self) -> None:
        if self._has_head and self._ends_with_the_line and not self.outcome.done() and _is_goodbye(self._transport):
            self._succeed()

    def connection_lost(self, error: Exception | None) -> None:
        self._among.discard(self)
        if self._leaving is not None:
            self._leaving.cancel()
        self._fail(in_words(error) if error else "the connection was closed before the answer was whole")
        del self._parser  # A reference cycle.

    def on_message_begin(self) -> None:
        if not self._is_whole:
            self._has_head = False
            self._ends_with_the_line = True
            self._coding = b""

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._has_head:
            return  # It came after the body, too late to say what that is.
        name = name.lower()
        if name in (b"content-length", b"transfer-encoding"):
            self._ends_with_the_line = False
        elif name == b"content-encoding":
            self._coding = value.strip().lower()

    def on_headers_complete(self) -> None:
        if not self._is_whole:
            self._status = self._parser.get_status_code()
            self._has_head = self._status >= 200  # A status below 200 only announces another.

    def on_body(self, body: bytes) -> None:
        if not self._is_whole:
            self._body += body

    def on_message_complete(self) -> None:
        self._is_whole = self._has_head

    def _succeed(self) -> None:
        try:
            is_packed = self._body and self._coding in _PACKED
            body = _unpacked(self._body, self._most_of_a_body) if is_packed else bytes(self._body)
        except (ValueError, zlib.error):
            self._fail("the answer cannot be unpacked")
            return
        self.outcome.set_result(HttpResponse(self._status, body))
        self._leaving = asyncio.get_running_loop().call_later(_FAREWELL_SECONDS, self._transport.close)

    def _fail(self, why: str) -> None:
        if not self.outcome.done():
            self.outcome.set_result(ConnectionBroken(why))
        self._transport.abort()


def _is_goodbye(transport: asyncio.Transport) -> bool:
    """The end of the response by close. Anybody on the path can close TCP; with TLS only the peer can end it."""
    inside: SSLObject | None = transport.get_extra_info("ssl_object")
    if inside is None:
        return True
    try:
        return inside.read(1) == b""
    except SSLError:
        return False


def _unpacked(body: bytes | bytearray, most: int) -> bytes:
    """Content-Encoding, which we did not ask for, but which HTTP allows."""
    unpacking = zlib.decompressobj(32 + zlib.MAX_WBITS)  # gzip or deflate, as it says itself
    whole = unpacking.decompress(body, most + 1)
    if len(whole) > most or not unpacking.eof or unpacking.unused_data:
        raise ValueError("it does not end where it should")
    return whole


def in_words(error: Exception) -> str:
    """Never the address: it may hold a secret."""
    if isinstance(error, SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    if isinstance(error, socket.gaierror) and error.strerror:
        return error.strerror
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return type(error).__name__
