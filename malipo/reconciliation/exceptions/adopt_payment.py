"""Adopts a line as a payment: the network has it, and we have lost it, as after a restore. Two operators decide that.

The payment is created and completed in one commit, so nothing is sent. Its date is the date of the adoption. A
collection credits the wallet. A payout debits it; the house lends what the wallet lacks, and the merchant owes it.

The merchant may repeat the lost request before, during or after the adoption. The second of the two finds the payment
of the first by the network key, which is unique.
"""

from collections.abc import Mapping
from datetime import datetime

import asyncpg
from msgspec.structs import replace

from malipo import ids
from malipo.approvals import decide
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, Invalid, ensure
from malipo.ledger.store import wallets as ledger
from malipo.links import lost_attempt
from malipo.payments import correction_moves, status_writer
from malipo.payments.batches.store import items
from malipo.payments.cases.apply_resolution import apply, audit_details
from malipo.payments.cases.resolution import ResolvedOutcome
from malipo.payments.cases.resolve import lock_case
from malipo.payments.fees import fee_of
from malipo.payments.refunds.reserve import Reservations
from malipo.payments.status_writer import CorrectedTransaction, StatusChange
from malipo.payments.store import adopted_payments, cases, idempotency_keys, tariffs, transactions
from malipo.payments.store.cases import ProposedResolution, proposed_resolution
from malipo.payments.transaction import Cause, Status, Transaction, Type
from malipo.reconciliation.exceptions.lost_request import LostRequest, find_lost_request, require_new
from malipo.reconciliation.exceptions.refusals import AdoptRefusal
from malipo.reconciliation.matching.exception import ReconciliationException
from malipo.reconciliation.matching.store import payments


async def adopt(
    tx: Tx, exception: ReconciliationException, terms: Mapping[str, str], *, reference_prefix: str, now: datetime
) -> Transaction:
    """Adopt the line of an exception. Returns the payment, which is COMPLETED."""
    lost = await find_lost_request(tx, exception, terms)
    if lost.attempt is not None:
        await lost_attempt.lock_link(tx, lost.attempt)
    fee = await fee_of_lost(tx, lost)
    draft = await _draft(tx, exception, lost, fee, reference_prefix, now)
    draft = await _as_refund(tx, draft)
    assert exception.receipt is not None
    undone = await adopted_payments.give_up_keys(tx, exception.receipt, lost.amount)
    await items.follow_adoption(tx, undone, draft)
    await _lend(tx, draft, exception.receipt, now=now)
    wallets = await ledger.lock(tx, [draft.merchant_id])
    # Check again for a repeat that was created or credited meanwhile: creating one needs this lock too.
    await require_new(tx, exception, lost)
    try:
        await status_writer.open_all(tx, [draft], wallets, now=now)
    except asyncpg.UniqueViolationError as error:
        if error.constraint_name not in transactions.UNIQUE_KEYS:
            raise  # of a move, an event or a refund: that is no repeat
        raise Conflict(code=AdoptRefusal.REPEATED) from None
    key = {"merchant_id": draft.merchant_id, "transaction_id": draft.id}
    submitted = StatusChange(**key, cause=Cause.SUBMITTED)
    confirmed = StatusChange(**key, cause=Cause.CONFIRMED, provider_reference=exception.receipt)
    outcome = (await status_writer.advance(tx, [submitted, confirmed], now=now))[-1]
    assert outcome is not None
    ensure(outcome.transaction.status is Status.COMPLETED, "an adopted payment is completed")
    await _note(tx, exception, lost, outcome.transaction, now=now)
    return outcome.transaction


async def fee_of_lost(tx: Tx, lost: LostRequest) -> int:
    """The merchant's fee for the payment, by the current tariff."""
    bands = (await tariffs.find(tx, [lost.merchant_id])).get((lost.merchant_id, lost.type, lost.channel), [])
    fee = fee_of(lost.amount, bands)
    if lost.type is Type.COLLECTION and fee >= lost.amount:
        raise Invalid(code=AdoptRefusal.TARIFF)
    return fee


async def _draft(
    tx: Tx, exception: ReconciliationException, lost: LostRequest, fee: int, reference_prefix: str, now: datetime
) -> Transaction:
    suffix = ids.suffix(now)
    reference = f"{reference_prefix}-{lost.network_key or suffix}"
    if await transactions.has_reference(tx, reference):
        # An undone adoption keeps its reference, which the merchant has seen.
        reference = f"{reference_prefix}-{suffix}"
    return Transaction(
        merchant_id=lost.merchant_id,
        id=ids.mint("txn_", now),
        reference=reference,
        network_key=lost.network_key or suffix,
        type=lost.type,
        channel=lost.channel,
        status=Status.PENDING,
        amount=lost.amount,
        fee=fee,
        phone=lost.phone,
        name=lost.name,
        description=f"Adopted from the network's statement: {exception.receipt}",
        metadata={},
        created_at=now,
        order_reference=lost.order_reference,
        refund_of=lost.collection_id,
        link_id=None if lost.attempt is None else lost.attempt.link_id,
    )


async def _as_refund(tx: Tx, draft: Transaction) -> Transaction:
    """The draft as a refund, with its number among the refunds of its collection, which is locked before any wallet."""
    if draft.refund_of is None:
        return draft
    ordinal = (await Reservations.lock(tx, [draft])).next_ordinal(draft)
    return replace(draft, refund_ordinal=ordinal)


async def _lend(tx: Tx, draft: Transaction, receipt: str, *, now: datetime) -> None:
    """Lend the wallet what it lacks before the payout is taken from it: no wallet goes below zero. The event about that
    shows the payment as it is at the commit."""
    if draft.type is Type.COLLECTION:
        return
    wallet = (await ledger.lock(tx, [draft.merchant_id]))[draft.merchant_id]
    lent = draft.amount + draft.fee - wallet.available
    if lent > 0:
        change = correction_moves.with_notice(correction_moves.lend(lent), now)
        completed = replace(draft, status=Status.COMPLETED, provider_reference=receipt, processing_at=now, ended_at=now)
        await status_writer.write(tx, {}, [], [CorrectedTransaction(completed, change, 0)], now=now)
        await cases.insert_automatic(tx, completed, change, now=now)


async def _note(
    tx: Tx, exception: ReconciliationException, lost: LostRequest, payment: Transaction, *, now: datetime
) -> None:
    assert exception.line_id is not None
    await adopted_payments.insert(
        tx, payment, exception.line_id, is_repeat_recognized=lost.is_repeat_recognized, now=now
    )
    if lost.attempt is not None:
        await lost_attempt.write(tx, lost.attempt, payment.id)
    if lost.idempotency_key is not None:
        key = (lost.merchant_id, lost.scope, lost.idempotency_key)
        if not await idempotency_keys.insert(tx, key, idempotency_keys.ADOPTED, payment.id):
            raise Conflict(code=AdoptRefusal.REPEATED)


async def undo_adoption(tx: Tx, line_id: int, *, evidence: str, requested_by: str, actor: Actor, now: datetime) -> None:
    """Undo an adoption: the payment was not this merchant's, so it is corrected as unpaid."""
    payment = await payments.find_of_line(tx, line_id)
    assert payment is not None, "an adopted line has its payment"
    await adopted_payments.set_undone(tx, payment, now=now)
    case = await lock_case(tx, payment.reference)
    if (open_ := await cases.lock_proposal(tx, case.transaction)) is not None:
        # This decides an open proposal about the payment as a case.
        details = audit_details(case.transaction, proposed_resolution(open_))
        await decide.reject(tx, open_, "payment.resolution_rejected", details, actor=actor, now=now)
    resolution = ProposedResolution(
        id=ids.mint("res_", now),
        merchant_id=case.transaction.merchant_id,
        outcome=ResolvedOutcome.FAILED,
        evidence=evidence,
        requested_by=requested_by,
        is_of_contradiction=True,
        requested_at=now,
    )
    await apply(tx, case, resolution, actor=actor, now=now, follow_up_seconds=0)
