"""The client's IP address, and whether it came over TLS. Only headers of trusted proxies count."""

import ipaddress
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache

from starlette.requests import Request
from starlette.types import Scope

from malipo import log
from malipo.clock import Clock
from malipo.settings.parsers import Address, Network

# Only proxies send these headers.
_OF_PROXIES = frozenset(("forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"))
# Sent over TLS: a browser that has received this header never tries plain HTTP again.
HSTS = ("strict-transport-security", "max-age=31536000")
_SAID_EVERY = timedelta(hours=1)


def address_of(request: Request, trusted: Sequence[Network]) -> Address:
    """The client's address.

    `X-Forwarded-For` grows to the right: the rightmost address that is not a proxy of ours is the caller.
    """
    peer = _peer_of(request)
    if not is_among(peer, trusted):
        return peer
    named = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    for text in reversed(named):
        address = parsed(text.strip())
        if address is None:
            break
        peer = address
        if not is_among(address, trusted):
            break
    return peer


class UntrustedProxies:
    """Detects a proxy that forwards requests and is not trusted: all its clients appear under one address, and share
    one limit of log-in attempts. The log reports it, and again every hour; `/readyz` reports it for an hour."""

    def __init__(self, trusted: Sequence[Network], clock: Clock) -> None:
        self._trusted = trusted
        self._clock = clock
        self._noticed: tuple[Address, datetime] | None = None

    def look(self, request: Request) -> None:
        if "x-forwarded-for" not in request.headers or is_among(_peer_of(request), self._trusted):
            return
        if self.warning is None:
            self._noticed = _peer_of(request), self._clock()
            log.warning("proxy.not_trusted", address=str(self._noticed[0]), message=self.warning)

    @property
    def warning(self) -> str | None:
        if self._noticed is None or self._clock() - self._noticed[1] >= _SAID_EVERY:
            return None
        return (
            f"Requests that {self._noticed[0]} forwards are taken for its own, because it is not in "
            "MALIPO_TRUSTED_PROXIES: all clients behind it count as one address."
        )


def is_secure(request: Request, trusted: Sequence[Network]) -> bool:
    """Whether the request came over TLS, to us or to a trusted proxy."""
    return came_over_tls(request.scope, trusted)


def came_over_tls(scope: Scope, trusted: Sequence[Network]) -> bool:
    if scope["scheme"] == "https":
        return True
    if not trusted or not is_among(_peer_of(Request(scope)), trusted):
        return False
    return next((value for name, value in scope["headers"] if name == b"x-forwarded-proto"), b"") == b"https"


def is_of_this_machine(request: Request, trusted: Sequence[Network]) -> bool:
    """Whether a program on this machine sent the request.

    Behind a proxy on this machine every client looks local, so a request that a proxy has forwarded, or may have, does
    not count.
    """
    peer = _peer_of(request)
    is_passed_on = any(name in _OF_PROXIES or name.startswith("x-forwarded-") for name in request.headers)
    return peer.is_loopback and not is_passed_on and not is_among(peer, trusted)


def _peer_of(request: Request) -> Address:
    return parsed(request.client.host if request.client else "") or ipaddress.IPv4Address(0)


def is_among(address: Address, networks: Sequence[Network]) -> bool:
    return any(address in network for network in networks)


@lru_cache(maxsize=1024)
def parsed(text: str) -> Address | None:
    """An IPv4 address may be written as one of IPv6."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
