"""/merchant/api-keys: list, create, change and revoke API keys."""

from collections.abc import Mapping
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from malipo import clock
from malipo.api.parts import ApiParts
from malipo.api.request_body import object_of
from malipo.api.request_credentials import actor_of
from malipo.api.responses import success
from malipo.api.urls import id_in
from malipo.merchants import issue_api_keys
from malipo.merchants.api_keys import Environment, KeyTerms, NewKey, Permission, StoredKey
from malipo.merchants.change_api_key import KeyChanges, change_key
from malipo.merchants.store import api_keys
from malipo.merchants.store.sessions import MerchantSession
from malipo.validation.fields import Fields
from malipo.validation.payout_limits import payout_limits_in


async def list_(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    found = await parts.queries.read(lambda connection: api_keys.find_all(connection, session.person.merchant_id))
    return success({"apiKeys": [_listed(key) for key in found]})


async def create(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    fields = Fields(await object_of(request))
    now = parts.clock()
    name = fields.required_text("name", most=100, is_line=True)
    permissions = fields.choices("permissions", Permission)
    environment = fields.choice("environment", Environment) or Environment.LIVE
    expires_at = fields.moment("expiresAt", is_end=True)
    ip_allowlist = fields.networks("ipAllowlist")
    payout_limit, daily_payout_limit = payout_limits_in(fields)
    if expires_at is not None and expires_at <= now:
        fields.wrong("expiresAt", "date_invalid", "expiresAt must be in the future.")
    fields.check()
    terms = KeyTerms(
        name=name,
        permissions=tuple(permissions),
        environment=environment,
        brand=parts.settings.key_prefix,
        expires_at=expires_at,
        ip_allowlist=tuple(map(str, ip_allowlist)),
        payout_limit=payout_limit,
        daily_payout_limit=daily_payout_limit,
    )
    actor = actor_of(parts, session, request)
    key = await parts.queries.write(
        lambda tx: issue_api_keys.create_key(tx, session.person.merchant_id, terms, actor=actor, now=now)
    )
    message = "Keep this key safe: it is shown only this once."
    return success({"apiKey": _shown(key) | {"key": key.text}, "message": message}, status=201)


async def change(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    body = await object_of(request)
    changes = _changes_in(Fields(body), body)
    key_id = id_in(request, issue_api_keys.NoSuchKey)
    actor, now = actor_of(parts, session, request), parts.clock()
    key = await parts.queries.write(
        lambda tx: change_key(tx, session.person.merchant_id, key_id, changes, actor=actor, now=now)
    )
    return success({"apiKey": _listed(key)})


def _changes_in(fields: Fields, body: Mapping[str, Any]) -> KeyChanges:
    """A limit that is null is taken away; of the others null says nothing, as everywhere."""
    changes = KeyChanges()
    if fields.raw("name") is not None:
        changes["name"] = fields.required_text("name", most=100, is_line=True)
    if fields.raw("permissions") is not None:
        changes["permissions"] = tuple(fields.choices("permissions", Permission))
    payout_limit, daily_payout_limit = payout_limits_in(fields)
    if "payoutLimit" in body:
        changes["payout_limit"] = payout_limit
    if "dailyPayoutLimit" in body:
        changes["daily_payout_limit"] = daily_payout_limit
    fields.check()
    return changes


async def revoke(parts: ApiParts, session: MerchantSession, request: Request) -> Response:
    key_id = id_in(request, issue_api_keys.NoSuchKey)
    actor = actor_of(parts, session, request)
    await parts.queries.write(
        lambda tx: issue_api_keys.revoke_key(tx, session.person.merchant_id, key_id, actor=actor, now=parts.clock())
    )
    return success({"message": "The key is revoked."})


def _shown(key: NewKey | StoredKey) -> dict[str, Any]:
    shown: dict[str, Any] = {
        "id": key.id,
        "name": key.name,
        "prefix": key.prefix,
        "last4": key.last4,
        "permissions": key.permissions,
        "environment": key.environment,
        "createdAt": clock.iso(key.created_at),
    }
    if key.expires_at is not None:
        shown["expiresAt"] = clock.iso(key.expires_at)
    if key.payout_limit is not None:
        shown["payoutLimit"] = key.payout_limit
    if key.daily_payout_limit is not None:
        shown["dailyPayoutLimit"] = key.daily_payout_limit
    return shown


def _listed(key: StoredKey) -> dict[str, Any]:
    shown = _shown(key) | {"ipAllowlist": [str(each) for each in key.ip_allowlist]}
    if key.last_used_at is not None:
        shown["lastUsedAt"] = clock.iso(key.last_used_at)
    return shown
