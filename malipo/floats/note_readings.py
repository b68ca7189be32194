"""Stores balances at networks: the closing balance of a statement, or one that an operator has read."""

from datetime import datetime

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.floats import store
from malipo.floats.position import FloatReading, Source
from malipo.networks.connector import Channel


async def note_closing(
    tx: Tx,
    channel: Channel,
    account: str,
    closing: int | None,
    *,
    ends_at: datetime | None,
    actor: Actor,
    now: datetime,
) -> None:
    """Store the closing balance of an imported statement, if the statement has one with a time."""
    if closing is None or ends_at is None:
        return
    # The statement of a day that is not over gives the end of that day as its end.
    await store.insert(tx, [FloatReading(channel, account, closing, Source.STATEMENT, min(ends_at, now), actor.name)])


async def note_seen(tx: Tx, channel: Channel, account: str, amount: int, *, actor: Actor, now: datetime) -> None:
    """Store the balance that an operator has read on the network's own pages."""
    await store.insert(tx, [FloatReading(channel, account, amount, Source.OPERATOR, now, actor.name)])
    await audit_log.append(tx, actor, "float.read", now=now, channel=channel, account=account, amount=amount)
