"""Releases a restored installation, so that it sends again. It takes evidence and two operators, or the only one.

A channel whose network has no status query is released by itself, when operators have checked the network's statement
of the lost time.
"""

from dataclasses import dataclass
from datetime import datetime

from malipo import ids
from malipo.approvals import moved_alone
from malipo.approvals.acts import Act
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, Invalid, Missing
from malipo.installation.state import Installation
from malipo.installation.store import installation
from malipo.operators import vouching
from malipo.payments.store import dispatch_restore
from malipo.restore import store
from malipo.restore.store import Release

Scope = tuple[str, str] | None  # a channel and a type of payment; none: the installation itself


@dataclass(frozen=True, slots=True)
class Released:
    is_done: bool  # False while a second operator has to approve
    epoch: int
    payments: int = 0  # of a channel, that may be sent now


async def release(
    tx: Tx, evidence: str, scope: Scope = None, *, actor: Actor, now: datetime, is_single_operator: bool = False
) -> Released:
    """Propose it, or approve what another operator has proposed."""
    if not 10 <= len(evidence) <= 1000 or not evidence.isprintable():
        raise Invalid("The evidence says what you have looked at, in 10 to 1,000 characters.")
    standing = await installation.lock(tx)
    _require_something(standing, scope)
    if is_single_operator:
        await moved_alone.require_single_operator(tx, Act.RELEASE)
    channel, type_ = scope or (None, None)
    proposed = await store.find_release(tx, standing.epoch, channel, type_)
    if proposed is None:
        proposed = Release(ids.mint("rel_", now), standing.epoch, channel, type_, evidence, actor.name, now)
        await store.insert_release(tx, proposed)
        await _note(tx, actor, "installation.release_proposed", proposed, evidence, now=now)
        if not is_single_operator:
            return Released(False, standing.epoch)
    elif not is_single_operator:
        await vouching.require_two(tx, proposed_by=proposed.requested_by, approver=actor, now=now)
    await store.approve_release(tx, proposed.id, approved_by=actor.name, is_single_operator=is_single_operator, now=now)
    await _note(tx, actor, "installation.released", proposed, evidence, now=now, alone=is_single_operator)
    if channel is None or type_ is None:
        await dispatch_restore.ask_first_what_came_late(tx)
        await installation.end_fence(tx)
        return Released(True, standing.epoch)
    await store.release_channel(tx, standing.epoch, channel, type_)
    return Released(True, standing.epoch, await dispatch_restore.release_asked_first(tx, channel, type_))


async def reject(tx: Tx, scope: Scope = None, *, actor: Actor, now: datetime) -> Released:
    """Reject a proposal, or withdraw one's own. Nothing is sent; it can be proposed again."""
    standing = await installation.lock(tx)
    proposed = await store.find_release(tx, standing.epoch, *(scope or (None, None)))
    if proposed is None:
        raise Missing("Nobody has proposed that sending begins.")
    await store.end_proposed_release(tx, proposed.id)
    await _note(tx, actor, "installation.release_rejected", proposed, proposed.evidence, now=now)
    return Released(False, standing.epoch)


def _require_something(standing: Installation, scope: Scope) -> None:
    if scope is None and not standing.is_fenced:
        raise Conflict("The installation is not fenced: there is nothing to release.")
    if scope is not None and standing.epoch == 1:
        raise Conflict("The installation was never restored: there is nothing to release.")


async def _note(
    tx: Tx, actor: Actor, what: str, release: Release, evidence: str, *, now: datetime, alone: bool = False
) -> None:
    await audit_log.append(
        tx,
        actor,
        what,
        now=now,
        epoch=release.epoch,
        channel=release.channel,
        type=release.type,
        evidence=evidence,
        proposed_by=release.requested_by,
        alone=alone,
    )
