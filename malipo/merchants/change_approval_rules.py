"""Changes a merchant's approval rules. The caller has asked an owner for the password.

Stricter rules hold at once. Weaker rules (no second person, a higher amount, no amount) wait, like an account that
another person has reset: until another owner confirms them, or for the cooling time, in which every owner sees them and
can withdraw them. Otherwise one owner could turn the rule off, pay, and turn it on again.
"""

from datetime import datetime

from malipo.accounts import four_eyes as pairs
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Code, Conflict, Forbidden
from malipo.merchants import four_eyes
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
    """Change the rules. Returns whether all of them hold now; otherwise the weaker part waits, in place of earlier
    waiting rules."""
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
    """Confirm the waiting rules as a second owner. `seen` is their time of request, as the page has shown it."""
    _, waiting = await approval_rules.lock(tx, merchant_id, now=now)
    if waiting is None or waiting.requested_at != seen:
        raise NothingWaits
    found = await four_eyes.find_open(tx, merchant_id, now=now)
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
