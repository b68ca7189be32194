"""Completes batches whose payouts have all ended, with any outcome, and writes the event of each batch in the same
commit.

A batch that was cancelled while it was running also becomes COMPLETED with its last payout, and its event states how
many payouts were paid. A batch that was cancelled before its approval has no payouts and no event: nothing was paid,
and the person who cancelled it has the response.
"""

import msgspec

from malipo import ids
from malipo.db import Tx
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.messages.message import Facts
from malipo.outbox import store as outbox
from malipo.outbox.event import Event
from malipo.outbox.store import BatchEvent
from malipo.payments.batches import batch_json
from malipo.payments.batches.batch import Batch
from malipo.payments.batches.store import batches, payouts
from malipo.payments.transaction import Status

_encode = msgspec.json.Encoder().encode


async def complete(tx: Tx, *, most: int) -> list[BatchEvent]:
    """The events of the batches that are complete now."""
    events = [await _event(tx, batch) for batch in await batches.complete_ended(tx, most=most)]
    if events:
        await outbox.insert_batch_events(tx, events)
    return events


async def _event(tx: Tx, batch: Batch) -> BatchEvent:
    assert batch.completed_at is not None, "it was just completed"
    counts = await payouts.count_by_status(tx, batch)
    if failed := counts.get(Status.FAILED, 0):
        facts: Facts = {
            "name": batch.name,
            "failed": failed,
            "of": batch.item_count,
            "path": f"/dashboard/batches/{batch.id}",
        }
        await write.to_people(
            tx, MessageKind.BATCH_FAILED, batch.merchant_id, facts, now=batch.completed_at, cause=batch.id
        )
    body = _encode({"event": Event.BATCH_COMPLETED, "batch": batch_json.in_event(batch, counts)}).decode()
    return BatchEvent(
        ids.mint("evt_", batch.completed_at),
        batch.merchant_id,
        batch.id,
        Event.BATCH_COMPLETED,
        body,
        batch.completed_at,
    )
