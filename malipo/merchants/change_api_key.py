"""Changes an API key: its name, its limits for payouts, and its permissions, which can only become fewer: the holders
of the key must not get more than they were given. The caller has asked an owner for the password.
"""

import dataclasses
import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Code, Conflict, Invalid
from malipo.ledger.store import wallets
from malipo.merchants import four_eyes
from malipo.merchants.api_keys import PAYING, Permission, StoredKey, narrowed
from malipo.merchants.issue_api_keys import NoSuchKey
from malipo.merchants.store import api_keys


class KeyChanges(TypedDict, total=False):
    """The changes. An absent field stays as it is; None is no limit."""

    name: str
    permissions: tuple[Permission, ...]
    payout_limit: int | None
    daily_payout_limit: int | None


class PermissionsGrow(Invalid):
    code = "permissions_grow"

    def __init__(self, added: Sequence[str]) -> None:
        message = f"permissions can only become fewer: make a new key for {', '.join(added)}."
        super().__init__("The request has invalid fields.", details={"permissions": [message]})


class LimitsCross(Invalid):
    code = "amount_too_small"

    def __init__(self) -> None:
        message = "dailyPayoutLimit must not be below payoutLimit."
        super().__init__("The request has invalid fields.", details={"dailyPayoutLimit": [message]})


class KeyChangeRefusal(Code):
    CHANGED = "api_key_changed"


class KeyChanged(Conflict):
    code = KeyChangeRefusal.CHANGED


def code_of(key: StoredKey) -> str:
    """The code of a key as it was shown, so that nobody overwrites a change that they have not seen. Pure."""
    seen = (key.name, sorted(key.permissions), key.payout_limit, key.daily_payout_limit)
    return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]


async def change_key(
    tx: Tx,
    merchant_id: str,
    key_id: str,
    changes: KeyChanges,
    *,
    actor: Actor,
    now: datetime,
    seen: str | None = None,
) -> StoredKey:
    """Change a key, and return it. Requests that come after the commit are checked against the new values."""
    # Payouts with the key are decided with their wallet locked, and read the key's sum of today.
    await wallets.lock(tx, [merchant_id])
    before = await api_keys.lock(tx, merchant_id, key_id)
    if before is None:
        raise NoSuchKey
    if seen is not None and seen != code_of(before):
        raise KeyChanged
    after = dataclasses.replace(before, **changes)
    if set(after.permissions) == set(before.permissions):
        after = dataclasses.replace(after, permissions=before.permissions)  # in whatever order they were sent
    if added := [each for each in after.permissions if each not in narrowed(before.permissions)]:
        raise PermissionsGrow(added)
    each, daily = after.payout_limit, after.daily_payout_limit
    if each is not None and daily is not None and daily < each:
        raise LimitsCross
    if PAYING.intersection(after.permissions) and _pays_more(before, after):
        await four_eyes.require_not_waiting(tx, merchant_id, actor, now=now)
    if (changed := _changed(before, after)) == {}:
        return before
    await api_keys.update(tx, after)
    if before.daily_payout_limit is None and after.daily_payout_limit is not None:
        await api_keys.start_daily_sum(tx, merchant_id, key_id, now=now)
    await audit_log.append(
        tx, actor, "api_key.changed", now=now, merchant_id=merchant_id, key=key_id, **{"name": after.name} | changed
    )
    return after


def _pays_more(before: StoredKey, after: StoredKey) -> bool:
    return _is_wider(before.payout_limit, after.payout_limit) or _is_wider(
        before.daily_payout_limit, after.daily_payout_limit
    )


def _is_wider(before: int | None, after: int | None) -> bool:
    return before is not None and (after is None or after > before)


def _changed(before: StoredKey, after: StoredKey) -> dict[str, object]:
    """The changed fields, with their old and new values."""
    changed: dict[str, object] = {}
    for name in KeyChanges.__annotations__:
        old, new = getattr(before, name), getattr(after, name)
        if old != new:
            changed |= {name: new, f"{name}_before": old}
    return changed
