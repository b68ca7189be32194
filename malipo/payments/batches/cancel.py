"""Cancels batches: all of one that awaits approval; of one that is running, the payouts that were not sent yet."""

from collections.abc import Sequence

import msgspec
from msgspec.structs import replace

from malipo.audit_log import store as audit_log
from malipo.clock import Clock
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.payments import status_writer
from malipo.payments.batches.batch import Batch, BatchStatus, NoSuchBatch, Requester
from malipo.payments.batches.store import batches, payouts
from malipo.payments.status_writer import StatusChange
from malipo.payments.store import asked_first, transactions
from malipo.payments.transaction import Cause, Status, Transaction
from malipo.restore.installation import IntakeClosed
from malipo.restore.store import installation


class BatchNotCancellable(Conflict):
    code = "batch_not_cancellable"

    def __init__(self) -> None:
        super().__init__("Every payout of this batch has ended: nothing of it can be cancelled.")


class BatchCancellation(msgspec.Struct, frozen=True):
    merchant_id: str
    batch_id: str
    requester: Requester


class CancelledBatch(msgspec.Struct, frozen=True):
    batch: Batch
    cancelled: Sequence[Transaction] = ()  # payouts that were cancelled now


class CancelBatch:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def __call__(
        self, tx: Tx, cancellations: Sequence[BatchCancellation], /, *, again: bool
    ) -> list[CancelledBatch | Refusal | IntakeClosed]:
        return [await self._cancel(tx, each) for each in cancellations]

    async def _cancel(self, tx: Tx, cancellation: BatchCancellation) -> CancelledBatch | Refusal | IntakeClosed:
        if (closed := await installation.why_not_cancel(tx)) is not None:
            return closed
        batch = await batches.lock(tx, cancellation.merchant_id, cancellation.batch_id)
        if batch is None:
            return NoSuchBatch()
        if batch.status in (BatchStatus.CANCELLED, BatchStatus.COMPLETED):
            return CancelledBatch(batch) if batch.cancelled_at is not None else BatchNotCancellable()
        now = self._clock()
        withdrawn = await self._withdraw(tx, batch) if batch.status is BatchStatus.RUNNING else []
        if batch.status is BatchStatus.RUNNING and not withdrawn:
            return CancelledBatch(batch)
        status = BatchStatus.CANCELLED if batch.status is BatchStatus.AWAITING_APPROVAL else batch.status
        after = replace(
            batch,
            status=status,
            cancelled_at=batch.cancelled_at or now,
            cancelled_by=batch.cancelled_by or cancellation.requester.id,
        )
        await batches.cancel(tx, after)
        if cancellation.requester.actor is not None:
            await audit_log.append(
                tx,
                cancellation.requester.actor,
                "batch.cancelled",
                now=now,
                merchant_id=batch.merchant_id,
                batch=batch.id,
                items=len(withdrawn) if batch.status is BatchStatus.RUNNING else batch.item_count,
            )
        return CancelledBatch(after, withdrawn)

    async def _withdraw(self, tx: Tx, batch: Batch) -> list[Transaction]:
        """Cancel the payouts that were not sent yet."""
        pending = await payouts.find_ids(tx, batch, Status.PENDING)
        keys = [(batch.merchant_id, id_) for id_ in pending]
        # Locked before the check, because the commit that a lock waits for may change whether they can be cancelled.
        await transactions.lock(tx, set(keys))
        queried_first = await asked_first.find_asked_first(tx, keys)
        changes = [
            StatusChange(merchant_id=merchant_id, transaction_id=id_, cause=Cause.WITHDRAWN)
            for merchant_id, id_ in keys
            if (merchant_id, id_) not in queried_first
        ]
        outcomes = await status_writer.advance(tx, changes, now=self._clock())
        return [each.transaction for each in outcomes if each is not None and each.has_moved]
