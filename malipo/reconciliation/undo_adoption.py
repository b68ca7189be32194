"""Undoes an adoption: the payment was not that merchant's. It is corrected as one that was not paid after all."""

from datetime import datetime

from malipo import ids
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.payments.apply_resolution import apply, write_audit_log
from malipo.payments.resolution import ResolvedOutcome
from malipo.payments.resolve import lock_case
from malipo.payments.store import adopted_payments, cases
from malipo.payments.store.cases import Proposal
from malipo.reconciliation.store import payments


async def undo_adoption(tx: Tx, line_id: int, *, evidence: str, requested_by: str, actor: Actor, now: datetime) -> None:
    payment = await payments.find_of_line(tx, line_id)
    assert payment is not None, "an adopted line has its payment"
    await adopted_payments.set_undone(tx, payment, now=now)
    case = await lock_case(tx, payment.reference)
    if (open_ := await cases.find_proposal(tx, case.transaction)) is not None:
        # What an operator had proposed about it as a case is decided by this.
        await cases.end_proposal(tx, open_.id, decided_by=actor.name, is_approved=False, now=now)
        await write_audit_log(tx, actor, "payment.resolution_rejected", case.transaction, open_, now=now)
    proposal = Proposal(
        id=ids.mint("res_", now),
        outcome=ResolvedOutcome.FAILED,
        evidence=evidence,
        provider_reference=None,
        requested_by=requested_by,
        is_of_contradiction=True,
        is_despite_waiting=False,
        is_waived=False,
        requested_at=now,
    )
    await cases.insert_proposal(tx, case.transaction, proposal)
    await apply(tx, case, proposal, actor=actor, now=now, follow_up_seconds=0)
