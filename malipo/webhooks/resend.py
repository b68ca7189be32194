"""Resends on request: one delivery again (redeliver), or everything since a time (recover).

Which events a recovery chooses is SQL, in `store/recovery.py`.
"""

from datetime import datetime

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Missing
from malipo.webhooks.manage_endpoints import append_to_audit_log, get_active
from malipo.webhooks.store import delivery_queue, recovery

_MOST_AT_ONCE = 5000


class NoSuchDelivery(Missing):
    code = "delivery_not_found"

    def __init__(self) -> None:
        super().__init__("There is no delivery with this id at this endpoint.")


async def redeliver(tx: Tx, merchant_id: str, endpoint_id: str, event_id: str, *, actor: Actor, now: datetime) -> None:
    """Deliver it again from the first attempt, whatever its state."""
    endpoint = await get_active(tx, merchant_id, endpoint_id)
    if not await delivery_queue.rearm(tx, endpoint.id, event_id, now=now):
        raise NoSuchDelivery
    await append_to_audit_log(tx, actor, "webhook.redelivered", endpoint, now, delivery=event_id)


async def recover(
    tx: Tx, merchant_id: str, endpoint_id: str, *, since: datetime, after: str | None, actor: Actor, now: datetime
) -> tuple[int, str | None]:
    """Make due the next part of the events since a time that the endpoint subscribes to and has not accepted.

    Returns the number of deliveries made due, and the event after which the next part begins; None at the end.
    """
    endpoint = await get_active(tx, merchant_id, endpoint_id)
    recovered, last = await recovery.recover(tx, endpoint, since=since, after=after, most=_MOST_AT_ONCE, now=now)
    if recovered:
        await append_to_audit_log(
            tx, actor, "webhook.recovered", endpoint, now, since=clock.iso(since), deliveries=recovered
        )
    return recovered, last
