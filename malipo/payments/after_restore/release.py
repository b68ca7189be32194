"""Releases a restored installation, so that it sends again. A release needs evidence and two operators, or the only
one.

A channel whose network has no status query is released separately, after operators have checked the network's statement
of the lost time.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from malipo import ids, typed_reason
from malipo.approvals import decide, moved_alone
from malipo.approvals import store as proposals
from malipo.approvals.act_rules import Act
from malipo.approvals.decide import NothingProposed
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Conn, Tx
from malipo.errors import Code, Conflict, Invalid
from malipo.payments.after_restore import status
from malipo.payments.after_restore.status import RestoreStatus
from malipo.payments.store import asked_first
from malipo.restore.installation import Installation
from malipo.restore.store import installation

Scope = tuple[str, str] | None  # a channel and a type of payment; none: the installation itself


class ReleaseRefusal(Code):
    EVIDENCE = "release_evidence"
    NOTHING_PROPOSED = "release_nothing_proposed"
    NOT_FENCED = "release_not_fenced"
    NEVER_RESTORED = "release_never_restored"


class ReleaseTerms(msgspec.Struct, frozen=True, kw_only=True):
    """The channel to release; without a channel, the installation."""

    epoch: int
    channel: str | None = None
    type: str | None = None

    @property
    def subject(self) -> str:
        return " ".join(str(each) for each in (self.epoch, self.channel, self.type) if each is not None)


class ProposedRelease(ReleaseTerms, frozen=True, kw_only=True):
    id: str
    evidence: str
    requested_by: str
    requested_at: datetime


@dataclass(frozen=True, slots=True)
class ReleaseResult:
    is_done: bool  # False while a second operator has to approve
    epoch: int
    payments: int = 0  # of a channel, that may be sent now


async def release(
    tx: Tx,
    evidence: str,
    scope: Scope = None,
    *,
    actor: Actor,
    now: datetime,
    seen: str | None = None,
    is_single_operator: bool = False,
) -> ReleaseResult:
    """Propose it, or approve what another operator has proposed; `seen` is the code of what they were shown."""
    if not typed_reason.is_within(evidence, typed_reason.EVIDENCE):
        raise Invalid(code=ReleaseRefusal.EVIDENCE)
    state = await installation.lock(tx)
    _require_something(state, scope)
    if is_single_operator:
        await moved_alone.require_single_operator(tx, Act.RELEASE)
    channel, type_ = scope or (None, None)
    proposed = await find_release(tx, state.epoch, channel, type_)
    if proposed is None:
        terms = ReleaseTerms(epoch=state.epoch, channel=channel, type=type_)
        proposed = await _propose(tx, terms, evidence, actor=actor, now=now)
        if not is_single_operator:
            return ReleaseResult(False, state.epoch)
        seen = None  # They have just proposed it.
    decided = await decide.approve(
        tx,
        proposed,
        actor=actor,
        now=now,
        seen=seen,
        shown=lambda: _find_code(tx, proposed),
        is_single_operator=is_single_operator,
    )
    details = _details(proposed, evidence) | {"proposed_by": proposed.requested_by, "alone": decided.is_single_operator}
    await audit_log.append(tx, actor, "installation.released", now=now, **details)
    if channel is None or type_ is None:
        await asked_first.ask_first_what_came_late(tx)
        await installation.end_fence(tx)
        return ReleaseResult(True, state.epoch)
    await installation.release_channel(tx, state.epoch, channel, type_)
    return ReleaseResult(True, state.epoch, await asked_first.release_asked_first(tx, channel, type_))


def code_of(proposal: Proposal, found: RestoreStatus) -> str:
    """The code of what an approver is shown: the proposal, and the payments that are released. Of a channel, those
    that wait; of the installation, those that need a person, because the networks are asked about the others and end
    some. Pure."""
    terms, state = proposal.terms_as(ReleaseTerms), found.installation
    if terms.channel is not None and terms.type is not None:
        return decide.code_of(proposal, sums_of(found, (terms.channel, terms.type)))
    under_review = [each for each in found.open if each.review_reason]
    doubted = [(each.channel, each.type, each.review_reason, each.payments, each.amount) for each in under_review]
    held = [(each.channel, each.type) for each in found.holds]
    return decide.code_of(proposal, state.is_fenced, state.fence_reason, sorted(doubted), sorted(held))


async def _find_code(tx: Tx, proposal: Proposal) -> str:
    return code_of(proposal, await status.find(tx))


def sums_of(found: RestoreStatus, pair: tuple[str, str]) -> tuple[int, int]:
    """The number of waiting payments of a channel, and their amount."""
    rows = [each for each in found.open if each.is_asked_first and (each.channel, each.type) == pair]
    return sum(each.payments for each in rows), sum(each.amount for each in rows)


async def reject(tx: Tx, scope: Scope = None, *, actor: Actor, now: datetime) -> ReleaseResult:
    """Reject a proposal, or withdraw one's own. Nothing is sent; it can be proposed again."""
    state = await installation.lock(tx)
    proposed = await find_release(tx, state.epoch, *(scope or (None, None)))
    if proposed is None:
        raise NothingProposed(code=ReleaseRefusal.NOTHING_PROPOSED)
    details = _details(proposed, proposed.reason)
    await decide.reject(tx, proposed, "installation.release_rejected", details, actor=actor, now=now)
    return ReleaseResult(False, state.epoch)


def _require_something(state: Installation, scope: Scope) -> None:
    if scope is None and not state.is_fenced:
        raise Conflict(code=ReleaseRefusal.NOT_FENCED)
    if scope is not None and state.epoch == 1:
        raise Conflict(code=ReleaseRefusal.NEVER_RESTORED)


async def _propose(tx: Tx, terms: ReleaseTerms, evidence: str, *, actor: Actor, now: datetime) -> Proposal:
    for each in await proposals.find_open(tx, [Act.RELEASE]):
        if proposed_release(each).epoch != terms.epoch:  # The database was restored again since.
            await decide.end_by_system(tx, each, now=now)
    proposal = Proposal(
        id=ids.mint("rel_", now),
        action=Act.RELEASE,
        subject=terms.subject,
        amount=0,
        terms=decide.encode(terms),
        reason=evidence,
        requested_by=actor.name,
        requested_at=now,
    )
    details = _details(proposal, evidence)
    return await decide.propose(tx, proposal, "installation.release_proposed", details, actor=actor)


def _details(proposal: Proposal, evidence: str) -> dict[str, Any]:
    terms = proposal.terms_as(ReleaseTerms)
    return {"epoch": terms.epoch, "channel": terms.channel, "type": terms.type, "evidence": evidence}


async def find_release(tx: Tx, epoch: int, channel: str | None, type_: str | None) -> Proposal | None:
    """The open proposal, locked until the commit."""
    subject = ReleaseTerms(epoch=epoch, channel=channel, type=type_).subject
    return next(iter(await proposals.lock_open(tx, [Act.RELEASE], subject)), None)


async def find_proposed_releases(connection: Conn, epoch: int) -> list[ProposedRelease]:
    """All that is proposed in an epoch, and not decided yet."""
    found = [proposed_release(each) for each in await proposals.find_open(connection, [Act.RELEASE])]
    return [each for each in found if each.epoch == epoch]


def proposed_release(proposal: Proposal) -> ProposedRelease:
    return ProposedRelease(
        id=proposal.id,
        evidence=proposal.reason,
        requested_by=proposal.requested_by,
        requested_at=proposal.requested_at,
        **msgspec.structs.asdict(proposal.terms_as(ReleaseTerms)),
    )
