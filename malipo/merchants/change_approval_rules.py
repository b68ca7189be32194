"""Changes what a merchant has set about approvals. The caller has asked an owner for the password.

What is stricter holds at once. What is weaker (the second person switched off, a higher amount, no amount) waits, as
an account does that somebody else has reset: until another owner confirms it, or for the cooling time, in which every
owner sees it and can take it back. Else one owner switches the rule off, pays, and switches it on again.
"""

from datetime import datetime

from malipo.accounts import vouching as pairs
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Code, Conflict, Forbidden
from malipo.merchants import vouching
from malipo.merchants.store import approval_rules
from malipo.merchants.store.approval_rules import ApprovalRules


class RulesRefusal(Code):
    NEED_ANOTHER_OWNER = "rules_need_another_owner"
    NONE_WAIT = "no_rules_wait"


class NotAnotherOwner(Forbidden):
    code = RulesRefusal.NEED_ANOTHER_OWNER


class NothingWaits(Conflict):
    code = RulesRefusal.NONE_WAIT


async def change_approval_rules(tx: Tx, merchant_id: str, rules: ApprovalRules, *, actor: Actor, now: datetime) -> bool:
    """Whether all of it holds now; else the rest waits. What waited before no longer does."""
    before, waiting = await approval_rules.lock(tx, merchant_id, now=now)
    if waiting is not None and waiting.rules == rules:
        return False
    at_once = before.stricter(rules)
    await approval_rules.save(tx, merchant_id, at_once)
    if at_once != before or (waiting is not None and at_once == rules):
        await _note(tx, "approval.rules_changed", merchant_id, at_once, actor=actor, now=now)
    if at_once == rules:
        return True
    await approval_rules.insert_waiting(tx, merchant_id, rules, requested_by=actor.name, now=now)
    await _note(tx, "approval.rules_requested", merchant_id, rules, actor=actor, now=now)
    return False


async def confirm_approval_rules(tx: Tx, merchant_id: str, seen: datetime, *, actor: Actor, now: datetime) -> None:
    """A second owner agrees with the rules that wait, of which a page has shown when they were asked for."""
    _, waiting = await approval_rules.lock(tx, merchant_id, now=now)
    if waiting is None or waiting.requested_at != seen:
        raise NothingWaits
    found = await vouching.find_open(tx, merchant_id, now=now)
    if not pairs.are_two(found, waiting.requested_by, actor.name):
        raise NotAnotherOwner
    await approval_rules.save(tx, merchant_id, waiting.rules)
    await _note(
        tx, "approval.rules_changed", merchant_id, waiting.rules, actor=actor, now=now, asked_by=waiting.requested_by
    )


async def _note(
    tx: Tx, action: str, merchant_id: str, rules: ApprovalRules, *, actor: Actor, now: datetime, **details: object
) -> None:
    if rules.above is not None:
        details["above"] = rules.above
    await audit_log.append(tx, actor, action, now=now, merchant_id=merchant_id, takes_two=rules.takes_two, **details)
