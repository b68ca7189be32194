"""Who asks: the key they hold up, and the address they come from."""

import ipaddress
from collections.abc import Sequence
from functools import lru_cache

from starlette.requests import Request

from malipo.errors import Forbidden, Unauthorized
from malipo.limits.window import RateClass
from malipo.merchants.admit import Admitted, Knock
from malipo.merchants.keys import Address, Permission, hash_of
from malipo.merchants.login import SessionOver
from malipo.merchants.people import Right
from malipo.merchants.store.sessions import Session
from malipo.service import Service
from malipo.settings.parsers import Network
from malipo.trail.store import Actor


async def admit(service: Service, request: Request, rate_class: RateClass) -> Admitted:
    """Let the caller in, or raise why not: key, merchant, address, rate limit, in this order."""
    key = header_of(request, "x-api-key")
    if not key:
        raise Unauthorized("The API key is missing or not valid.")
    address = address_of(request, service.settings.trusted_proxies)
    return await service.admit(Knock(hash_of(key.encode("latin-1")), address, rate_class))


def header_of(request: Request, name: str) -> str | None:
    """A header's value. Blanks around it are not part of it; the parser leaves those behind it."""
    value = request.headers.get(name)
    return None if value is None else value.strip(" \t")


def require(caller: Admitted, permission: Permission) -> None:
    if permission not in caller.permissions:
        raise Forbidden(f"This API key lacks the permission {permission}.", code="permission_missing")


async def session_of(service: Service, request: Request) -> Session:
    """The session of somebody who is logged in. An API key opens nothing here."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise SessionOver
    return await service.login.session_of(token.strip(), now=service.clock())


def require_right(session: Session, right: Right) -> None:
    if not session.person.may(right):
        raise Forbidden(f"Your role ({session.person.role}) does not allow this.", code="role_insufficient")


def actor_of(service: Service, session: Session, request: Request) -> Actor:
    """Who acts, for the audit trail."""
    return Actor(session.person.email, str(address_of(request, service.settings.trusted_proxies)))


def address_of(request: Request, trusted: Sequence[Network]) -> Address:
    """Where a request comes from. What proxies say counts only as far as the proxies are ours.

    `X-Forwarded-For` grows to the right: the rightmost address that is not a proxy of ours is the caller.
    """
    peer = _parsed(request.client.host if request.client else "") or ipaddress.IPv4Address(0)
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
