"""Ends refunds that must not be sent any more, at the last moment before they would be.

A refund may wait for its network for hours. Meanwhile the network may report that an earlier refund, which was FAILED,
was paid after all; or it may have taken the collection back. Sent then, the refund would give the money back twice.
"""

from collections.abc import Sequence
from datetime import datetime

from malipo import log
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.db import Tx
from malipo.networks.connector import FailureCode
from malipo.payments import status_writer
from malipo.payments.failure_reasons import failure_reason_of
from malipo.payments.refunds import refundable
from malipo.payments.status_writer import Change
from malipo.payments.store import refunds
from malipo.payments.store.dispatches import Subject
from malipo.payments.transaction import Cause, Status, Transaction

_ACTOR = Actor("malipo", "worker")


async def withhold(tx: Tx, claimed: Sequence[Subject], *, now: datetime) -> tuple[list[Subject], list[Transaction]]:
    """What may be sent, and the refunds that were ended instead. The caller has locked all of them."""
    keys = {
        (each.transaction.merchant_id, each.transaction.refund_of)
        for each in claimed
        if each.transaction.refund_of is not None
    }
    if not keys:
        return list(claimed), []
    found = await refunds.find(tx, keys)
    to_send: list[Subject] = []
    excess: list[Transaction] = []
    for each in claimed:
        refund = each.transaction
        is_excess = refund.refund_of is not None and refundable.is_excess(
            refund, *found[refund.merchant_id, refund.refund_of]
        )
        if is_excess and _is_unknown_to_network(each):
            excess.append(refund)
        else:
            to_send.append(each)
    return to_send, await _end(tx, excess, now=now)


def _is_unknown_to_network(subject: Subject) -> bool:
    assert subject.dispatch is not None, "what is claimed is in the queue"
    return subject.dispatch.send_count == 0 and not subject.dispatch.is_success_reported


async def _end(tx: Tx, excess: Sequence[Transaction], *, now: datetime) -> list[Transaction]:
    found = {(each.merchant_id, each.id): each for each in excess}
    reached = [after for each in excess if (after := status_writer.after_change(each, _change(each), now)) is not None]
    await status_writer.write(tx, found, reached, now=now)
    for each in reached:
        log.warning("refund.withheld", transaction=each.id, refund_of=each.refund_of)
        await audit_log.append(
            tx,
            _ACTOR,
            "refund.withheld",
            now=now,
            merchant_id=each.merchant_id,
            transaction=each.id,
            refund_of=each.refund_of,
        )
    return reached


def _change(refund: Transaction) -> Change:
    # A refund that a worker has claimed is PROCESSING. Nothing of it was sent: that is as good as a refusal.
    is_claimed = refund.status is not Status.PENDING
    code = FailureCode.CHANNEL_UNAVAILABLE if is_claimed else None
    return Change(
        merchant_id=refund.merchant_id,
        transaction_id=refund.id,
        cause=Cause.REFUSED if is_claimed else Cause.WITHDRAWN,
        failure_code=code,
        failure_reason=None if code is None else failure_reason_of(code),
    )
