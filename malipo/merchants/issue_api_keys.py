"""Issues and revokes API keys."""

from collections.abc import Mapping
from datetime import datetime

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, plain_name
from malipo.db import Tx
from malipo.errors import Conflict, Missing
from malipo.merchants import four_eyes
from malipo.merchants.api_keys import (
    MOST_PER_MERCHANT,
    PAYING,
    KeyTerms,
    NewKey,
    address_range_of,
    prefix_of,
    text_of,
)
from malipo.merchants.store import api_keys
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.rate_limit import store as rate_limits


class TooManyKeys(Conflict):
    code = "too_many_keys"

    def __init__(self) -> None:
        super().__init__(f"A merchant has at most {MOST_PER_MERCHANT} API keys: revoke one first.")


class NoSuchKey(Missing):
    code = "api_key_not_found"

    def __init__(self) -> None:
        super().__init__("There is no API key with this id.")


async def create_key(
    tx: Tx,
    merchant_id: str,
    terms: KeyTerms,
    *,
    actor: Actor,
    now: datetime,
    noted: Mapping[str, object] | None = None,
) -> NewKey:
    """Create a key with a new secret, which is shown only now. `noted` is added to its entry in the audit log."""
    if PAYING & set(terms.permissions):
        await four_eyes.require_not_waiting(tx, merchant_id, actor, now=now)
    if await api_keys.lock_all(tx, merchant_id) >= MOST_PER_MERCHANT:
        raise TooManyKeys
    prefix = prefix_of(terms.brand, terms.environment)
    key = NewKey(
        id=ids.mint("key_", now),
        merchant_id=merchant_id,
        name=terms.name,
        text=text_of(prefix),
        prefix=prefix,
        environment=terms.environment,
        permissions=terms.permissions,
        created_at=now,
        expires_at=terms.expires_at,
        ip_allowlist=tuple(address_range_of(each) for each in terms.ip_allowlist),
        payout_limit=terms.payout_limit,
        daily_payout_limit=terms.daily_payout_limit,
        created_by=actor.name,
    )
    await api_keys.insert(tx, key)
    await rate_limits.open_windows(tx, key.id)
    facts = {
        "name": terms.name,
        "by": plain_name(actor.name),
        "permissions": ", ".join(key.permissions),
        "last4": key.last4,
        "happened_at": now.isoformat(),
        "path": "/dashboard/keys",
    }
    await write.to_people(tx, MessageKind.KEY_CREATED, merchant_id, facts, now=now, cause=key.id)
    limits = {"payout_limit": terms.payout_limit, "daily_payout_limit": terms.daily_payout_limit}
    await audit_log.append(
        tx,
        actor,
        "api_key.created",
        now=now,
        merchant_id=merchant_id,
        key=key.id,
        name=terms.name,
        permissions=key.permissions,
        last4=key.last4,
        **{name: limit for name, limit in limits.items() if limit is not None},
        **(noted or {}),
    )
    return key


async def revoke_key(tx: Tx, merchant_id: str, key_id: str, *, actor: Actor, now: datetime) -> None:
    """Revoke a key. It stops working with the next request."""
    if not await api_keys.revoke(tx, merchant_id, key_id, now=now):
        raise NoSuchKey
    await audit_log.append(tx, actor, "api_key.revoked", now=now, merchant_id=merchant_id, key=key_id)
