"""Warns before a batch is approved of payments that may be duplicates. It refuses nothing."""

from collections.abc import Sequence
from datetime import datetime

from malipo.db import Conn
from malipo.payments.batches.batch import BatchItem, BatchWarning, WarningCode
from malipo.payments.batches.store import items as stored_items
from malipo.payments.batches.store import payouts
from malipo.payments.duplicate_warnings import LOOKED_BACK


async def find(
    connection: Conn, merchant_id: str, items: Sequence[BatchItem], *, now: datetime
) -> tuple[BatchWarning, ...]:
    """The warnings, at most one of each kind for an item, in the order of the items."""
    phones = sorted({item.phone for item in items})
    paid = await payouts.find_paid(connection, merchant_id, phones, since=now - LOOKED_BACK)
    awaiting = await stored_items.find_awaiting(connection, merchant_id, phones)
    found: list[BatchWarning] = []
    first: dict[tuple[str, int], int] = {}
    for item in items:
        # The same number is the same person, whatever the channel.
        if (earlier := first.setdefault((item.phone, item.amount), item.index)) != item.index:
            found.append(BatchWarning(item.index, WarningCode.REPEATED_ITEM, str(earlier)))
        if (payout_id := paid.get((item.phone, item.amount))) is not None:
            found.append(BatchWarning(item.index, WarningCode.PAID_BEFORE, payout_id))
        if (batch_id := awaiting.get((item.phone, item.amount))) is not None:
            found.append(BatchWarning(item.index, WarningCode.AWAITING_TOO, batch_id))
    return tuple(found)
