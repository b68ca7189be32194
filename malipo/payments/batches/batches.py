"""Batches of payouts as merchants ask for them: make, approve and cancel one."""

from typing import TypeVar

from malipo.clock import Clock
from malipo.db import DataError
from malipo.db.group_commit import GroupAct, GroupCommit, GroupCommits, granted
from malipo.payments.batches.approve import Approval, ApproveBatch
from malipo.payments.batches.batch import Batch
from malipo.payments.batches.cancel import BatchCancellation, CancelBatch
from malipo.payments.batches.create import BatchRequest, CreateBatch, MadeBatch
from malipo.payments.payment_request import PaymentTerms
from malipo.payments.status_signals import StatusSignals
from malipo.payments.store.transactions import UNIQUE_KEYS

Ask = TypeVar("Ask")
Answer = TypeVar("Answer")

# Thousands of payouts are one commit. A try of it is not taken for one that hangs before this has passed.
_SECONDS = 60.0


class Batches:
    def __init__(self, commits: GroupCommits, terms: PaymentTerms, signals: StatusSignals, *, clock: Clock) -> None:
        self._signals = signals
        self._create = _group(commits, "create_batch", CreateBatch(clock=clock))
        self._approve = _group(commits, "approve_batch", ApproveBatch(clock=clock, terms=terms))
        self._cancel = _group(commits, "cancel_batch", CancelBatch(clock=clock))

    async def create(self, request: BatchRequest) -> MadeBatch:
        return granted(await self._create(request))

    async def approve(self, approval: Approval) -> Batch:
        try:
            approved = granted(await self._approve(approval))
        except DataError as error:
            if error.constraint not in UNIQUE_KEYS:
                raise
            # Operators adopted one of its lines meanwhile. Nothing was written, and the next try goes on without it.
            approved = granted(await self._approve(approval))
        self._signals.count(approved.opened)
        for channel in {each.channel for each in approved.opened}:
            self._signals.wake_sender(channel)
        return approved.batch

    async def cancel(self, cancellation: BatchCancellation) -> Batch:
        cancelled = granted(await self._cancel(cancellation))
        self._signals.count(cancelled.cancelled)
        if cancelled.cancelled:
            self._signals.wake_fan_out()
        return cancelled.batch


def _group(commits: GroupCommits, name: str, act: GroupAct[Ask, Answer]) -> GroupCommit[Ask, Answer]:
    """A large batch shares its commit with no other, and another need not wait for it. Two in one commit would also
    lock the second one's row and payments after the first one's wallet, against the order of locks."""
    return commits.group(name, act, most=1, lanes=2, least_patience_seconds=_SECONDS)
