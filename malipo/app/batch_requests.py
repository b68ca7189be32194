"""Makes, approves and cancels batches of payouts, for the API and the dashboard."""

from collections.abc import Iterable
from dataclasses import dataclass

from malipo.app.commit_groups import CommitGroups, granted
from malipo.db import DataError
from malipo.db.notify import Notifier
from malipo.metrics import Metrics
from malipo.payments.batches.approve import Approval
from malipo.payments.batches.batch import Batch
from malipo.payments.batches.cancel import BatchCancellation
from malipo.payments.batches.create import BatchOrder, MadeBatch
from malipo.payments.store.transactions import UNIQUE_KEYS
from malipo.payments.transaction import Transaction


@dataclass(frozen=True)
class BatchRequests:
    groups: CommitGroups
    notifier: Notifier
    metrics: Metrics
    events_topic: str

    async def create(self, order: BatchOrder) -> MadeBatch:
        return granted(await self.groups.create_batch(order))

    async def approve(self, approval: Approval) -> Batch:
        try:
            approved = granted(await self.groups.approve_batch(approval))
        except DataError as error:
            if error.constraint not in UNIQUE_KEYS:
                raise
            # Operators adopted one of its lines meanwhile. Nothing was written, and the next try goes on without it.
            approved = granted(await self.groups.approve_batch(approval))
        self._count(approved.opened)
        for channel in {each.channel for each in approved.opened}:
            self.notifier.notify(channel)
        return approved.batch

    async def cancel(self, cancellation: BatchCancellation) -> Batch:
        cancelled = granted(await self.groups.cancel_batch(cancellation))
        self._count(cancelled.cancelled)
        if cancelled.cancelled:
            self.notifier.notify(self.events_topic)
        return cancelled.batch

    def _count(self, payouts: Iterable[Transaction]) -> None:
        for each in payouts:
            self.metrics.count_transaction(each.type, each.channel, each.status)
