"""Operators withdraw a statement, or undo one of its bookings: one proposes, and another approves or rejects it.

The bookings of a withdrawn file are reversed, its matches are undone, and its lines no longer count, except lines that
another file has. Payments that its lines have ended or corrected stay so, because merchants were notified: they are
listed, and searched in other statements. A closed day does not change, because the withdrawal has the date on which it
happens.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from malipo import ids, typed_reason
from malipo.approvals import decide, moved_alone
from malipo.approvals import store as approvals
from malipo.approvals.act_rules import STATEMENT_UNDOS, WITHDRAWALS, Act
from malipo.approvals.moved_alone import Deciders, require_operator
from malipo.approvals.store import Proposal
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import SYSTEM_NAME, Actor
from malipo.db import Tx
from malipo.errors import Code, Conflict, Forbidden, Invalid, Missing
from malipo.ledger import house_bookings
from malipo.ledger.house_bookings import HouseBooking, HouseBookingKind
from malipo.ledger.store import closed_days
from malipo.operators import four_eyes
from malipo.reconciliation.exceptions.find_effect import ImportEffect, fingerprint_of
from malipo.reconciliation.exceptions.refusals import ExceptionRefusal
from malipo.reconciliation.imports.find_import_effect import find_import_effect
from malipo.reconciliation.imports.store import withdrawal_effects, withdrawals
from malipo.reconciliation.imports.store import withdrawal_proposals as proposals
from malipo.reconciliation.imports.store.withdrawal_proposals import ProposedAction, StatementProposal, StatementTerms
from malipo.reconciliation.imports.store.withdrawals import RemainingPayment
from malipo.reconciliation.matching import import_approval
from malipo.reconciliation.matching.exception import ExceptionKind
from malipo.reconciliation.matching.payment_times import BEFORE, ids_of
from malipo.reconciliation.matching.store import exceptions, line_queue, matching
from malipo.reconciliation.matching.store.line_queue import UnbookedLine
from malipo.reconciliation.statements.choose_profile import all_profiles
from malipo.reconciliation.statements.coverage import AFTER_SENDING
from malipo.reconciliation.statements.statement_file import StatementFile
from malipo.reconciliation.statements.store import statements

_LINE_KINDS = {HouseBookingKind.NETWORK_FEE: "fee", HouseBookingKind.SWEEP: "sweep"}


class WithdrawRefusal(Code):
    NO_SUCH = "withdraw_unknown"
    ANSWERABLE = "withdraw_by_answerable"
    DONE = "withdraw_done"
    NOT_OF_STATEMENT = "withdraw_not_of_statement"
    DECIDED = "withdraw_decided"
    PROPOSED = "withdraw_proposed"


class NoSuchStatement(Missing):
    def __init__(self, file_id: str) -> None:
        super().__init__(code=WithdrawRefusal.NO_SUCH, name=file_id)


@dataclass(frozen=True)
class WithdrawStatements:
    approval_amount: int  # above it, undoing a booking takes two operators; withdrawing a file always does

    async def propose_withdrawal(
        self, tx: Tx, file_id: str, *, reason: str, actor: Actor, now: datetime
    ) -> StatementProposal:
        file = await _lock(tx, file_id)
        _require(reason, actor)
        await withdrawals.sort_lines(tx, file.id)
        await _require_undecided(tx, file)
        amount = await _booked(tx, file)
        proposal = _proposal(Act.WITHDRAW_STATEMENT, file, None, amount, reason, actor=actor, now=now)
        return await _propose(tx, proposal, file, actor=actor)

    async def propose_undo(
        self,
        tx: Tx,
        booking_id: str,
        *,
        reason: str,
        actor: Actor,
        now: datetime,
        is_single_operator: bool = False,
    ) -> StatementProposal:
        """Propose to undo the booking of a file's fees or sweeps of a day. A small one is undone at once."""
        await matching.lock_for_decision(tx)
        await moved_alone.lock(tx, actor.name)
        _require(reason, actor)
        booking = await _find_booking(tx, booking_id)
        assert booking.file_id is not None
        file = await _lock(tx, booking.file_id)
        act = Act.UNDO_STATEMENT_BOOKING
        proposal = _proposal(act, file, booking.id, booking.amount, reason, actor=actor, now=now)
        await decide.require_none_open(tx, [act], booking.id)
        deciders = await moved_alone.count_unless_two(
            tx,
            act,
            booking.amount,
            operator=actor.name,
            subject=booking.id,
            approval_amount=self.approval_amount,
            now=now,
            is_single_operator=is_single_operator,
        )
        if deciders is Deciders.TWO:
            return await _propose(tx, proposal, file, actor=actor)
        is_alone = deciders is Deciders.SINGLE_OPERATOR
        return await _apply(tx, proposals.of(proposal), file, actor=actor, now=now, is_alone=is_alone)

    async def approve(
        self,
        tx: Tx,
        subject: str,
        *,
        actor: Actor,
        now: datetime,
        seen: str | None = None,
        is_single_operator: bool = False,
    ) -> StatementProposal:
        """Approve and apply a proposal of another operator or of malipo itself. `seen` is the code of the facts that
        the approver was shown. Above the approval amount, malipo's own proposal becomes that of the operator who
        approves it, and waits for another one."""
        await matching.lock_for_decision(tx)
        await moved_alone.lock(tx, actor.name)
        proposal, file = await _lock_open(tx, subject)
        deciders = None
        if proposal.requested_by == SYSTEM_NAME:
            deciders = await self._deciders(tx, file, actor=actor, now=now, is_single_operator=is_single_operator)
            if deciders is Deciders.TWO:
                if seen is not None:
                    decide.require_seen(seen, await self._find_code(tx, proposal, file, now=now))
                return await _take_over(tx, proposal, file, actor=actor, now=now)
            is_single_operator = False  # It was already checked whether somebody else could approve.
        decided = await decide.approve(
            tx,
            proposal,
            actor=actor,
            now=now,
            seen=seen,
            shown=lambda: self._find_code(tx, proposal, file, now=now),
            is_single_operator=is_single_operator,
        )
        is_alone = decided.is_single_operator or deciders is Deciders.SINGLE_OPERATOR
        return await _apply(tx, proposals.of(proposal), file, actor=actor, now=now, is_alone=is_alone)

    async def _find_code(self, tx: Tx, proposal: Proposal, file: StatementFile, *, now: datetime) -> str:
        return code_of(proposal, await find_import_effect(tx, file, approval_amount=self.approval_amount, now=now))

    async def _deciders(
        self, tx: Tx, file: StatementFile, *, actor: Actor, now: datetime, is_single_operator: bool
    ) -> Deciders:
        """How many operators must agree with malipo's own proposal. Its importer and the authors of its layout are not
        enough alone: they would undo alone what two operators have approved."""
        require_operator(actor)
        act = Act.WITHDRAW_DOUBTED
        if is_single_operator:
            await moved_alone.require_single_operator(tx, act)
        elif actor.name in answerable_for(file):
            raise Forbidden(code=WithdrawRefusal.ANSWERABLE)
        else:
            for by in (SYSTEM_NAME, *sorted(answerable_for(file))):
                await four_eyes.require_two(tx, proposed_by=by, approver=actor, now=now)
        return await moved_alone.count_unless_two(
            tx,
            act,
            await _booked(tx, file),
            operator=actor.name,
            subject=file.id,
            approval_amount=self.approval_amount,
            now=now,
            is_single_operator=is_single_operator,
        )

    async def reject(self, tx: Tx, subject: str, *, actor: Actor, now: datetime) -> StatementProposal:
        """Reject a proposal, or withdraw one's own."""
        proposal, file = await _lock_open(tx, subject)
        proposed = proposals.of(proposal)
        note, details = f"statement.{proposed.action}_rejected", _details(proposed, file)
        return proposals.of(await decide.reject(tx, proposal, note, details, actor=actor, now=now))


async def propose_by_system(tx: Tx, file: StatementFile, *, reason: str, now: datetime) -> None:
    """Propose to withdraw a file that the network's own statement contradicts. An operator without a part in the file
    must approve, above the approval amount two. Does nothing if it is proposed already."""
    if await approvals.lock_open(tx, WITHDRAWALS, file.id):
        return
    system = Actor(SYSTEM_NAME, "worker")
    amount = await _booked(tx, file)
    proposal = _proposal(Act.WITHDRAW_DOUBTED, file, None, amount, reason, actor=system, now=now)
    await approvals.insert(tx, proposal)
    details = _details(proposals.of(proposal), file)
    await audit_log.append(tx, system, "statement.withdraw_proposed", now=now, **details)


def code_of(proposal: Proposal, effect: ImportEffect | None) -> str:
    """The code of the facts that an approver is shown: the proposal and the changes. Balances may move meanwhile;
    changes may not. Pure."""
    booking_id = proposals.of(proposal).booking_id
    if effect is None:  # It was withdrawn.
        return decide.code_of(proposal)
    if booking_id is not None:
        return decide.code_of(proposal, fingerprint_of(effect.undos.get(booking_id, [])))
    changes = fingerprint_of(effect.withdrawal)
    return decide.code_of(proposal, changes, effect.notes)


def answerable_for(file: StatementFile) -> set[str]:
    """The operators who answer for the file: its importer and the authors of its layout. Pure."""
    return {file.imported_by, *(each.by for each in file.authors)}


async def _booked(tx: Tx, file: StatementFile) -> int:
    """The amount that the file's bookings have moved."""
    found = await withdrawals.find_bookings(tx, file.id)
    return sum(abs(each.amount) for each in found if not each.is_undone)


async def _take_over(
    tx: Tx, proposal: Proposal, file: StatementFile, *, actor: Actor, now: datetime
) -> StatementProposal:
    """Make malipo's own proposal this operator's; it then waits for another operator."""
    await approvals.set_proposer(tx, proposal.id, actor.name, now=now)
    taken = proposals.of(replace(proposal, requested_by=actor.name, requested_at=now))
    await audit_log.append(tx, actor, "statement.withdraw_proposed", now=now, **_details(taken, file))
    return taken


async def _apply(
    tx: Tx, proposal: StatementProposal, file: StatementFile, *, actor: Actor, now: datetime, is_alone: bool = False
) -> StatementProposal:
    if proposal.action is ProposedAction.WITHDRAW:
        await withdrawals.sort_lines(tx, file.id)
        await _require_undecided(tx, file)
        for booking_id in await withdrawal_effects.find_bookings_to_undo(tx, file.id):
            await _undo(tx, booking_id, proposal, actor=actor, now=now)
        payments = await withdrawals.withdraw_lines(tx, file.id, proposal.id, now=now)
        # Its payment is in the float already, or was never paid. Booked by its words, the line would be in the float
        # again.
        await exceptions.insert_all(
            tx, [each.as_exception(ExceptionKind.THEIRS_ONLY, now=now) for each in payments], now=now
        )
        await import_approval.end_list_of_file(tx, file.id, now=now)
        for each in await approvals.find_with_term(tx, STATEMENT_UNDOS, "file_id", file.id):
            if each.decided_at is None:  # To undo one of its bookings: all of them are undone.
                await decide.end_by_system(tx, each, now=now)
        await withdrawals.withdraw_file(tx, file, now=now)
        await _look_for_absent_again(tx, file, now=now)
    else:
        assert proposal.booking_id is not None
        booking = await _undo(tx, proposal.booking_id, proposal, actor=actor, now=now)
        await _open_lines(tx, file, booking, now=now)
    done = {ProposedAction.WITHDRAW: "withdrawn", ProposedAction.UNDO: "booking_undone"}[proposal.action]
    remaining = await withdrawals.find_remaining(tx, file.id) if proposal.action is ProposedAction.WITHDRAW else []
    details = _details(proposal, file, remaining) | {"proposed_by": proposal.requested_by}
    details |= audit_log.alone(is_alone)
    await audit_log.append(tx, actor, f"statement.{done}", now=now, **details)
    return replace(proposal, decided_by=actor.name, decided_at=now, is_approved=True)


async def _look_for_absent_again(tx: Tx, file: StatementFile, *, now: datetime) -> None:
    if file.begins_at is None or file.ends_at is None:
        return
    profile = (await all_profiles(tx)).get(file.profile)
    channels = profile.channels if profile is not None and profile.is_aggregator else (file.channel,)
    [first], [last] = ids_of([(file.begins_at - BEFORE, file.ends_at + AFTER_SENDING)])
    await withdrawals.look_for_absent_again(tx, file, channels, first=first, last=last, now=now)


async def _undo(tx: Tx, booking_id: str, proposal: StatementProposal, *, actor: Actor, now: datetime) -> HouseBooking:
    is_second = actor.name != proposal.requested_by
    await house_bookings.undo(
        tx,
        booking_id,
        evidence=proposal.reason,
        booked_by=proposal.requested_by,
        approved_by=actor.name if is_second else None,
        first_open_day=await closed_days.first_open_day(tx),
        now=now,
    )
    booking = await house_bookings.find(tx, booking_id)
    assert booking is not None
    return booking


async def _open_lines(tx: Tx, file: StatementFile, booking: HouseBooking, *, now: datetime) -> None:
    """Put the booked lines back into the queue. Each gets an exception, which keeps it from being booked
    automatically."""
    kind = _LINE_KINDS[booking.kind]
    lines = await withdrawals.find_days_lines(tx, file.id, kind=kind, day=booking.reference)
    await line_queue.reopen_lines(tx, [line_id for line_id, _ in lines])
    opened = [
        UnbookedLine(line_id=line_id, channel=file.channel, account=file.account, amount=amount)
        for line_id, amount in lines
    ]
    found = [each.as_exception(ExceptionKind.UNKNOWN_LINE, now=now) for each in opened]
    await exceptions.insert_all(tx, found, now=now)


def _proposal(
    act: Act,
    file: StatementFile,
    booking_id: str | None,
    amount: int,
    reason: str,
    *,
    actor: Actor,
    now: datetime,
) -> Proposal:
    if file.withdrawn_at is not None:
        raise Conflict(code=WithdrawRefusal.DONE)
    return Proposal(
        id=ids.mint("stp_", now),
        action=act,
        subject=booking_id or file.id,
        amount=amount,
        terms=decide.encode(StatementTerms(file_id=file.id, booking_id=booking_id)),
        reason=reason,
        requested_by=actor.name,
        requested_at=now,
    )


async def _propose(tx: Tx, proposal: Proposal, file: StatementFile, *, actor: Actor) -> StatementProposal:
    proposed = proposals.of(proposal)
    note, details = f"statement.{proposed.action}_proposed", _details(proposed, file)
    family = WITHDRAWALS if proposal.action in WITHDRAWALS else (proposal.action,)
    return proposals.of(await decide.propose(tx, proposal, note, details, actor=actor, family=family))


def _details(
    proposal: StatementProposal, file: StatementFile, remaining: Sequence[RemainingPayment] = ()
) -> dict[str, Any]:
    return {
        "file": file.id,
        "name": file.name,
        "channel": file.channel,
        "account": file.account,
        "booking": proposal.booking_id,
        "amount": proposal.amount,
        "reason": proposal.reason,
        "remaining": len(remaining),
        "remaining_amount": sum(each.amount for each in remaining),
    }


async def _lock(tx: Tx, file_id: str) -> StatementFile:
    """Lock the file, and keep matching, imports, closes and other operators away until the commit."""
    await matching.lock_for_decision(tx)
    file = await statements.get(tx, file_id)
    if file is None:
        raise NoSuchStatement(file_id)
    await statements.lock_channel(tx, file.channel)
    await closed_days.first_open_day(tx)
    found = await statements.get(tx, file_id)
    assert found is not None
    return found


async def _lock_open(tx: Tx, subject: str) -> tuple[Proposal, StatementFile]:
    await matching.lock_for_decision(tx)
    proposal = await decide.lock_open(tx, STATEMENT_UNDOS, subject)
    return proposal, await _lock(tx, proposals.of(proposal).file_id)


async def _find_booking(tx: Tx, booking_id: str) -> HouseBooking:
    booking = await house_bookings.find(tx, booking_id)
    if booking is None:
        raise house_bookings.NotBooked(booking_id)
    if booking.kind not in _LINE_KINDS or booking.file_id is None:
        raise Invalid(code=WithdrawRefusal.NOT_OF_STATEMENT)
    if any(each.id == booking_id and each.is_undone for each in await withdrawals.find_bookings(tx, booking.file_id)):
        raise house_bookings.AlreadyUndone(booking_id)
    return booking


async def _require_undecided(tx: Tx, file: StatementFile) -> None:
    """Refuse a withdrawal while operators' decisions about its lines stand: each must be undone first, by its own
    rules."""
    hindrances = await withdrawals.find_hindrances(tx, file)
    if hindrances.decided:
        raise Conflict(code=WithdrawRefusal.DECIDED, count=hindrances.decided)
    if hindrances.proposed:
        raise Conflict(code=WithdrawRefusal.PROPOSED, count=hindrances.proposed)


def _require(reason: str, actor: Actor) -> None:
    require_operator(actor)
    if not typed_reason.is_within(reason, typed_reason.EVIDENCE):
        raise Invalid(code=ExceptionRefusal.REASON)
