"""Proposals: one operator proposes an act that takes two, and another approves or rejects it. All such acts use these.

The act itself decides what the operators are shown and what an approval does: its code locks the subject, calls
`approve`, and applies the act in the same transaction. The audit log names the act itself and not the approval, because
one operator alone may do the same act below the approval amount. When two operators are two: `operators/four_eyes.py`.
"""

import base64
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime

import msgspec
from msgspec.structs import replace

from malipo.approvals import moved_alone, store
from malipo.approvals.act_rules import Act
from malipo.approvals.moved_alone import require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import SYSTEM_NAME, Actor, plain_name
from malipo.db import Tx
from malipo.errors import Code, Conflict, Missing
from malipo.messages import write
from malipo.messages.kinds import MessageKind
from malipo.operators import four_eyes
from malipo.operators.require_acting import require_acting

_CODE_LENGTH = 10  # 50 bits


class ApprovalRefusal(Code):
    CHANGED = "approval_changed"
    NOTHING_PROPOSED = "approval_nothing_proposed"
    ALREADY_PROPOSED = "approval_already_proposed"


class AlreadyProposed(Conflict):
    """Another proposal about the same subject is open."""


class NothingProposed(Missing):
    code = ApprovalRefusal.NOTHING_PROPOSED


async def propose(
    tx: Tx,
    proposal: Proposal,
    note: str,
    details: Mapping[str, object],
    *,
    actor: Actor,
    family: Collection[Act] = (),
) -> Proposal:
    """Store a proposal. Of the acts in `family` (by default only this act) at most one may be open about a subject.

    The caller has locked the subject. The database refuses a second open proposal of the same act.
    """
    if proposal.requested_by == actor.name:
        require_operator(actor)
        await require_acting(tx, actor)
    await require_none_open(tx, family or [proposal.action], proposal.subject)
    await store.insert(tx, proposal)
    await _note(tx, proposal, note, details, actor=actor, now=proposal.requested_at)
    by = plain_name(proposal.requested_by)
    await write.to_operators(
        tx, MessageKind.PROPOSAL_WAITING, {"act": proposal.action, "by": by}, now=proposal.requested_at, except_name=by
    )
    return proposal


async def require_none_open(tx: Tx, acts: Collection[Act], subject: str) -> None:
    """Refuse an act while a proposal about the subject is open, also if one operator could do it alone."""
    for earlier in await store.lock_open(tx, acts, subject):
        raise AlreadyProposed(code=ApprovalRefusal.ALREADY_PROPOSED, by=earlier.requested_by)


async def approve(
    tx: Tx,
    proposal: Proposal,
    *,
    actor: Actor,
    now: datetime,
    seen: str | None = None,
    shown: Callable[[], Awaitable[str]] | None = None,
    is_single_operator: bool = False,
) -> Proposal:
    """End a proposal as approved, by another operator than its proposer, or by the only operator.

    The caller has locked the proposal, and applies it in this transaction. `is_single_operator` of the result is true
    if one operator decided alone: not if the proposer was another operator, who has left since.

    `seen` is the code of the facts that the approver was shown; None if the caller has compared it. `shown` computes
    the code of the facts as they are now, if the act shows more than the proposal. Nothing is stored unless they are
    equal.
    """
    require_operator(actor)
    await require_acting(tx, actor)
    is_alone = False
    if is_single_operator:
        await moved_alone.require_single_operator(tx, proposal.action)
        is_alone = not await four_eyes.are_two(tx, proposed_by=proposal.requested_by, approver=actor, now=now)
    else:
        await four_eyes.require_two(tx, proposed_by=proposal.requested_by, approver=actor, now=now)
    if seen is not None:
        require_seen(seen, code_of(proposal) if shown is None else await shown())
    return await _end(tx, proposal, actor.name, True, now=now, is_single_operator=is_alone)


async def reject(
    tx: Tx, proposal: Proposal, note: str, details: Mapping[str, object], *, actor: Actor, now: datetime
) -> Proposal:
    """Reject a proposal, or withdraw one's own. The same can then be proposed again."""
    require_operator(actor)
    await require_acting(tx, actor)
    ended = await _end(tx, proposal, actor.name, False, now=now)
    await _note(tx, proposal, note, details, actor=actor, now=now)
    return ended


async def end_by_system(tx: Tx, proposal: Proposal, *, now: datetime) -> Proposal:
    """End a proposal whose subject is gone, or was decided in another way."""
    return await _end(tx, proposal, SYSTEM_NAME, False, now=now)


async def lock_open(tx: Tx, acts: Collection[Act], subject: str, nothing: NothingProposed | None = None) -> Proposal:
    """Lock the open proposal about a subject until the commit."""
    if found := await store.lock_open(tx, acts, subject):
        return found[-1]
    raise nothing or NothingProposed()


def encode(terms: object) -> str:
    """The terms of a proposal, a struct of the act's own package, as JSON."""
    return msgspec.json.encode(terms).decode()


def code_of(proposal: Proposal, *shown: object) -> str:
    """A short code of the facts that an approver is shown: the proposal, and the act's facts about its subject. Pages
    carry it in their forms, and people type it at the command line.

    The act leaves out facts that do not matter to the decision: times, and balances that others change. Nobody can
    choose the code of a proposal, because its id is random.
    """
    terms = msgspec.json.decode(proposal.terms)
    proposed = (proposal.id, proposal.action, proposal.subject, proposal.amount, terms, proposal.reason)
    whole = msgspec.json.encode((proposed, proposal.requested_by, shown), order="deterministic")
    return base64.b32encode(hashlib.sha256(whole).digest()).decode().lower()[:_CODE_LENGTH]


def require_seen(seen: str | None, shown: str, changed: Conflict | None = None) -> None:
    """Refuse an approver who was shown other facts than would be shown now. None: the caller has compared them."""
    if seen not in (None, shown):
        raise changed or Conflict(code=ApprovalRefusal.CHANGED)


async def _end(
    tx: Tx, proposal: Proposal, by: str, is_approved: bool, *, now: datetime, is_single_operator: bool = False
) -> Proposal:
    await store.end(tx, proposal.id, by=by, is_approved=is_approved, now=now, is_single_operator=is_single_operator)
    return replace(
        proposal, decided_by=by, decided_at=now, is_approved=is_approved, is_single_operator=is_single_operator
    )


async def _note(
    tx: Tx, proposal: Proposal, what: str, details: Mapping[str, object], *, actor: Actor, now: datetime
) -> None:
    await audit_log.append(tx, actor, what, now=now, **details, proposed_by=proposal.requested_by)  # type: ignore[arg-type]
