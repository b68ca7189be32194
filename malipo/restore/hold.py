"""Operators hold payments: all of them, or a channel's payouts or collections. Held payments wait; none is lost."""

from collections.abc import Sequence
from datetime import datetime

from malipo import typed_reason
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Code, Conflict, Invalid
from malipo.restore.store import installation

Routes = Sequence[tuple[str, str]]  # channels and types; empty: all payments


class HoldRefusal(Code):
    REASON = "hold_reason"
    NOT_HELD = "hold_not_held"


async def hold(tx: Tx, routes: Routes, reason: str, *, actor: Actor, now: datetime) -> None:
    if not typed_reason.is_within(reason, typed_reason.REASON):
        raise Invalid(code=HoldRefusal.REASON)
    await installation.lock(tx)
    if routes:
        await installation.add_channel_holds(tx, routes, held_by=actor.name, reason=reason)
    else:
        await installation.set_hold(tx, held_by=actor.name, reason=reason)
    await audit_log.append(tx, actor, "installation.held", now=now, scope=_words(routes), reason=reason)


async def end(tx: Tx, routes: Routes, *, actor: Actor, now: datetime) -> None:
    await installation.lock(tx)
    if not (await installation.end_channel_holds(tx, routes) if routes else await installation.end_hold(tx)):
        raise Conflict(code=HoldRefusal.NOT_HELD)
    await audit_log.append(tx, actor, "installation.hold_ended", now=now, scope=_words(routes))


def _words(routes: Routes) -> list[str]:
    return [f"{channel} {type_}" for channel, type_ in routes] or ["everything"]
