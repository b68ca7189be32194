"""Operators block a number: no pay page sends it a prompt any more. Requests by the API still can."""

from datetime import datetime

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Code, Conflict
from malipo.links.store import blocked_numbers
from malipo.links.store.blocked_numbers import BlockedNumber


class BlockRefusal(Code):
    BLOCKED_ALREADY = "number_blocked_already"
    NOT_BLOCKED = "number_not_blocked"


async def block(tx: Tx, phone: str, reason: str, *, actor: Actor, now: datetime) -> None:
    if not await blocked_numbers.insert(tx, BlockedNumber(phone, reason, actor.name, now)):
        raise Conflict(code=BlockRefusal.BLOCKED_ALREADY)
    await audit_log.append(tx, actor, "number.blocked", now=now, phone=phone, reason=reason)


async def unblock(tx: Tx, phone: str, *, actor: Actor, now: datetime) -> None:
    if not await blocked_numbers.delete(tx, phone):
        raise Conflict(code=BlockRefusal.NOT_BLOCKED)
    await audit_log.append(tx, actor, "number.unblocked", now=now, phone=phone)
