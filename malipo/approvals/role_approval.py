"""The role of an operator, which two other operators give. Nobody decides about their own role: who only reads cannot
raise themselves, and who acts cannot be made to agree to be alone.

Before any operator has a password, the installer gives roles at once.
"""

from datetime import datetime

import msgspec

from malipo import ids, typed_reason
from malipo.approvals import decide, moved_alone
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import Act
from malipo.approvals.decide import NothingProposed
from malipo.approvals.moved_alone import Deciders
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor, operator_at
from malipo.db import Conn, Tx
from malipo.errors import Code, Conflict, Forbidden, Invalid, Missing
from malipo.operators import store as operators
from malipo.operators.login import LoginRefusal, name_of
from malipo.operators.roles import Role
from malipo.operators.store import Operator


class RoleTerms(msgspec.Struct, frozen=True, kw_only=True):
    role: Role
    before: Role


class RoleApprovalRefusal(Code):
    OWN = "role_own"
    SAME = "role_same"
    REASON = "role_reason"
    NOTHING_WAITS = "role_nothing_waits"


async def request(
    tx: Tx,
    name: str,
    role: Role,
    reason: str,
    *,
    actor: Actor,
    now: datetime,
    is_single_operator: bool = False,
) -> Proposal | None:
    """Propose the role; None: it is given already, because one was enough."""
    if not typed_reason.is_within(reason, typed_reason.REASON):
        raise Invalid(code=RoleApprovalRefusal.REASON)
    if actor.is_operator:
        await moved_alone.lock(tx, actor.name)
    operator = await _lock(tx, name)
    _require_another(operator, actor)
    if operator.role is role:
        raise Conflict(code=RoleApprovalRefusal.SAME, name=operator.name)
    await decide.require_none_open(tx, [Act.GIVE_ROLE], operator.name)
    if not actor.is_operator:
        await _give(tx, operator, role, {"reason": reason}, actor=actor, now=now)
        return None
    deciders = await moved_alone.count_unless_two(
        tx,
        Act.GIVE_ROLE,
        0,
        operator=actor.name,
        subject=operator.name,
        approval_amount=0,
        now=now,
        is_single_operator=is_single_operator,
    )
    if deciders is not Deciders.TWO:
        noted = {"reason": reason} | audit_log.alone(deciders is Deciders.SINGLE_OPERATOR)
        await _give(tx, operator, role, noted, actor=actor, now=now)
        return None
    proposal = Proposal(
        id=ids.mint("rol_", now),
        action=Act.GIVE_ROLE,
        subject=operator.name,
        amount=0,
        terms=decide.encode(RoleTerms(role=role, before=operator.role)),
        reason=reason,
        requested_by=actor.name,
        requested_at=now,
    )
    return await decide.propose(tx, proposal, "operator.role_proposed", _details(proposal), actor=actor)


async def approve(
    tx: Tx, name: str, *, actor: Actor, now: datetime, seen: str | None = None, is_single_operator: bool = False
) -> Role:
    """Approve another operator's proposal, and give the role. `seen` is the code of what the approver was shown."""
    operator = await _lock(tx, name)
    found = await lock_open(tx, operator.name)
    _require_another(operator, actor)
    decided = await decide.approve(tx, found, actor=actor, now=now, seen=seen, is_single_operator=is_single_operator)
    terms = found.terms_as(RoleTerms)
    noted = {"reason": found.reason, "proposed_by": found.requested_by} | audit_log.alone(decided.is_single_operator)
    await _give(tx, operator, terms.role, noted, actor=actor, now=now)
    return terms.role


async def reject(tx: Tx, name: str, *, actor: Actor, now: datetime) -> Proposal:
    """Reject a proposal, or withdraw one's own."""
    operator = await _lock(tx, name)
    found = await lock_open(tx, operator.name)
    _require_another(operator, actor)
    return await decide.reject(tx, found, "operator.role_rejected", _details(found), actor=actor, now=now)


async def lock_open(tx: Tx, name: str) -> Proposal:
    nothing = NothingProposed(code=RoleApprovalRefusal.NOTHING_WAITS)
    return await decide.lock_open(tx, [Act.GIVE_ROLE], name_of(name), nothing)


async def find_open(connection: Conn) -> list[Proposal]:
    return await proposals.find_open(connection, [Act.GIVE_ROLE])


async def _lock(tx: Tx, name: str) -> Operator:
    operator = await operators.lock_operator(tx, name_of(name))
    if operator is None:
        raise Missing(code=LoginRefusal.NO_SUCH, name=name)
    return operator


def _require_another(operator: Operator, actor: Actor) -> None:
    if actor.name == operator_at(operator.name, "").name:
        raise Forbidden(code=RoleApprovalRefusal.OWN)


async def _give(
    tx: Tx, operator: Operator, role: Role, noted: dict[str, object], *, actor: Actor, now: datetime
) -> None:
    """What they see on an open page may be more than they may see now, so their sessions end."""
    await operators.set_role(tx, operator.id, role)
    await operators.end_all(tx, operator.id, now=now)
    details = {"name": operator.name, "role": role.value, "role_before": operator.role.value}
    await audit_log.append(tx, actor, "operator.role_given", now=now, **details, **noted)  # type: ignore[arg-type]


def _details(proposal: Proposal) -> dict[str, object]:
    terms = proposal.terms_as(RoleTerms)
    return {"name": proposal.subject, "role": terms.role, "role_before": terms.before, "reason": proposal.reason}
