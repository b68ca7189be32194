"""Approves another operator's proposal about a payment, if the approver is not a source of one of its lines."""

from datetime import datetime

from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.payments.cases import resolve
from malipo.payments.cases.resolution import ResolutionResult
from malipo.payments.cases.resolve import FOLLOW_UP_SECONDS
from malipo.payments.store import cases
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.store import single_matches


async def approve_case(
    tx: Tx,
    id_or_reference: str,
    *,
    actor: Actor,
    now: datetime,
    follow_up_seconds: float = FOLLOW_UP_SECONDS,
    seen: str | None = None,
    expected: str | None = None,
    is_single_operator: bool = False,
) -> ResolutionResult:
    """Approve a case as `resolve.approve` does, with one more check: refuse an approver whose file has a line on which
    the proposer may rely. Otherwise one person could fill both roles."""
    transaction = (await resolve.lock_case(tx, id_or_reference)).transaction
    proposal = await cases.lock_proposal(tx, transaction)
    if proposal is not None and not is_single_operator:
        for line_id in await single_matches.find_lines_of_payment(tx, transaction.merchant_id, transaction.id):
            await import_approval.require_not_source(tx, line_id, proposal, actor=actor, now=now)
    return await resolve.approve(
        tx,
        id_or_reference,
        actor=actor,
        now=now,
        follow_up_seconds=follow_up_seconds,
        seen=seen,
        expected=expected,
        is_single_operator=is_single_operator,
    )
