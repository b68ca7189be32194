"""The HTTP/1.1 transport: one request on a connection of its own, and its whole response.

A worker makes one for every payment, and a general client costs three times as much. There is no connection reuse, no
redirect, no cookie and no proxy. It sends only once the connection is made (with TLS, after the handshake). Until then
provably nothing was sent; from then on the outcome of a failure is unknown.
"""

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from ssl import SSLContext
from typing import NamedTuple
from urllib.parse import quote, urlsplit

from malipo.clock import loop_time
from malipo.networks.http.connection import MOST_OF_A_BODY, ConnectionBroken, HttpResponse, NetworkConnection, in_words
from malipo.networks.http.dns import DnsCache

_CONNECT_SECONDS = 10
_FAREWELL_SECONDS = 1  # for the other side's TLS close_notify
_TOO_LATE = "no answer in time"
_LEFT_AS_GIVEN = "/?:@!$&'()*+,;=%[]"


class NotSent(Exception):  # noqa: N818
    """There was no connection. It says why, and never the address or a header: they may hold a secret."""


class Target(NamedTuple):
    """The parts of a URL that a connection needs."""

    host: str
    port: int
    is_tls: bool
    authority: str
    path: str


class Transport:
    """The TLS settings and the DNS cache, which all requests share."""

    def __init__(self, tls: SSLContext, names: DnsCache | None = None) -> None:
        self._tls = tls
        self._names = names or DnsCache()
        self._lines: set[NetworkConnection] = set()

    async def make(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        body: bytes | None,
        timeout_seconds: float,
        most_of_a_body: int = MOST_OF_A_BODY,
    ) -> HttpResponse:
        """NotSent or Broken, if there is no whole answer."""
        try:
            target = target_of(url)
            request = written(method, target, headers, body)
        except ValueError:
            raise NotSent("no connection: not an address, or not a header") from None
        ends_at = loop_time() + timeout_seconds
        seconds = min(_CONNECT_SECONDS, 0.9 * timeout_seconds)
        connection: NetworkConnection | None = None
        try:
            async with asyncio.timeout(seconds) as limit:
                connection = await self._connect(target, seconds, most_of_a_body)
                limit.reschedule(ends_at)
                connection.send(request)
                outcome = await connection.outcome
        except TimeoutError:
            raise (NotSent(_TOO_LATE) if connection is None else ConnectionBroken(_TOO_LATE)) from None
        finally:
            if connection is not None:
                connection.hang_up()
        if isinstance(outcome, ConnectionBroken):
            raise outcome
        return outcome

    async def close(self) -> None:
        """Connections that are not closed by now are dropped."""
        for connection in tuple(self._lines):
            connection.hang_up(at_once=True)
        while self._lines:  # noqa: ASYNC110
            await asyncio.sleep(0)

    async def _connect(self, target: Target, seconds: float, most_of_a_body: int) -> NetworkConnection:
        """Connect to the first of the host's addresses that accepts. The next is tried only if there was no
        connection."""
        try:
            addresses = await self._names.addresses(target.host)
            for address in addresses[:-1]:
                try:
                    # An address that does not answer leaves time for the next one.
                    async with asyncio.timeout(seconds / len(addresses)):
                        return await self._connect_to(address, target, most_of_a_body)
                except OSError:
                    continue
            return await self._connect_to(addresses[-1], target, most_of_a_body)
        except (OSError, ValueError) as error:
            raise NotSent(f"no connection: {in_words(error)}") from None

    async def _connect_to(self, address: str, target: Target, most_of_a_body: int) -> NetworkConnection:
        loop = asyncio.get_running_loop()
        connection = NetworkConnection(loop.create_future(), self._lines, most_of_a_body)
        try:
            await loop.create_connection(
                lambda: connection,
                address,
                target.port,
                ssl=self._tls if target.is_tls else None,
                server_hostname=target.host if target.is_tls else None,
                ssl_shutdown_timeout=_FAREWELL_SECONDS if target.is_tls else None,
            )
        except BaseException:
            # If its deadline comes in the same turn of the loop, uvloop closes it and never reports that it is lost.
            self._lines.discard(connection)
            raise
        self._names.prefer(target.host, address)
        return connection


@lru_cache(maxsize=1024)  # Payments all go to the same few.
def target_of(url: str) -> Target:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
        raise ValueError("not an address")
    host = parts.hostname if parts.hostname.isascii() else parts.hostname.encode("idna").decode()
    usual = 443 if parts.scheme == "https" else 80
    port = usual if parts.port is None else parts.port
    authority = (f"[{host}]" if ":" in host else host) + ("" if port == usual else f":{port}")
    path = quote((parts.path or "/") + (f"?{parts.query}" if parts.query else ""), safe=_LEFT_AS_GIVEN)
    return Target(host, port, parts.scheme == "https", authority, path)


def written(method: str, target: Target, headers: Mapping[str, str], body: bytes | None) -> bytes:
    connections = [f"{method} {target.path} HTTP/1.1", f"Host: {target.authority}", "Connection: close"]
    if "Accept" not in headers:
        connections.append("Accept: */*")
    if body is not None or method != "GET":
        connections.append(f"Content-Length: {len(body or b'')}")
    connections += [f"{name}: {value}" for name, value in headers.items()]
    head = "\n".join(connections)
    if "\r" in head or "\0" in head or head.count("\n") >= len(connections):
        raise ValueError("a line break within a line")
    return head.replace("\n", "\r\n").encode() + b"\r\n\r\n" + (body or b"")
