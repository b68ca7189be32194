"""Keeps a file about a case or an exception. It is never changed and never deleted: it may be the evidence of a
decision. The audit log has its hash.
"""

import hashlib
from datetime import datetime

from malipo import ids
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.casework.attachment import ID_PREFIX, MOST_OF_ONE, Attachment, TooMany, kind_of, plain_name
from malipo.casework.store import attachments
from malipo.casework.subject import CaseworkSubject
from malipo.db import Tx
from malipo.operators.require_acting import require_acting


async def attach(
    tx: Tx, subject: CaseworkSubject, name: str, content: bytes, *, actor: Actor, now: datetime
) -> Attachment:
    """The caller has found the subject. The same file again is no second one."""
    await require_acting(tx, actor)
    name = plain_name(name)
    kind, digest = kind_of(name, content), hashlib.sha256(content).hexdigest()
    kept = await attachments.lock_of(tx, subject.id)
    for each in kept:
        if each.sha256 == digest:
            return each
    if len(kept) >= MOST_OF_ONE:
        raise TooMany
    made = Attachment(ids.mint(ID_PREFIX, now), subject.id, name, kind, len(content), digest, actor.name, now)
    await attachments.insert(tx, made, content, merchant_id=subject.merchant_id)
    await audit_log.append(
        tx,
        actor,
        "attachment.added",
        now=now,
        merchant_id=subject.merchant_id,
        subject=subject.id,
        name=name,
        size=len(content),
        sha256=digest,
    )
    return made
