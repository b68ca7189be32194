"""Applies a resolution of a case: ends an open payment, or corrects one that has ended."""

import dataclasses
from datetime import datetime
from typing import Any

from malipo import money
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import ensure
from malipo.ledger.bookings import WalletTooLow
from malipo.ledger.store import wallets as ledger
from malipo.networks.connector import FailureCode
from malipo.payments import correction_moves, status_writer
from malipo.payments.cases.resolution import (
    CaseRefusal,
    ResolutionResult,
    ResolvedOutcome,
    resembles_adopted,
)
from malipo.payments.failure_reasons import failure_reason_of
from malipo.payments.network_answer.failure import follow_up
from malipo.payments.status_writer import CorrectedTransaction, StatusChange
from malipo.payments.store import adopted_payments, cases, dispatches
from malipo.payments.store.cases import Case, ProposedResolution
from malipo.payments.transaction import Cause, Status, Transaction


async def apply(
    tx: Tx,
    case: Case,
    proposal: ProposedResolution,
    *,
    actor: Actor,
    now: datetime,
    follow_up_seconds: float,
    is_alone: bool = False,  # the only operator decided alone: --alone
) -> ResolutionResult:
    outcome = ResolvedOutcome(proposal.outcome)
    if outcome is ResolvedOutcome.SEND:
        await dispatches.release_resembling_adopted(tx, (case.transaction.merchant_id, case.transaction.id))
        await adopted_payments.stop_waiting(
            tx, case.transaction, adopted_before=now - adopted_payments.REPEATED_WITHIN, now=now
        )
        await cases.insert_resolution(tx, case.transaction, proposal, decided_by=actor.name, now=now)
        resolved = ResolutionResult(case.transaction, outcome, is_done=True)
    elif outcome is ResolvedOutcome.CANCEL:
        transaction = await withdraw(tx, case.transaction, now=now)
        await cases.insert_resolution(tx, transaction, proposal, decided_by=actor.name, now=now)
        resolved = ResolutionResult(transaction, outcome, is_done=True)
    elif case.transaction.status.is_final:
        resolved = await _correct(tx, case, proposal, outcome, actor=actor, now=now)
    else:
        transaction = await _end(tx, case, proposal, outcome, now=now, follow_up_seconds=follow_up_seconds)
        await cases.insert_resolution(tx, transaction, proposal, decided_by=actor.name, now=now)
        resolved = ResolutionResult(transaction, outcome, is_done=True)
    details = audit_details(resolved.transaction, proposal) | {"proposed_by": proposal.requested_by}
    await audit_log.append(tx, actor, "payment.resolved", now=now, **details, **audit_log.alone(is_alone))
    return dataclasses.replace(resolved, is_alone=is_alone)


async def withdraw(tx: Tx, transaction: Transaction, *, now: datetime) -> Transaction:
    """End a payment of which nothing was sent. The wallet gets back the amount that was set aside."""
    change = StatusChange(merchant_id=transaction.merchant_id, transaction_id=transaction.id, cause=Cause.WITHDRAWN)
    [outcome] = await status_writer.advance(tx, [change], now=now)
    assert outcome is not None
    return outcome.transaction


async def _end(
    tx: Tx,
    case: Case,
    proposal: ProposedResolution,
    outcome: ResolvedOutcome,
    *,
    now: datetime,
    follow_up_seconds: float,
) -> Transaction:
    """End an open payment. After FAILED its network is queried again, in case it was paid after all."""
    is_paid = outcome is ResolvedOutcome.COMPLETED
    failure = None if is_paid else FailureCode.REJECTED
    change = StatusChange(
        merchant_id=case.transaction.merchant_id,
        transaction_id=case.transaction.id,
        cause=outcome.cause,
        # An unpaid payment has no receipt. One that an operator typed would match a line, and credit the payment.
        provider_reference=proposal.provider_reference if is_paid else None,
        failure_code=failure,
        failure_reason=None if failure is None else failure_reason_of(failure),
    )
    submitted = StatusChange(
        merchant_id=case.transaction.merchant_id, transaction_id=case.transaction.id, cause=Cause.SUBMITTED
    )
    changes = [submitted, change] if case.transaction.status is Status.PENDING else [change]
    ended = (await status_writer.advance(tx, changes, now=now))[-1]
    assert ended is not None
    ensure(ended.has_moved, "what is resolved ends")
    is_unsent = case.transaction.status is Status.PENDING
    if failure is not None and resembles_adopted(case) and is_unsent and ended.transaction.refund_of is None:
        await adopted_payments.give_up_key_of_repeat(tx, ended.transaction)
        await adopted_payments.stop_waiting(tx, ended.transaction, adopted_before=now, now=now)
    if failure is not None and case.dispatch is not None and case.dispatch.connector is not None:
        queries = follow_up(None, case.dispatch.connector)
        await dispatches.follow_up(tx, [(ended.transaction, queries, follow_up_seconds)])
    return ended.transaction


async def _correct(
    tx: Tx, case: Case, proposal: ProposedResolution, outcome: ResolvedOutcome, *, actor: Actor, now: datetime
) -> ResolutionResult:
    """Correct a payment that has ended: the wallet is credited or debited, or the amount is booked to losses."""
    transaction = case.transaction
    before = case.correction or correction_moves.begin(transaction)
    corrected: list[CorrectedTransaction] = []
    after = before
    if outcome.is_paid != before.is_paid and not correction_moves.is_contradicted_by_network(transaction, before):
        received = correction_moves.with_notice(
            correction_moves.contradict(transaction, before, is_paid=outcome.is_paid, source=None), now
        )
        corrected.append(CorrectedTransaction(transaction, received, before.owed))
        after = received.correction
    wallet = (await ledger.lock(tx, [transaction.merchant_id]))[transaction.merchant_id]
    decided = correction_moves.decide(
        transaction, after, is_paid=outcome.is_paid, available=wallet.available, is_waived=proposal.is_waived
    )
    if decided.moves:
        decided = correction_moves.with_notice(decided, now)
        corrected.append(CorrectedTransaction(transaction, decided, after.owed))
    elif not corrected and correction_moves.is_open(transaction, after):
        raise WalletTooLow(code=CaseRefusal.WALLET_EMPTY, available=money.display(wallet.available))
    await status_writer.write(tx, {}, [], corrected, now=now)
    change = corrected[-1].change if corrected else None
    await dispatches.clear_review_reason(tx, (transaction.merchant_id, transaction.id))
    await cases.insert_resolution(tx, transaction, proposal, change, decided_by=actor.name, now=now)
    left = change.correction.owed if change is not None else after.owed
    return ResolutionResult(
        transaction,
        outcome,
        is_done=True,
        is_of_contradiction=True,
        credited=decided.credited if decided.moves else 0,
        borne=decided.borne if decided.moves else 0,
        owed=left,
    )


def audit_details(transaction: Transaction, proposal: ProposedResolution) -> dict[str, Any]:
    return {
        "merchant_id": transaction.merchant_id,
        "transaction": transaction.id,
        "amount": transaction.amount,
        "outcome": proposal.outcome,
        "evidence": proposal.evidence,
        **({"despite_waiting": True} if proposal.is_despite_waiting else {}),
    }
