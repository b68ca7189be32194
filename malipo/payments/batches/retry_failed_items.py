"""Which failed payouts of a batch are paid again, and that each is paid again once.

Only FAILED payouts are paid again, and no refunds: their collection is refunded again. Left out are payouts that their
network has since reported as paid, and payouts that were made in place of one.
"""

from collections.abc import Sequence
from typing import NamedTuple

from malipo.db import Conn
from malipo.payments.batches import progress
from malipo.payments.batches.batch import Batch, BatchItem, BatchStatus
from malipo.payments.batches.spreadsheet.draft import Again, failed_batch_in
from malipo.payments.batches.store import batches
from malipo.payments.retried_outcome import RetriedOutcome
from malipo.payments.retry_failed_payment import failed_in
from malipo.payments.store import corrections, retries
from malipo.payments.transaction import Status


class BatchRetry(NamedTuple):
    """The next one, and the batch that was made of it already."""

    again: Again
    made: Batch | None


class FailedPayout(NamedTuple):
    """A line of a batch whose payout has failed."""

    item: BatchItem
    payout_id: str


async def find_failed(connection: Conn, merchant_id: str, batch_id: str) -> list[FailedPayout]:
    """Empty as long as a payout of the batch has not ended. Read in one snapshot."""
    progressed = await progress.find(connection, merchant_id, batch_id)
    if progressed is None or progressed.batch.status is not BatchStatus.COMPLETED:
        return []
    if not progressed.counts.get(Status.FAILED):
        return []
    failed = {(merchant_id, each.payout_id): each for each in await _find_failed(connection, progressed.batch)}
    corrected = await corrections.find(connection, list(failed))
    outcomes = await retries.find(connection, list(failed))
    return [each for key, each in failed.items() if key not in corrected and outcomes[key] is not RetriedOutcome.PAID]


async def _find_failed(connection: Conn, batch: Batch) -> list[FailedPayout]:
    """The items that failed, also those that their networks have corrected."""
    lines = await progress.find_lines(connection, batch, first=0, limit=batch.item_count)
    return [
        FailedPayout(line.item, line.payout.id)
        for line in lines
        if line.payout is not None and line.payout.status is Status.FAILED and line.item.refund_of is None
    ]


async def find_retried(connection: Conn, batch: Batch, lines: Sequence[BatchItem]) -> dict[int, set[str]]:
    """The payouts that these lines pay again, by the index of the line."""
    named = {line.index: {line.retry_of} for line in lines if line.retry_of is not None}
    return named or await _find_retried_by_key(connection, batch, lines)


async def _find_retried_by_key(connection: Conn, batch: Batch, lines: Sequence[BatchItem]) -> dict[int, set[str]]:
    """The items that a batch of a version before migration 46 pays again: its lines do not say it, its idempotency key
    does.

    A line pays again what failed for its number; if that was corrected, it may be any of them."""
    if batch.created_by != batch.maker:
        return {}  # An API key has made it, under a key of the merchant's own.
    key = await batches.find_key(connection, batch) or ""
    if (failed_id := failed_in(key)) is not None:
        return {line.index: {failed_id} for line in lines}
    failed_batch_id = failed_batch_in(key)
    before = None if failed_batch_id is None else await batches.get(connection, batch.merchant_id, failed_batch_id)
    failed = [] if before is None else await _find_failed(connection, before)
    by_phone: dict[str, set[str]] = {}
    for each in failed:
        by_phone.setdefault(each.item.phone, set()).add(each.payout_id)
    any_of_them = {each.payout_id for each in failed}
    return {line.index: found for line in lines if (found := by_phone.get(line.phone, any_of_them))}


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
