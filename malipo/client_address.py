"""The client's IP address, and whether it came over TLS. Only headers of trusted proxies count."""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

from starlette.requests import Request

from malipo.merchants.api_keys import Address
from malipo.settings.parsers import Network


def address_of(request: Request, trusted: Sequence[Network]) -> Address:
    """The client's address.

    `X-Forwarded-For` grows to the right: the rightmost address that is not a proxy of ours is the caller.
    """
    peer = _peer_of(request)
    if not _is_ours(peer, trusted):
        return peer
    named = ",".join(request.headers.getlist("x-forwarded-for")).split(",")
    for text in reversed(named):
        address = _parsed(text.strip())
        if address is None:
            break
        peer = address
        if not _is_ours(address, trusted):
            break
    return peer


def is_secure(request: Request, trusted: Sequence[Network]) -> bool:
    """Whether it has come over TLS, to us or to a proxy of ours."""
    if request.url.scheme == "https":
        return True
    return _is_ours(_peer_of(request), trusted) and request.headers.get("x-forwarded-proto") == "https"


def _peer_of(request: Request) -> Address:
    return _parsed(request.client.host if request.client else "") or ipaddress.IPv4Address(0)


def _is_ours(address: Address, trusted: Sequence[Network]) -> bool:
    return any(address in network for network in trusted)


@lru_cache(maxsize=1024)
def _parsed(text: str) -> Address | None:
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address
