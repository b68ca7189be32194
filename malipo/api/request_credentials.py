"""Authentication of requests: API keys and sessions, and what each may do."""

from starlette.requests import Request

from malipo.accounts.reauthentication import ConfirmationRequired, SensitiveAct, is_confirmed_by_token
from malipo.api.parts import ApiParts
from malipo.audit_log.actor import Actor, key_at
from malipo.errors import Forbidden, Unauthorized
from malipo.http.client_address import address_of
from malipo.merchants.api_keys import Permission, hash_of
from malipo.merchants.check_api_key import AccessRequest, Caller
from malipo.merchants.roles import Right
from malipo.merchants.sessions import SessionOver
from malipo.merchants.store.sessions import MerchantSession
from malipo.rate_limit.sliding_window import RateClass

_NO_KEY = "The API key is missing or not valid."
_KEY_ELSEWHERE = "Send the API key in the header x-api-key, as it is: not in Authorization, and without Bearer."


async def authenticate(parts: ApiParts, request: Request, rate_class: RateClass) -> Caller:
    """The caller, or why not: key, merchant, address, rate limit, in this order."""
    key = header_of(request, "x-api-key")
    if not key:
        raise Unauthorized(_KEY_ELSEWHERE if _is_key_elsewhere(parts, request) else _NO_KEY)
    address = address_of(request, parts.settings.trusted_proxies)
    key_hash = hash_of(key.encode("latin-1"))
    caller = await parts.authenticate(AccessRequest(key_hash, address, rate_class))
    parts.known_keys.note(key_hash, caller)
    parts.health.untrusted_proxies.look(request)  # After authentication: a request without a key causes no warning.
    return caller


def _is_key_elsewhere(parts: ApiParts, request: Request) -> bool:
    """Whether a key is in Authorization, where many other services expect it. It is not checked."""
    return f"{parts.settings.key_prefix}_" in request.headers.get("authorization", "")


def header_of(request: Request, name: str) -> str | None:
    """A header's value without the blanks around it. The parser removes only those before it."""
    value = request.headers.get(name)
    return None if value is None else value.strip(" \t")


def require(caller: Caller, *permissions: Permission) -> None:
    """Refuse the caller if its key has none of these permissions."""
    if caller.permissions.isdisjoint(permissions):
        raise Forbidden(f"This API key lacks the permission {' or '.join(permissions)}.", code="permission_missing")


async def session_of(parts: ApiParts, request: Request) -> MerchantSession:
    """The session of a person who is logged in. An API key is not accepted here."""
    if _is_key_elsewhere(parts, request):
        raise SessionOver("This route takes the token of a person who has logged in. An API key opens only /v1.")
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


# The caller of a route that people and API keys may use.
Party = MerchantSession | Caller


def merchant_of(party: Party) -> str:
    return party.merchant_id if isinstance(party, Caller) else party.person.merchant_id


def actor_of(parts: ApiParts, party: Party, request: Request) -> Actor:
    """The actor of the request for the audit log."""
    address = str(address_of(request, parts.settings.trusted_proxies))
    return key_at(party.key_id, address) if isinstance(party, Caller) else Actor(party.person.email, address)
