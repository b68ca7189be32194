"""Cancels a PENDING payout that no worker sends, because its merchant is closed or its channel is not connected.

The settings of an operator's command do not decide whether a channel is connected, because a command has its own
environment: workers report which channels they carry. While no worker reports, the cancellation takes two operators.
"""

from collections.abc import Collection
from datetime import datetime

from malipo.approvals import moved_alone
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Forbidden
from malipo.networks.connector import Channel, Type
from malipo.payments.cases import resolve
from malipo.payments.cases.apply_resolution import withdraw
from malipo.payments.cases.cancellable import find_served, require_cancellable
from malipo.payments.cases.case_reason import is_unconnected
from malipo.payments.cases.resolution import CaseRefusal, OperatorFinding, ResolutionResult, ResolvedOutcome
from malipo.restore.store import installation
from malipo.restore.worker_reports import WorkerCoverage

UNREPORTED = "No worker reports which networks are connected, and the proposer's settings do not connect this one."


async def cancel(
    tx: Tx,
    id_or_reference: str,
    *,
    actor: Actor,
    now: datetime,
    unconnected: Collection[tuple[Channel, Type]] = (),
    is_single_operator: bool = False,
) -> ResolutionResult:
    """Cancel a payout of which nothing was sent. The wallet gets the money back. `unconnected` are the routes without a
    connector by the caller's settings, which may be stricter than the workers', never laxer."""
    if (closed := await installation.why_not_cancel(tx)) is not None:
        raise closed
    await moved_alone.lock(tx, actor.name)
    case = await resolve.lock_case(tx, id_or_reference)
    if case.is_merchant_active and not is_unconnected(case, unconnected):
        raise Forbidden(code=CaseRefusal.MERCHANT_CAN_CANCEL)
    await require_cancellable(tx, case)
    if case.is_merchant_active and await find_served(tx, case) is WorkerCoverage.UNKNOWN:
        return await resolve.propose(
            tx,
            id_or_reference,
            OperatorFinding(ResolvedOutcome.CANCEL, UNREPORTED),
            actor=actor,
            approval_amount=0,
            now=now,
            is_single_operator=is_single_operator,
        )
    transaction = await withdraw(tx, case.transaction, now=now)
    await audit_log.append(
        tx,
        actor,
        "payment.cancelled",
        now=now,
        merchant_id=transaction.merchant_id,
        transaction=transaction.id,
        amount=transaction.amount,
    )
    return ResolutionResult(transaction, ResolvedOutcome.CANCEL, is_done=True)
