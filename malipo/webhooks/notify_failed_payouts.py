"""Notifies people by message of payouts that have failed, where their events are numbered: no payment waits for it.

Those of a batch are reported with the whole batch.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import msgspec

from malipo.db import Tx
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.outbox.event import Event
from malipo.outbox.store import AnyEvent


class _FailedPayout(msgspec.Struct, rename="camel"):
    id: str
    reference: str
    amount: int
    batch_id: str | None = None


class _Body(msgspec.Struct):
    transaction: _FailedPayout


@dataclass(slots=True)
class FailedPayouts:
    """The failed payouts of one merchant."""

    count: int = 0
    amount: int = 0
    id: str = ""  # of the last one
    reference: str = ""


_decode = msgspec.json.Decoder(_Body).decode


def failed_payouts(events: Iterable[AnyEvent]) -> dict[str, FailedPayouts]:
    """The failed payouts that are in no batch, by merchant. Pure."""
    found: dict[str, FailedPayouts] = defaultdict(FailedPayouts)
    for event in events:
        if event.event is not Event.PAYOUT_FAILED:
            continue
        try:
            payout = _decode(event.body).transaction
        except msgspec.MsgspecError:
            continue  # `daily_totals` logs it. A message that lacks one payout is better than a feed that stops.
        if payout.batch_id is None:
            each = found[event.merchant_id]
            each.count += 1
            each.amount += payout.amount
            each.id, each.reference = payout.id, payout.reference
    return found


async def notify_failed_payouts(tx: Tx, events: Iterable[AnyEvent], *, now: datetime) -> None:
    for merchant_id, failed in sorted(failed_payouts(events).items()):
        facts = {"reference": failed.reference, "path": f"/dashboard/transactions/{failed.id}"}
        await write.to_people(
            tx, MessageKind.PAYOUTS_FAILED, merchant_id, facts, count=failed.count, amount=failed.amount, now=now
        )
