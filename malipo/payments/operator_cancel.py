"""Operators cancel a PENDING payout that nobody sends: its merchant is closed, or its channel is not connected."""

from collections.abc import Collection
from datetime import datetime

from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.errors import Conflict, Forbidden
from malipo.installation.store import installation
from malipo.networks.connector import Channel, Type
from malipo.payments import status_writer
from malipo.payments.case_reason import is_unconnected
from malipo.payments.resolution import may_have_been_sent
from malipo.payments.resolve import lock_case
from malipo.payments.status_writer import Change
from malipo.payments.transaction import Cause, Status, Transaction


async def cancel(
    tx: Tx,
    id_or_reference: str,
    *,
    actor: Actor,
    now: datetime,
    unconnected: Collection[tuple[Channel, Type]] = (),
) -> Transaction:
    """Nothing was sent, so the wallet gets the money back.

    After a restore that is not certain until the network was queried.
    """
    if (closed := await installation.why_not_cancel(tx)) is not None:
        raise closed
    case = await lock_case(tx, id_or_reference)
    transaction = case.transaction
    if case.is_merchant_active and not is_unconnected(case, unconnected):
        raise Forbidden("Its merchant is active, and can cancel it.")
    if transaction.status is not Status.PENDING:
        raise Conflict(f"Only a PENDING payment can be cancelled; this one is {transaction.status}.")
    if may_have_been_sent(case):
        raise Conflict(
            "Its network is being asked whether it was sent before the service was restored. "
            "If the network cannot say, propose what became of it."
        )
    change = Change(merchant_id=transaction.merchant_id, transaction_id=transaction.id, cause=Cause.WITHDRAWN)
    [outcome] = await status_writer.advance(tx, [change], now=now)
    assert outcome is not None
    await audit_log.append(
        tx,
        actor,
        "payment.cancelled",
        now=now,
        merchant_id=transaction.merchant_id,
        transaction=transaction.id,
        amount=transaction.amount,
    )
    return outcome.transaction
