"""Adopts a line as a payment: the network has it, and we have lost it, as after a restore. Two operators decide that.

It is made and completed in one commit, so nothing is sent. It is dated when it became known. A collection credits the
wallet. A payout takes from it; what the wallet does not hold, the house lends, and it is owed.
"""

from dataclasses import dataclass
from datetime import datetime

from msgspec.structs import replace

from malipo import ids
from malipo.db import Tx
from malipo.errors import Invalid
from malipo.ledger.store import wallets as ledger
from malipo.payments import correction_moves, status_writer
from malipo.payments.fees import fee_of
from malipo.payments.status_writer import Change, Corrected
from malipo.payments.store import cases, tariffs
from malipo.payments.transaction import Cause, Status, Transaction, Type
from malipo.reconciliation.exception import ReconciliationException
from malipo.reconciliation.store import payments


@dataclass(frozen=True)
class Owner:
    """Whose payment it was, as operators know."""

    merchant_id: str
    phone: str = ""
    name: str = ""


async def adopt(
    tx: Tx, exception: ReconciliationException, owner: Owner, *, reference_prefix: str, now: datetime
) -> Transaction:
    """The payment, which is COMPLETED."""
    draft = await _draft(tx, exception, owner, reference_prefix, now)
    await _lend(tx, draft, now=now)
    wallets = await ledger.lock(tx, [draft.merchant_id])
    await status_writer.open_all(tx, [draft], wallets, now=now)
    key = {"merchant_id": draft.merchant_id, "transaction_id": draft.id}
    submitted = Change(**key, cause=Cause.SUBMITTED)
    confirmed = Change(**key, cause=Cause.CONFIRMED, provider_reference=exception.receipt)
    outcome = (await status_writer.advance(tx, [submitted, confirmed], now=now))[-1]
    assert outcome is not None
    assert outcome.transaction.status is Status.COMPLETED
    return outcome.transaction


async def _draft(
    tx: Tx, exception: ReconciliationException, owner: Owner, reference_prefix: str, now: datetime
) -> Transaction:
    assert exception.line_amount is not None
    type_ = Type.COLLECTION if exception.line_amount > 0 else Type.DISBURSEMENT
    amount = abs(exception.line_amount)
    bands = (await tariffs.find(tx, [owner.merchant_id])).get((owner.merchant_id, type_, exception.channel), [])
    fee = fee_of(amount, bands)
    if type_ is Type.COLLECTION and fee >= amount:
        raise Invalid("The merchant's tariff takes all of it. Book the line instead.")
    suffix = ids.suffix(now)
    has_key = exception.key and not await payments.is_key_known(tx, exception.channel, exception.key)
    return Transaction(
        merchant_id=owner.merchant_id,
        id=ids.mint("txn_", now),
        reference=f"{reference_prefix}-{suffix}",
        # A merchant who repeats the lost request gets this payment, and not a second one.
        network_key=exception.key if has_key and exception.key else suffix,
        type=type_,
        channel=exception.channel,
        status=Status.PENDING,
        amount=amount,
        fee=fee,
        phone=owner.phone or exception.phone or "",
        name=owner.name,
        description=f"Adopted from the network's statement: {exception.receipt}",
        metadata={},
        created_at=now,
    )


async def _lend(tx: Tx, draft: Transaction, *, now: datetime) -> None:
    """Before the payout takes it: no wallet is ever below zero."""
    if draft.type is Type.COLLECTION:
        return
    wallet = (await ledger.lock(tx, [draft.merchant_id]))[draft.merchant_id]
    lent = draft.amount + draft.fee - wallet.available
    if lent > 0:
        change = correction_moves.with_notice(correction_moves.lend(lent), now)
        completed = replace(draft, status=Status.COMPLETED, processing_at=now, ended_at=now)
        await status_writer.write(tx, {}, [], [Corrected(completed, change, 0)], now=now)
        await cases.insert_automatic(tx, completed, change, now=now)
