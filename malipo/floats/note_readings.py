"""Notes what networks were seen to hold: as a statement closes, or as an operator read it."""

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
    """What an imported statement closes with. One that does not say it, or when, is no reading."""
    if closing is None or ends_at is None:
        return
    # A statement of a day that is not over says that it ends when the day does.
    await store.insert(tx, [FloatReading(channel, account, closing, Source.STATEMENT, min(ends_at, now), actor.name)])


async def note_seen(tx: Tx, channel: Channel, account: str, amount: int, *, actor: Actor, now: datetime) -> None:
    """What an operator has seen on the network's own pages."""
    await store.insert(tx, [FloatReading(channel, account, amount, Source.OPERATOR, now, actor.name)])
    await audit_log.append(tx, actor, "float.read", now=now, channel=channel, account=account, amount=amount)
