"""What failed in a batch, to be paid again: which payouts, and once.

Only what is FAILED is paid again, and no refund: its collection is refunded again. A payout that its network has
corrected since then is not among them: it was paid after all.
"""

from typing import NamedTuple

from malipo.db import Conn
from malipo.payments.batches import progress
from malipo.payments.batches.batch import Batch, BatchItem, BatchStatus
from malipo.payments.batches.spreadsheet.draft import Again
from malipo.payments.batches.store import batches
from malipo.payments.store import corrections
from malipo.payments.transaction import Status


class BatchRetry(NamedTuple):
    """The next one, and the batch that was made of it already."""

    again: Again
    made: Batch | None


async def find_failed(connection: Conn, merchant_id: str, batch_id: str) -> list[BatchItem]:
    """Empty as long as a payout of the batch has not ended. Read in one snapshot."""
    progressed = await progress.find(connection, merchant_id, batch_id)
    if progressed is None or progressed.batch.status is not BatchStatus.COMPLETED:
        return []
    if not progressed.counts.get(Status.FAILED):
        return []
    batch = progressed.batch
    lines = await progress.find_lines(connection, batch, first=0, limit=batch.item_count)
    failed = {
        (merchant_id, line.payout.id): line.item
        for line in lines
        if line.payout is not None and line.payout.status is Status.FAILED and line.item.refund_of is None
    }
    corrected = await corrections.find(connection, list(failed))
    return [item for key, item in failed.items() if key not in corrected]


async def find_attempt(connection: Conn, merchant_id: str, batch_id: str) -> BatchRetry:
    """One attempt is one batch. There is another one only if that was cancelled, and so has paid nothing."""
    number = 1
    while True:
        again = Again(batch_id, number)
        used = await batches.find_by_key(connection, merchant_id, again.key)
        if used is None:
            return BatchRetry(again, None)
        if used.batch.status is not BatchStatus.CANCELLED:
            return BatchRetry(again, used.batch)
        number += 1
