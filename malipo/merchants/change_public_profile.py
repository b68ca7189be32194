"""Changes what customers see of a merchant. The caller has checked the fields, and has drawn the logo anew."""

from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.merchants.public_profile import Contact, Logo, fingerprint_of
from malipo.merchants.store import public_profiles


async def change_public_profile(
    tx: Tx, merchant_id: str, *, name: str | None, contact: Contact, tin: str | None, actor: Actor, now: datetime
) -> None:
    """A name that is the account's own is none: it follows the account."""
    before = await public_profiles.lock(tx, merchant_id)
    after = replace(before, name=None if name == before.registered_name else name, contact=contact, tin=tin)
    if after == before:
        return
    await public_profiles.save(tx, merchant_id, after, now=now)
    fields_after = {"name": after.name, **msgspec.to_builtins(after.contact), "tin": after.tin}
    fields_before = {"name": before.name, **msgspec.to_builtins(before.contact), "tin": before.tin}
    changed = {field: value for field, value in fields_after.items() if value != fields_before[field]}
    await audit_log.append(tx, actor, "profile.changed", now=now, merchant_id=merchant_id, **changed)


async def set_logo(
    tx: Tx, merchant_id: str, content: bytes, *, width: int, height: int, actor: Actor, now: datetime
) -> None:
    before = await public_profiles.lock(tx, merchant_id)
    logo = Logo(fingerprint_of(content), width, height)
    if before.logo != logo:
        await public_profiles.save_logo(tx, merchant_id, logo, content, now=now)
        await audit_log.append(
            tx, actor, "profile.logo_set", now=now, merchant_id=merchant_id, fingerprint=logo.fingerprint
        )


async def remove_logo(tx: Tx, merchant_id: str, *, actor: Actor, now: datetime) -> None:
    before = await public_profiles.lock(tx, merchant_id)
    if before.logo is not None:
        await public_profiles.save_logo(tx, merchant_id, None, None, now=now)
        await audit_log.append(tx, actor, "profile.logo_removed", now=now, merchant_id=merchant_id)
