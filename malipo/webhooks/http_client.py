"""The HTTP client of webhooks: one POST to a merchant's URL, and its result as a value.

It knows HTTP, TLS and DNS, and nothing of events, signatures or retries. A merchant could name an address of our own
network, or a name that resolves there, now or later (SSRF, DNS rebinding). So each address is checked when its socket
is created, just before it connects: literals, fresh and cached DNS answers. Nothing connects unchecked.

    ReceiverResponse   a complete response, with any status
    NoResponse         no response, and why, in words that help the receiver's developer
"""

import asyncio
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from ssl import SSLContext

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from malipo import clock, log
from malipo.http import tls
from malipo.settings import Settings
from malipo.webhooks import ssrf
from malipo.webhooks.attempt_errors import in_words
from malipo.webhooks.connections import ConnectionPool, PostExchange, exchange_under_way
from malipo.webhooks.dns import Resolver
from malipo.webhooks.endpoint_url import host_of, problem_with

WhyNot = Callable[[IPv4Address | IPv6Address], str | None]
OpenSocket = Callable[[int, int, int], socket.socket]

_ONLY_PUBLIC = "webhooks go to public addresses only"
_MOST_BYTES = 64 * 1024  # that are read of a response's body
_MOST_HEADERS = 512
_KEPT_BYTES = 2 * 1024
_KEPT_HEADERS = 50
_KEPT_HEADER_BYTES = 4 * 1024
_REQUEST_TIMEOUT = 408


@dataclass(frozen=True, slots=True)
class ReceiverResponse:
    status: int
    headers: list[tuple[str, str]]
    body: bytes  # its beginning
    seconds: float

    @property
    def is_success(self) -> bool:
        return 200 <= self.status < 300


@dataclass(frozen=True, slots=True)
class NoResponse:
    reason: str

    @property
    def is_success(self) -> bool:
        return False


class WebhookClient:
    """Connections to merchants' servers. No redirect is followed, and no proxy is taken from the environment."""

    def __init__(
        self,
        *,
        allow_private: bool,
        ports: tuple[int, ...],
        timeout_seconds: float,
        ssl_context: SSLContext | None = None,
        nameservers: Sequence[str] | None = None,
        resolver: AbstractResolver | None = None,
        open_socket: OpenSocket = socket.socket,
        why_not: WhyNot = ssrf.why_not,
    ) -> None:
        self._allow_private = allow_private
        self._ports = ports
        self._timeout_seconds = timeout_seconds
        self._ssl = ssl_context
        self._nameservers = nameservers
        self._resolver = resolver
        self._open_socket = open_socket
        self._why_not: WhyNot = (lambda _: None) if allow_private else why_not
        self._opened: tuple[aiohttp.ClientSession, AbstractResolver] | None = None
        self._is_closed = False

    async def __call__(self, url: str, *, headers: Mapping[str, str], body: bytes) -> ReceiverResponse | NoResponse:
        target = _target(url, self._allow_private, self._ports)
        if isinstance(target, str):
            return NoResponse(target)
        began = clock.monotonic()
        exchange = PostExchange()
        exchange_under_way.set(exchange)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                response, beginning = await self._exchange(exchange, target, headers, body)
        except (Exception, asyncio.CancelledError) as error:
            if _is_cancelled_by_caller(error):
                raise
            return NoResponse(self._why(error, exchange))
        return ReceiverResponse(response.status, _kept(response.raw_headers), beginning, clock.monotonic() - began)

    async def problem_with(self, url: str) -> str | None:
        """Like `endpoint_url.problem_with`, and the name must not resolve to a private address now."""
        problem = problem_with(url, allow_private=self._allow_private, ports=self._ports)
        host = "" if problem or self._allow_private else host_of(URL(url))
        if not host or not isinstance(host, str):
            return problem
        try:
            async with asyncio.timeout(self._timeout_seconds):
                found = await self._open()[1].resolve(host)
        except OSError:
            return None  # The DNS entry may not exist yet.
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

    def _open(self) -> tuple[aiohttp.ClientSession, AbstractResolver]:
        """Created at the first use, on the event loop that uses it."""
        assert not self._is_closed
        if self._opened is None:
            names = self._resolver or Resolver(self._nameservers)
            session = aiohttp.ClientSession(
                connector=ConnectionPool(names, self._socket, self._ssl or tls.client_context()),
                cookie_jar=aiohttp.DummyCookieJar(),
                headers={"User-Agent": "malipo"},  # Many firewalls refuse requests without a User-Agent.
                skip_auto_headers=("Accept-Encoding",),
                auto_decompress=False,
                read_bufsize=_MOST_BYTES,
                max_headers=_MOST_HEADERS,
                timeout=aiohttp.ClientTimeout(),  # None: our own timeout covers the whole, a second try included.
            )
            self._opened = session, names
        return self._opened

    def _socket(self, info: aiohttp.AddrInfoType) -> socket.socket:
        """Makes the socket of every connection, after the SSRF check of its address."""
        family, kind, protocol, _, sockaddr = info
        exchange = exchange_under_way.get()
        reason = self._why_not(ip_address(sockaddr[0]))
        if reason is not None:
            exchange.refusal = f"the address {sockaddr[0]} is {reason}, and {_ONLY_PUBLIC}"
            raise OSError(exchange.refusal)
        exchange.is_fresh = True
        return self._open_socket(family, kind, protocol)

    async def _exchange(
        self, exchange: PostExchange, target: URL, headers: Mapping[str, str], body: bytes
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        """Send once; or twice, if the receiver was just closing the kept-alive connection.

        This is not a failure of the receiver, so it does not count as an attempt. Some servers send a 408 before they
        close.
        """
        try:
            response, beginning = await self._once(exchange, target, headers, body)
            if not (exchange.is_reused and response.status == _REQUEST_TIMEOUT):
                return response, beginning
        except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
            if exchange.is_fresh or exchange.protocol is None or exchange.protocol.received:
                raise
        exchange.may_reuse, exchange.protocol, exchange.has_answer = False, None, False
        return await self._once(exchange, target, headers, body)

    async def _once(
        self, exchange: PostExchange, target: URL, headers: Mapping[str, str], body: bytes
    ) -> tuple[aiohttp.ClientResponse, bytes]:
        session, _ = self._open()
        async with session.post(target, headers=headers, data=body, allow_redirects=False) as response:
            exchange.has_answer = True
            beginning = bytearray()
            async for chunk in response.content.iter_any():
                beginning += chunk
                if len(beginning) > _MOST_BYTES:
                    break  # The status is known. As the rest is not read, aiohttp does not keep the connection.
            return response, bytes(beginning[:_KEPT_BYTES])

    def _why(self, error: BaseException, exchange: PostExchange) -> str:
        if self._is_closed:
            return "malipo was stopped before an answer came"
        if isinstance(error, TimeoutError):
            return exchange.missed(self._timeout_seconds)
        return in_words(error, exchange)


@lru_cache(maxsize=4096)
def _target(url: str, allow_private: bool, ports: tuple[int, ...]) -> URL | str:
    """The URL, or why nothing is sent there. It is checked again, because settings may be stricter than at
    registration."""
    return problem_with(url, allow_private=allow_private, ports=ports) or URL(url)


def _is_cancelled_by_caller(error: BaseException) -> bool:
    """Whether the caller has cancelled this task. Closing the session also cancels: tasks that wait for a DNS
    answer."""
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


def client_of(settings: Settings) -> WebhookClient:
    """The client of a service, which warns if it may reach private addresses."""
    if settings.webhook_allow_private:
        log.warning(
            "webhook.private_allowed",
            message="MALIPO_WEBHOOK_ALLOW_PRIVATE is on: webhooks may go to private addresses and over plain http. "
            "It is for local work only.",
        )
    return WebhookClient(
        allow_private=settings.webhook_allow_private,
        ports=settings.webhook_ports,
        timeout_seconds=settings.webhook_timeout_seconds,
    )
