"""Rotates the secrets of endpoints: a new one beside the old one, until the overlap ends.

Also re-encrypts all secrets when the service's encryption key has changed.
"""

import dataclasses
from datetime import datetime

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.encryption import Encryption
from malipo.errors import Conflict
from malipo.webhooks.endpoint import OVERLAP, Endpoint
from malipo.webhooks.manage_endpoints import append_to_audit_log, get_locked
from malipo.webhooks.signature import new_secret
from malipo.webhooks.store import endpoints


class RotationUnderWay(Conflict):
    code = "rotation_under_way"

    def __init__(self) -> None:
        super().__init__("The secret is being changed already: finish that first.")


class NoRotation(Conflict):
    code = "no_rotation"

    def __init__(self) -> None:
        super().__init__("The secret is not being changed.")


async def rotate(
    tx: Tx, merchant_id: str, id_: str, *, encryption: Encryption, actor: Actor, now: datetime
) -> tuple[Endpoint, str]:
    """Create a new secret beside the old one, and return it in clear text, only now. Both sign until the overlap
    ends."""
    before = await get_locked(tx, merchant_id, id_)
    if before.is_rotating(now):
        raise RotationUnderWay
    secret = new_secret()
    after = dataclasses.replace(
        before,
        secret=before.encrypted_keys(now)[0],
        next_secret=encryption.encrypt(secret, owner=id_),
        rotation_ends_at=now + OVERLAP,
    )
    await endpoints.update(tx, after)
    await append_to_audit_log(tx, actor, "webhook.rotation_begun", after, now)
    return after, secret


async def finish_rotation(tx: Tx, merchant_id: str, id_: str, *, actor: Actor, now: datetime) -> Endpoint:
    """End a rotation: from now on only the new secret signs. Finishing a rotation that has already ended is not an
    error."""
    before = await get_locked(tx, merchant_id, id_)
    if before.next_secret is None:
        raise NoRotation
    after = dataclasses.replace(before, secret=before.next_secret, next_secret=None, rotation_ends_at=None)
    await endpoints.update(tx, after)
    await append_to_audit_log(tx, actor, "webhook.rotation_finished", after, now)
    return after


async def reencrypt(tx: Tx, encryption: Encryption, *, actor: Actor, now: datetime) -> tuple[int, int]:
    """Encrypt every secret with the current key. Returns how many needed it, and how many there are."""
    changed = 0
    found = await endpoints.find_encrypted(tx)
    for id_, *encrypted in found:
        if all(each is None or encryption.is_current(each) for each in encrypted):
            continue
        secret, next_secret = (
            None if each is None else encryption.encrypt(encryption.decrypt(each, owner=id_), owner=id_)
            for each in encrypted
        )
        assert secret is not None
        await endpoints.reencrypt(tx, id_, secret, next_secret)
        changed += 1
    await audit_log.append(tx, actor, "secrets.rotated", now=now, endpoints=changed)
    return changed, len(found)
