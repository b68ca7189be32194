"""Proposals: one operator proposes an act that takes two, and another approves or rejects it. All such acts use these.

What an operator is shown, and what an approved act does, belong to the act: it locks what the proposal is about, calls
`approve`, and applies it in the same transaction. What was done is in the audit log by the act's own words, because one
operator alone may do the same below the amount.
"""

import base64
import hashlib
from collections.abc import Awaitable, Callable, Collection, Mapping
from datetime import datetime

import msgspec

from malipo.approvals import moved_alone, store
from malipo.approvals.act_rules import Act
from malipo.approvals.moved_alone import require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import SYSTEM_NAME, Actor
from malipo.db import Tx
from malipo.errors import Code, Conflict, Missing
from malipo.operators import vouching

_CODE_LENGTH = 10  # 50 bits


class ApprovalRefusal(Code):
    CHANGED = "approval_changed"
    NOTHING_PROPOSED = "approval_nothing_proposed"
    ALREADY_PROPOSED = "approval_already_proposed"


class AlreadyProposed(Conflict):
    """One at a time is open about a thing."""


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
    """Store it. `family` are the acts of which at most one may be open about the same subject, if it is not only this.

    The caller has locked the subject. The database refuses a second open proposal of the same act.
    """
    if proposal.requested_by == actor.name:
        require_operator(actor)
    await require_none_open(tx, family or [proposal.action], proposal.subject)
    await store.insert(tx, proposal)
    await _note(tx, proposal, note, details, actor=actor, now=proposal.requested_at)
    return proposal


async def require_none_open(tx: Tx, acts: Collection[Act], subject: str) -> None:
    """Also of who could do it alone: what waits is decided first."""
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
    """End a proposal as approved, by another operator than its proposer, or by the only operator there is.

    The caller has locked the proposal, and does what it proposes in this transaction. `is_single_operator` of the
    result says whether one operator has decided alone. That is false if the proposer was another operator, who has left
    since then.

    `seen` is the code of what the approver was shown, if the caller has not compared it. `shown` reads what would be
    shown now, where an act shows more than the proposal. Nothing is stored before both are the same.
    """
    require_operator(actor)
    is_alone = False
    if is_single_operator:
        await moved_alone.require_single_operator(tx, proposal.action)
        is_alone = not await vouching.are_two(tx, proposed_by=proposal.requested_by, approver=actor, now=now)
    else:
        await vouching.require_two(tx, proposed_by=proposal.requested_by, approver=actor, now=now)
    if seen is not None:
        require_seen(seen, code_of(proposal) if shown is None else await shown())
    return await _end(tx, proposal, actor.name, True, now=now, is_single_operator=is_alone)


async def reject(
    tx: Tx, proposal: Proposal, note: str, details: Mapping[str, object], *, actor: Actor, now: datetime
) -> Proposal:
    """Disagree with a proposal, or take one's own back. The same can then be proposed again."""
    require_operator(actor)
    ended = await _end(tx, proposal, actor.name, False, now=now)
    await _note(tx, proposal, note, details, actor=actor, now=now)
    return ended


async def end_by_system(tx: Tx, proposal: Proposal, *, now: datetime) -> Proposal:
    """What it is about is gone, or was decided in another way."""
    return await _end(tx, proposal, SYSTEM_NAME, False, now=now)


async def lock_open(tx: Tx, acts: Collection[Act], subject: str, nothing: NothingProposed | None = None) -> Proposal:
    """The one that is open about it, locked until the commit."""
    if found := await store.lock_open(tx, acts, subject):
        return found[-1]
    raise nothing or NothingProposed()


def encode(terms: object) -> str:
    """Terms of a proposal: a struct of the act's own room, as JSON."""
    return msgspec.json.encode(terms).decode()


def code_of(proposal: Proposal, *shown: object) -> str:
    """A short code of what an approver is shown: the proposal, and what the act shows of its subject. Pages carry it in
    their forms, and people type it at the command line.

    What does not matter to the decision is left out by the act: times, and balances that others change. Nobody can
    choose the code of a proposal, because its id is drawn at random when it is made.
    """
    terms = msgspec.json.decode(proposal.terms)
    proposed = (proposal.id, proposal.action, proposal.subject, proposal.amount, terms, proposal.reason)
    whole = msgspec.json.encode((proposed, proposal.requested_by, shown), order="deterministic")
    return base64.b32encode(hashlib.sha256(whole).digest()).decode().lower()[:_CODE_LENGTH]


def require_seen(seen: str | None, shown: str, changed: Conflict | None = None) -> None:
    """Refuse who has seen something else than what would be shown now. None: the caller has compared it."""
    if seen not in (None, shown):
        raise changed or Conflict(code=ApprovalRefusal.CHANGED)


async def _end(
    tx: Tx, proposal: Proposal, by: str, is_approved: bool, *, now: datetime, is_single_operator: bool = False
) -> Proposal:
    await store.end(tx, proposal.id, by=by, is_approved=is_approved, now=now, is_single_operator=is_single_operator)
    return msgspec.structs.replace(
        proposal, decided_by=by, decided_at=now, is_approved=is_approved, is_single_operator=is_single_operator
    )


async def _note(
    tx: Tx, proposal: Proposal, what: str, details: Mapping[str, object], *, actor: Actor, now: datetime
) -> None:
    await audit_log.append(tx, actor, what, now=now, **details, proposed_by=proposal.requested_by)  # type: ignore[arg-type]
