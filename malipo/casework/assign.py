"""Assigns a case or an exception to an operator, until a day. A later assignment replaces it; the audit log keeps both.
Any manager may still decide.
"""

from datetime import date, datetime

from malipo import clock
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.casework.store import assignments
from malipo.casework.store.assignments import Assignment
from malipo.casework.subject import CaseworkSubject
from malipo.db import Tx
from malipo.errors import Code, Invalid
from malipo.operators import store as operators
from malipo.operators.login import name_of
from malipo.operators.require_acting import require_acting
from malipo.operators.roles import Role


class AssignmentRefusal(Code):
    NO_MANAGER = "assignment_no_manager"
    OVER = "assignment_over"


async def assign(
    tx: Tx, subject: CaseworkSubject, owner: str, due_on: date | None, *, actor: Actor, now: datetime
) -> Assignment | None:
    """The caller has found the subject. Without an owner and a day nobody looks after it any more."""
    await require_acting(tx, actor)
    before = await assignments.lock(tx, subject.id)
    name = name_of(owner)
    if name and not (before is not None and before.owner == name):
        operator = await operators.find_operator(tx, name)
        if operator is None or operator.role is not Role.MANAGER:
            raise Invalid(code=AssignmentRefusal.NO_MANAGER, name=owner)
    is_new_day = before is None or before.due_on != due_on
    if due_on is not None and is_new_day and due_on < clock.day_of(now):
        raise Invalid(code=AssignmentRefusal.OVER)
    after = Assignment(subject.id, name or None, due_on) if name or due_on else None
    if after == before:
        return after
    if after is None:
        await assignments.delete(tx, subject.id)
    else:
        await assignments.put(tx, after, subject.merchant_id, set_by=actor.name, now=now)
    await audit_log.append(
        tx,
        actor,
        "assignment.changed",
        now=now,
        merchant_id=subject.merchant_id,
        subject=subject.id,
        owner=after.owner if after else None,
        due=str(after.due_on) if after and after.due_on else None,
        owner_before=before.owner if before else None,
        due_before=str(before.due_on) if before and before.due_on else None,
    )
    return after
