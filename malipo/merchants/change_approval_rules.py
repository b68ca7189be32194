"""Changes what a merchant has set about approvals. The caller has asked an owner for the password."""

from datetime import datetime

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.merchants.store import approval_rules
from malipo.merchants.store.approval_rules import ApprovalRules


async def change_approval_rules(tx: Tx, merchant_id: str, rules: ApprovalRules, *, actor: Actor, now: datetime) -> None:
    before = await approval_rules.lock(tx, merchant_id)
    if rules == before:
        return
    await approval_rules.save(tx, merchant_id, rules)
    await audit_log.append(
        tx,
        actor,
        "approval.rules_changed",
        now=now,
        merchant_id=merchant_id,
        takes_two=rules.takes_two,
        **({} if rules.above is None else {"above": rules.above}),
    )
