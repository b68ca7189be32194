"""Closes a day: signs it, chains it to the day before, and never changes it. If it does not add up, two operators must
accept that.
"""

from collections.abc import Collection
from datetime import date, datetime, timedelta

import msgspec

from malipo import clock, ids, typed_reason
from malipo.approvals import decide
from malipo.approvals.act_rules import Act
from malipo.approvals.decide import NothingProposed
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.encryption import Encryption
from malipo.errors import Code, Conflict, Invalid, Problem, Refusal
from malipo.ledger.store import closed_days
from malipo.reconciliation.close import late_moves
from malipo.reconciliation.close.business_day import can_be_closed_at
from malipo.reconciliation.close.closed_day import ClosedDay
from malipo.reconciliation.close.compute_columns import ComputedClose, compute
from malipo.reconciliation.close.plain_text import lines_of
from malipo.reconciliation.close.signature import signed
from malipo.reconciliation.close.signed_content import DayClose, encode, hash_of
from malipo.reconciliation.close.signing_key import find_or_make
from malipo.reconciliation.close.store import closes, open_items
from malipo.reconciliation.close.store.closes import CloseTerms, ProposedClose, proposed_close
from malipo.reconciliation.close.store.late_moves import keep_snapshot
from malipo.reconciliation.statements.coverage import CoverageProblem


class CloseRefusal(Code):
    NOT_OVER = "close_not_over"
    OUT_OF_ORDER = "close_out_of_order"
    CLOSED = "close_closed"
    NOT_LEFT_OUT = "close_not_left_out"
    STATEMENTS_MISSING = "close_statements_missing"
    DOES_NOT_ADD_UP = "close_does_not_add_up"
    CHANGED = "close_changed"
    NOTHING_PROPOSED = "close_nothing_proposed"
    NEEDS_REASON = "close_needs_reason"
    REASON = "close_reason"


class NotOver(Refusal):
    """The day is not over, or it ended too recently."""


class OutOfOrder(Conflict):
    """The next day to close is another one."""


class AlreadyClosed(Conflict):
    """The day is closed already, and never changes."""


class StatementsMissing(Refusal):
    """A channel has moves on the day, and its statements do not cover the whole day."""


class DayDoesNotAddUp(Refusal):
    """The refusal has the differences, in shillings."""

    def __init__(self, close: DayClose) -> None:
        super().__init__(code=CloseRefusal.DOES_NOT_ADD_UP, day=close.day)
        self.close = close


async def close_day(
    tx: Tx,
    day: date,
    *,
    encryption: Encryption,
    actor: Actor,
    now: datetime,
    without: Collection[str] = (),
    reason: str = "",
    accepts_difference: bool = False,
) -> ClosedDay | ProposedClose:
    """Close the day. If it does not add up and `accepts_difference` is set, propose the close instead."""
    reason = _reason(reason, is_needed=bool(without) or accepts_difference)
    before = await _lock_next(tx, day, now=now)
    computed = await _compute(tx, day, before, without)
    if computed.close.adds_up:
        return await _store(tx, computed, before, encryption=encryption, actor=actor, now=now, reason=reason)
    if not accepts_difference:
        raise DayDoesNotAddUp(computed.close)
    return await _propose(tx, computed.close, before, without, reason, actor=actor, now=now)


async def approve(
    tx: Tx, day: date, *, encryption: Encryption, actor: Actor, now: datetime, seen: str | None = None
) -> ClosedDay:
    """Accept the difference that another operator has proposed to accept, if the close is still the same: the proposal
    has its hash. `seen` is the code of the close that the approver was shown."""
    before = await _lock_next(tx, day, now=now)
    proposal = await lock_open(tx, day)
    proposed = proposed_close(proposal)
    await decide.approve(tx, proposal, actor=actor, now=now, seen=seen)
    computed = await _compute(tx, day, before, proposed.without)
    decide.require_seen(
        proposed.hash, _hash(computed.close, before).hex(), Conflict(code=CloseRefusal.CHANGED, day=day)
    )
    return await _store(
        tx,
        computed,
        before,
        encryption=encryption,
        actor=actor,
        now=now,
        reason=proposal.reason,
        proposed_by=proposal.requested_by,
    )


async def reject(tx: Tx, day: date, *, actor: Actor, now: datetime) -> ProposedClose:
    """Reject a proposal, or withdraw one's own."""
    await closed_days.lock_for_close(tx)
    proposal = await lock_open(tx, day)
    return proposed_close(await decide.reject(tx, proposal, "day.close_rejected", {"day": day}, actor=actor, now=now))


async def preview(tx: Tx, day: date, *, without: Collection[str] = ()) -> ComputedClose:
    """Compute the close of the next day without storing it. The caller rolls back."""
    before = await closes.find_latest(tx, limit=1)
    _require_next(day, before[0].day if before else None)
    return await compute(tx, day, before=before[0] if before else None, without=without)


async def _lock_next(tx: Tx, day: date, *, now: datetime) -> ClosedDay | None:
    last = await closed_days.lock_for_close(tx)
    _require_next(day, last)
    if now < (when := can_be_closed_at(day)):
        raise NotOver(code=CloseRefusal.NOT_OVER, day=day, when=f"{when.astimezone(clock.ZONE):%Y-%m-%d %H:%M}")
    return None if last is None else await closes.find(tx, last)


def _require_next(day: date, last: date | None) -> None:
    if last is not None and day <= last:
        raise AlreadyClosed(code=CloseRefusal.CLOSED, day=day)
    if last is not None and day != (following := last + timedelta(days=1)):
        raise OutOfOrder(code=CloseRefusal.OUT_OF_ORDER, following=following)


async def _compute(tx: Tx, day: date, before: ClosedDay | None, without: Collection[str]) -> ComputedClose:
    computed = await compute(tx, day, before=before, without=without)
    if needless := sorted(set(without) - computed.missing.keys()):
        raise Invalid(code=CloseRefusal.NOT_LEFT_OUT, channels=needless, day=day)
    if missing := {channel: why for channel, why in computed.missing.items() if channel not in without}:
        problems = [
            Problem(CoverageProblem.CHANNEL, channel=channel, why=each)
            for channel, why in missing.items()
            for each in why
        ]
        raise StatementsMissing(code=CloseRefusal.STATEMENTS_MISSING, day=day, problems=problems)
    return computed


async def _store(
    tx: Tx,
    computed: ComputedClose,
    before: ClosedDay | None,
    *,
    encryption: Encryption,
    actor: Actor,
    now: datetime,
    reason: str,
    proposed_by: str | None = None,
) -> ClosedDay:
    day = computed.close.day
    await open_items.keep(tx, day)
    closed = ClosedDay(
        day=day,
        content=encode(computed.close),
        previous=None if before is None else before.hash,
        hash=_hash(computed.close, before),
        counted=msgspec.json.encode(computed.counted, order="sorted").decode(),
        digest=await open_items.digest_of(tx, day),
        reason=reason,
        requested_by=proposed_by,
        closed_by=actor.name,
        closed_at=now,
    )
    closed = signed(closed, *await find_or_make(tx, encryption, now=now))
    await closes.insert(tx, closed)
    await keep_snapshot(tx, day)
    if before is not None:
        await late_moves.record(tx, before, computed.close.late)
    await audit_log.append(
        tx,
        actor,
        "day.closed",
        now=now,
        day=day,
        hash=closed.hash.hex(),
        adds_up=computed.close.adds_up,
        without=computed.close.without,
        reason=reason,
        proposed_by=proposed_by,
    )
    return closed


async def _propose(
    tx: Tx,
    close: DayClose,
    before: ClosedDay | None,
    without: Collection[str],
    reason: str,
    *,
    actor: Actor,
    now: datetime,
) -> ProposedClose:
    terms = CloseTerms(
        hash=_hash(close, before).hex(), without=tuple(sorted(without)), differences=tuple(lines_of(close))
    )
    proposal = Proposal(
        id=ids.mint("dcp_", now),
        action=Act.CLOSE_WITH_DIFFERENCE,
        subject=close.day.isoformat(),
        amount=0,
        terms=decide.encode(terms),
        reason=reason,
        requested_by=actor.name,
        requested_at=now,
    )
    details = {
        "day": close.day,
        "reason": reason,
        "unexplained": {each.channel: each.unexplained for each in close.channels if not each.adds_up},
        "trial_balance": close.trial_balance,
    }
    return proposed_close(await decide.propose(tx, proposal, "day.close_proposed", details, actor=actor))


async def lock_open(tx: Tx, day: date) -> Proposal:
    """Lock the open proposal to close the day until the commit."""
    return await decide.lock_open(
        tx, [Act.CLOSE_WITH_DIFFERENCE], day.isoformat(), NothingProposed(code=CloseRefusal.NOTHING_PROPOSED, day=day)
    )


def _hash(close: DayClose, before: ClosedDay | None) -> bytes:
    return hash_of(None if before is None else before.hash, encode(close))


def _reason(text: str, *, is_needed: bool) -> str:
    text = text.strip()
    if is_needed and not text:
        raise Invalid(code=CloseRefusal.NEEDS_REASON)
    if text and not typed_reason.is_within(text, typed_reason.REASON):
        raise Invalid(code=CloseRefusal.REASON)
    return text
