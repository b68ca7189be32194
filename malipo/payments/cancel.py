"""Cancels payments that were not sent to a network yet. Which of them operators may cancel: `cases/cancellable.py`."""

from collections.abc import Sequence
from dataclasses import dataclass

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.clock import Clock
from malipo.db import Tx
from malipo.errors import Conflict, Refusal
from malipo.payments import status_writer
from malipo.payments.status_writer import StatusChange, StatusOutcome
from malipo.payments.store import asked_first, transactions
from malipo.payments.transaction import Cause, NoSuchTransaction, Status
from malipo.restore.installation import IntakeClosed
from malipo.restore.store import installation


class NotCancellable(Conflict):
    code = "not_cancellable"

    def __init__(self, status: Status) -> None:
        super().__init__(f"Only a PENDING transaction can be cancelled; this one is {status}.")


@dataclass(frozen=True, slots=True)
class Cancellation:
    merchant_id: str
    id_or_reference: str
    actor: Actor | None = None  # a person; what API keys do is not in the audit log


class Cancel:
    def __init__(self, *, clock: Clock) -> None:
        self._clock = clock

    async def __call__(
        self, tx: Tx, cancellations: Sequence[Cancellation], /, *, again: bool
    ) -> list[StatusOutcome | Refusal | IntakeClosed]:
        if (closed := await installation.why_not_cancel(tx)) is not None:
            return [closed for _ in cancellations]
        ids = await transactions.find_ids(tx, [(each.merchant_id, each.id_or_reference) for each in cancellations])
        keys = [(each.merchant_id, id_ or "") for each, id_ in zip(cancellations, ids, strict=True)]
        # Locked before the check, because the commit that a lock waits for may change whether they can be cancelled.
        await transactions.lock(tx, set(keys))
        queried_first = await asked_first.find_asked_first(tx, keys)
        changes = [
            StatusChange(merchant_id=merchant_id, transaction_id=id_, cause=Cause.WITHDRAWN)
            for merchant_id, id_ in keys
            if (merchant_id, id_) not in queried_first
        ]
        now = self._clock()
        moved = iter(await status_writer.advance(tx, changes, now=now))
        outcomes = [AskedFirst() if key in queried_first else next(moved) for key in keys]
        for each, outcome in zip(cancellations, outcomes, strict=True):
            if each.actor is not None and isinstance(outcome, StatusOutcome) and outcome.has_moved:
                transaction = outcome.transaction
                await audit_log.append(
                    tx,
                    each.actor,
                    "payment.cancelled",
                    now=now,
                    merchant_id=each.merchant_id,
                    transaction=transaction.id,
                )
        return [_answer(outcome) for outcome in outcomes]


class AskedFirst(Conflict):
    code = "not_cancellable"

    def __init__(self) -> None:
        super().__init__(
            "It cannot be cancelled yet: the service was restored from a backup, and this payment may have been sent "
            "before. The service asks the network whether it was; if the network cannot say, the operators of the "
            "service decide. Try again in some minutes."
        )


def _answer(outcome: StatusOutcome | Refusal | None) -> StatusOutcome | Refusal:
    if outcome is None:
        return NoSuchTransaction()
    if isinstance(outcome, Refusal):
        return outcome
    # Cancelling what is already cancelled is no error: the merchant has what they want.
    if outcome.transaction.status is Status.CANCELLED:
        return outcome
    return NotCancellable(outcome.transaction.status)
