"""One POST to a place that a stranger chose, and what came of it, as a value.

It knows HTTP, TLS and DNS, and nothing of events, signatures or retries. A merchant could name an address of our own
network, or a name that leads there, now or later. So it is decided where sockets are made, on the very address that is
about to be connected to: a literal, a name's answer fresh or remembered, each of several. Nothing connects without it.

    Answered      a whole answer came, whatever it says
    Unanswered    none came, and why, in words that the receiver's developer can act upon

It is longer than our files are, because the three parts of that decision (name, socket, line) are best read together.
"""

import asyncio
import os
import re
import socket
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv6Address, ip_address
from ssl import SSLContext

import aiodns
import aiohttp
import pycares
from aiohttp.abc import AbstractResolver, ResolveResult
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.tracing import Trace
from yarl import URL

from malipo import log
from malipo.webhooks import address
from malipo.webhooks.url import host_of, problem_with

WhyNot = Callable[[IPv4Address | IPv6Address], str | None]

_ONLY_PUBLIC = "webhooks go to public addresses only"
_NOT_HTTP = "the answer is not valid HTTP, or its headers are too long"
_MOST_BYTES = 64 * 1024  # read of an answer's body
_MOST_HEARD = 512 * 1024  # headers and all: flow control stops a body before that
_KEPT_BYTES = 2 * 1024
_KEPT_HEADERS = 50
_KEPT_HEADER_BYTES = 4 * 1024
_IDLE_SECONDS = 30
_REQUEST_TIMEOUT = 408
# A name can have hundreds of addresses, and aiohttp would try all of them, most more than once.
_MOST_ADDRESSES = 8
# Twice, the second time for double as long: before our own time is up, so that the blame falls on the name server.
_LOOKUP_SECONDS = 2.5
_LOOKUPS = 2


@dataclass(frozen=True, slots=True)
class Answered:
    status: int
    headers: list[tuple[str, str]]
    body: bytes  # its beginning
    seconds: float

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class Unanswered:
    reason: str

    @property
    def is_success(self) -> bool:
        return False


class _Line(ResponseHandler):
    """One connection. It counts what it hears, as aiohttp bounds a header's text but not the spaces before it."""

    heard = 0  # bytes since the last request

    def data_received(self, data: bytes) -> None:
        self.heard += len(data)
        if self.heard > _MOST_HEARD:
            self.abort()
        else:
            super().data_received(data)

    def close(self) -> None:
        """At once: TLS would take its leave politely, and a receiver could drag that out and go on sending."""
        self.abort()


@dataclass(slots=True)
class _Trip:
    """How far one POST has come. Connector and socket factory are handed no request of ours: they find it here."""

    may_reuse: bool = True
    refusal: str | None = None
    is_fresh: bool = False  # a socket was made for it
    line: _Line | None = None
    has_answer: bool = False

    @property
    def is_reused(self) -> bool:
        return self.line is not None and not self.is_fresh

    def missed(self, seconds: float) -> str:
        if self.has_answer:
            return f"the answer did not end within {seconds:g} s"
        return f"no {'connection' if self.line is None else 'answer'} within {seconds:g} s"


_trip: ContextVar[_Trip] = ContextVar("trip")


class Post:
    """Lines to merchants' servers. No redirect is followed, and no proxy is taken from the environment."""

    def __init__(
        self,
        *,
        allow_private: bool,
        ports: tuple[int, ...],
        timeout_seconds: float,
        ssl_context: SSLContext | None = None,
        nameservers: Sequence[str] | None = None,
        why_not: WhyNot = address.why_not,
    ) -> None:
        self._allow_private = allow_private
        self._ports = ports
        self._timeout_seconds = timeout_seconds
        self._ssl = ssl_context or True
        self._nameservers = nameservers
        self._why_not: WhyNot = (lambda _: None) if allow_private else why_not
        self._opened: tuple[aiohttp.ClientSession, _Names] | None = None
        self._is_closed = False

    async def __call__(self, url: str, *, headers: Mapping[str, str], body: bytes) -> Answered | Unanswered:
        target = _target(url, self._allow_private, self._ports)
        if isinstance(target, str):
            return Unanswered(target)
        began = time.perf_counter()
        trip = _Trip()
        _trip.set(trip)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response, beginning = await self._exchange(trip, target, headers, body)
        except (Exception, asyncio.CancelledError) as error:
            if _is_given_up(error):
                raise
            return Unanswered(self._why(error, trip))
        return Answered(response.status, _kept(response.raw_headers), beginning, time.perf_counter() - began)

    async def problem_with(self, url: str) -> str | None:
        """Like `url.problem_with`, and the name must not lead astray now. It is no guard: a name can change."""
        problem = problem_with(url, allow_private=self._allow_private, ports=self._ports)
        host = "" if problem or self._allow_private else host_of(URL(url))
        if not host or not isinstance(host, str):
            return problem
        try:
            async with asyncio.timeout(self._timeout_seconds):
                found = await self._open()[1].resolve(host)
        except OSError:
            return None  # It may be about to be set up.
        for each in (ip_address(result["host"]) for result in found):
            if (reason := self._why_not(each)) is not None:
                return f"url must not lead to {each}, as {host} does: it is {reason}, and {_ONLY_PUBLIC}."
        return None

    async def close(self) -> None:
        self._is_closed = True
        if self._opened is not None:
            session, names = self._opened
            await session.close()
            await names.close()

    def _open(self) -> tuple[aiohttp.ClientSession, "_Names"]:
        """Made when it is first needed, on the loop that needs it."""
        assert not self._is_closed
        if self._opened is None:
            names = _Names(self._nameservers)
            session = aiohttp.ClientSession(
                connector=_Lines(names, self._socket, self._ssl),
                cookie_jar=aiohttp.DummyCookieJar(),
                skip_auto_headers=("Accept-Encoding", "User-Agent"),
                auto_decompress=False,
                read_bufsize=_MOST_BYTES,
                timeout=aiohttp.ClientTimeout(),  # None: ours is around the whole, a second try included.
            )
            self._opened = session, names
        return self._opened

    def _socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        """Where every connection begins, with the address it is going to."""
        family, kind, protocol, _, sockaddr = info
        trip = _trip.get()
        reason = self._why_not(ip_address(sockaddr[0]))
        if reason is not None:
            trip.refusal = f"the address {sockaddr[0]} is {reason}, and {_ONLY_PUBLIC}"
            raise OSError(trip.refusal)
        trip.is_fresh = True
        return socket.socket(family, kind, protocol)

    async def _exchange(
        self, trip: _Trip, target: URL, headers: Mapping[str, str], body: bytes
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        """Once; or twice, if it went by a line that the receiver was closing just then.

        Nobody is to blame for that, so it costs the event no attempt. Some servers close with a 408 and not in silence.
        """
        try:
            response, beginning = await self._once(trip, target, headers, body)
            if not (trip.is_reused and response.status == _REQUEST_TIMEOUT):
                return response, beginning
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if trip.is_fresh or trip.line is None or trip.line.heard:
                raise
        trip.may_reuse, trip.line, trip.has_answer = False, None, False
        return await self._once(trip, target, headers, body)

    async def _once(
        self, trip: _Trip, target: URL, headers: Mapping[str, str], body: bytes
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        session, _ = self._open()
        async with session.post(target, headers=headers, data=body, allow_redirects=False) as response:
            trip.has_answer = True
            beginning = bytearray()
            async for chunk in response.content.iter_any():
                beginning += chunk
                if len(beginning) > _MOST_BYTES:
                    break  # The status counts. The rest is not wanted, so aiohttp does not keep the line.
            return response, bytes(beginning[:_KEPT_BYTES])

    def _why(self, error: BaseException, trip: _Trip) -> str:
        if self._is_closed:
            return "malipo was stopped before an answer came"
        if isinstance(error, TimeoutError):
            return trip.missed(self._timeout_seconds)
        return _in_words(error, trip)


class _Lines(aiohttp.TCPConnector):
    """aiohttp's pool of lines, and the socket factory at its only door."""

    def __init__(self, names: "_Names", sockets: aiohttp.SocketFactoryType, ssl: SSLContext | bool) -> None:
        # No limit: the caller bounds how many go at once.
        super().__init__(limit=0, keepalive_timeout=_IDLE_SECONDS, resolver=names, socket_factory=sockets, ssl=ssl)
        kind: type[ResponseHandler] = _Line
        self._factory = partial(kind, loop=self._loop)

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 (aiohttp's own signature)
    ) -> Connection:
        """A line on which nothing has been said since the last answer.

        What came unasked would be taken for the answer to this request, and an event be thought delivered by it.
        """
        trip = _trip.get()
        while True:
            connection = await super().connect(req, traces, timeout)
            line = connection.protocol
            assert isinstance(line, _Line)
            if trip.is_fresh or (trip.may_reuse and not line.should_close):
                line.heard = 0
                trip.line = line
                return connection
            connection.close()


class _Names(AbstractResolver):
    """Names are looked up without threads, so that one whose server is silent holds up no other."""

    def __init__(self, nameservers: Sequence[str] | None) -> None:
        # Without the machine's own search list: what the merchant wrote is what is looked up.
        flags = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS
        self._dns = aiodns.DNSResolver(nameservers, timeout=_LOOKUP_SECONDS, tries=_LOOKUPS, flags=flags)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        try:
            found = await self._dns.getaddrinfo(host, family=family, port=port, type=socket.SOCK_STREAM)
        except aiodns.error.DNSError as error:
            raise OSError(None, _unresolved(error.args[0])) from error
        return [
            ResolveResult(
                hostname=host,
                host=node.addr[0].decode(),
                port=port,
                family=node.family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for node in found.nodes[:_MOST_ADDRESSES]
        ]

    async def close(self) -> None:
        await self._dns.close()


@lru_cache(maxsize=4096)
def _target(url: str, allow_private: bool, ports: tuple[int, ...]) -> URL | str:
    """Checked anew although it was checked when it was registered: the operator may have become stricter."""
    return problem_with(url, allow_private=allow_private, ports=ports) or URL(url)


def _is_given_up(error: BaseException) -> bool:
    """Our caller has cancelled us. Closing the session also cancels, namely whoever waits for a name."""
    task = asyncio.current_task()
    return isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > 0


def _kept(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    kept: list[tuple[str, str]] = []
    room = _KEPT_HEADER_BYTES
    for name, value in headers:
        room -= len(name) + len(value)
        if room < 0 or len(kept) == _KEPT_HEADERS:
            break
        # Latin-1 reads any byte, and PostgreSQL holds every character but this one, which no header may have.
        kept.append((name.decode("latin-1"), value.replace(b"\0", b"").decode("latin-1")))
    return kept


def _unresolved(code: int) -> str:
    if code in (pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA):
        return "the name does not resolve"
    if code == pycares.errno.ARES_ETIMEOUT:
        return "the name does not resolve: its name server does not answer"
    return f"the name does not resolve: {str(pycares.errno.strerror(code)).lower()}"


def _in_words(error: BaseException, trip: _Trip) -> str:
    heard = trip.line.heard if trip.line is not None else 0
    match error:
        case _ if heard > _MOST_HEARD:
            return _NOT_HTTP
        case aiohttp.ClientConnectorDNSError():
            return error.os_error.strerror or "the name does not resolve"
        case aiohttp.ClientConnectorCertificateError():
            return (
                f"the certificate is not trusted: {getattr(error.certificate_error, 'verify_message', 'it is invalid')}"
            )
        case aiohttp.ClientSSLError():
            reason = getattr(error.os_error, "reason", None) or "the handshake failed"
            return f"no TLS connection: {reason.replace('_', ' ').lower()}"
        case aiohttp.ServerDisconnectedError():
            return "the answer broke off" if heard else "the connection was closed without an answer"
        case aiohttp.ClientPayloadError():
            return "the answer broke off"
        case aiohttp.ClientResponseError():
            return _NOT_HTTP
        case aiohttp.ClientOSError():
            return _faults(getattr(error, "os_error", error)) or trip.refusal or "the connection broke"
    log.error("webhook.unforeseen", error)
    return f"the request could not be made: {type(error).__name__}"


def _faults(error: OSError) -> str:
    """What the system said; of several addresses, all that it said."""
    numbers = re.findall(r"\[Errno (\d+)\]", str(error))
    return ", ".join(dict.fromkeys(os.strerror(int(number)).lower() for number in numbers))
