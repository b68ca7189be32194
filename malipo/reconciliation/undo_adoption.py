"""Undoes an adoption: the payment was not that merchant's. It is corrected as one that was not paid after all."""

from datetime import datetime

from malipo import ids
from malipo.approvals import decide
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.payments.apply_resolution import apply, audit_details
from malipo.payments.resolution import ResolvedOutcome
from malipo.payments.resolve import lock_case
from malipo.payments.store import adopted_payments, cases
from malipo.payments.store.cases import ProposedResolution, proposed_resolution
from malipo.reconciliation.store import payments


async def undo_adoption(tx: Tx, line_id: int, *, evidence: str, requested_by: str, actor: Actor, now: datetime) -> None:
    payment = await payments.find_of_line(tx, line_id)
    assert payment is not None, "an adopted line has its payment"
    await adopted_payments.set_undone(tx, payment, now=now)
    case = await lock_case(tx, payment.reference)
    if (open_ := await cases.lock_proposal(tx, case.transaction)) is not None:
        # What an operator had proposed about it as a case is decided by this.
        details = audit_details(case.transaction, proposed_resolution(open_))
        await decide.reject(tx, open_, "payment.resolution_rejected", details, actor=actor, now=now)
    resolution = ProposedResolution(
        id=ids.mint("res_", now),
        merchant_id=case.transaction.merchant_id,
        outcome=ResolvedOutcome.FAILED,
        evidence=evidence,
        requested_by=requested_by,
        is_of_contradiction=True,
        requested_at=now,
    )
    await apply(tx, case, resolution, actor=actor, now=now, follow_up_seconds=0)
