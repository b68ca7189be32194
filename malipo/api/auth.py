"""Authentication of requests: API keys and sessions, and what each may do."""

from starlette.requests import Request

from malipo.accounts.reauthentication import ConfirmationRequired, SensitiveAct, is_confirmed_by_token
from malipo.api.parts import ApiParts
from malipo.audit_log.actor import Actor, key_at
from malipo.errors import Forbidden, Unauthorized
from malipo.http.client_address import address_of
from malipo.merchants.api_keys import Permission, hash_of
from malipo.merchants.authenticate import AccessRequest, Caller
from malipo.merchants.roles import Right
from malipo.merchants.sessions import SessionOver
from malipo.merchants.store.sessions import MerchantSession
from malipo.rate_limit.sliding_window import RateClass


async def authenticate(parts: ApiParts, request: Request, rate_class: RateClass) -> Caller:
    """The caller, or why not: key, merchant, address, rate limit, in this order."""
    key = header_of(request, "x-api-key")
    if not key:
        raise Unauthorized("The API key is missing or not valid.")
    address = address_of(request, parts.settings.trusted_proxies)
    caller = await parts.authenticate(AccessRequest(hash_of(key.encode("latin-1")), address, rate_class))
    parts.health.untrusted_proxies.look(request)  # Not before: nobody without a key makes us warn.
    return caller


def header_of(request: Request, name: str) -> str | None:
    """A header's value. Blanks around it are not part of it; the parser leaves those behind it."""
    value = request.headers.get(name)
    return None if value is None else value.strip(" \t")


def require(caller: Caller, permission: Permission) -> None:
    if permission not in caller.permissions:
        raise Forbidden(f"This API key lacks the permission {permission}.", code="permission_missing")


async def session_of(parts: ApiParts, request: Request) -> MerchantSession:
    """The session of a person who is logged in. An API key is not accepted here."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer":
        raise SessionOver
    session = await parts.accounts.sessions.session_of(token.strip(), now=parts.clock())
    parts.health.untrusted_proxies.look(request)
    return session


def require_right(session: MerchantSession, right: Right) -> None:
    if not session.person.may(right):
        raise Forbidden(f"Your role ({session.person.role}) does not allow this.", code="role_insufficient")


def require_confirmation(parts: ApiParts, session: MerchantSession, act: SensitiveAct | None) -> None:
    if not is_confirmed_by_token(act, confirmed_at=session.confirmed_at, now=parts.clock()):
        raise ConfirmationRequired


# Who asks, on routes that there are for people and for API keys.
Party = MerchantSession | Caller


def merchant_of(party: Party) -> str:
    return party.merchant_id if isinstance(party, Caller) else party.person.merchant_id


def actor_of(parts: ApiParts, party: Party, request: Request) -> Actor:
    """Who acts, for the audit log."""
    address = str(address_of(request, parts.settings.trusted_proxies))
    return key_at(party.key_id, address) if isinstance(party, Caller) else Actor(party.person.email, address)
