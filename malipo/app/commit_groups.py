"""Which requests share a commit: one group commit for each kind of request that is made often."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, fields
from typing import Any, TypeVar

from malipo.clock import Clock
from malipo.db import Database
from malipo.db.group_commit import Act, GroupCommit
from malipo.errors import Refusal, Unavailable
from malipo.merchants.authenticate import AccessRequest, Authenticate, Caller
from malipo.metrics import Metrics
from malipo.payments.batches.approve import Approval, ApproveBatch, Approved
from malipo.payments.batches.cancel import BatchCancellation, CancelBatch, CancelledBatch
from malipo.payments.batches.create import BatchOrder, CreateBatch, MadeBatch
from malipo.payments.cancel import Cancel, Cancellation
from malipo.payments.claim_for_sending import Claim, Claimed, ClaimForSending
from malipo.payments.dispatch import Rules
from malipo.payments.initiate import Initiate, Initiated, Order
from malipo.payments.payment_request import Terms
from malipo.payments.settle import Report, Settle, Settled
from malipo.payments.status_writer import Outcome
from malipo.rate_limit.sliding_window import RateClass
from malipo.restore.state import Closed
from malipo.settings import Settings
from malipo.webhooks.delivery_state import Attempt, Delivery
from malipo.webhooks.send_attempt import RecordAttempts

# All attempts that a worker may have under way can be recorded at once.
_MOST_ATTEMPTS = 4096
# Thousands of payouts are one commit. A try of it is not taken for one that hangs before this has passed.
_BATCH_SECONDS = 60.0


Granted = TypeVar("Granted")


def granted(answer: Granted | Refusal | Unavailable) -> Granted:
    """Raise a refusal, which is a return value inside a batch."""
    if isinstance(answer, Refusal | Unavailable):
        raise answer
    return answer


@dataclass(frozen=True)
class CommitGroups:
    authenticate: GroupCommit[AccessRequest, Caller | Refusal]
    initiate: GroupCommit[Order, Initiated | Refusal | Unavailable]
    cancel: GroupCommit[Cancellation, Outcome | Refusal | Closed]
    claim: GroupCommit[Claim, Claimed]
    settle: GroupCommit[Report, Settled | None]
    record_attempt: GroupCommit[Attempt, Delivery | None]
    create_batch: GroupCommit[BatchOrder, MadeBatch | Refusal | Closed]
    approve_batch: GroupCommit[Approval, Approved | Refusal | Closed]
    cancel_batch: GroupCommit[BatchCancellation, CancelledBatch | Refusal | Closed]

    @classmethod
    def assemble(cls, settings: Settings, database: Database, metrics: Metrics, *, clock: Clock) -> CommitGroups:
        patience = settings.database_patience_seconds

        def group(name: str, act: Act[Any, Any], **options: Any) -> GroupCommit[Any, Any]:
            options = {"patience_seconds": patience} | options
            made = GroupCommit(database, act, name=name, observe=metrics.observer_of(name), **options)
            metrics.watch_queue(name, lambda: made.depth)
            return made

        # A large batch shares its commit with no other, and another need not wait for it.
        alone = {"most": 1, "lanes": 2, "patience_seconds": max(patience, _BATCH_SECONDS)}
        limits = {
            RateClass.CREATE: settings.rate_limit_create,
            RateClass.LIST: settings.rate_limit_list,
            RateClass.OTHER: settings.rate_limit_other,
        }
        return cls(
            authenticate=group(
                "authenticate",
                Authenticate(limits=limits, clock=clock),
                needs_transaction=False,
            ),
            initiate=group("initiate", Initiate(clock=clock)),
            cancel=group("cancel", Cancel(clock=clock)),
            claim=group("submit", ClaimForSending(clock=clock)),
            settle=group(
                "settle",
                Settle(clock=clock, rules=Rules.of(settings), credits_automatically=settings.credit_by_itself),
            ),
            record_attempt=group(
                "record_attempt",
                RecordAttempts(clock=clock, retry_seconds=settings.webhook_retry_seconds),
                most=_MOST_ATTEMPTS,
            ),
            create_batch=group("create_batch", CreateBatch(clock=clock), **alone),
            approve_batch=group("approve_batch", ApproveBatch(clock=clock, terms=Terms.of(settings)), **alone),
            cancel_batch=group("cancel_batch", CancelBatch(clock=clock), **alone),
        )

    async def finish(self) -> None:
        """Return when every request that waits has its answer."""
        groups: list[GroupCommit[Any, Any]] = [getattr(self, each.name) for each in fields(self)]
        await asyncio.gather(*(each.finish() for each in groups))
