"""Ends payments as FAILED that could not be sent in time: provably nothing was sent.

A collection lapses because its customer no longer waits. A payout lapses only if no connected network could take it; it
waits while its network is only down.
"""

from collections.abc import Sequence
from datetime import datetime

from malipo.db import Tx
from malipo.networks.connector import Channel, FailureCode, Type
from malipo.payments import status_writer
from malipo.payments.failure_reasons import failure_reason_of
from malipo.payments.status_writer import StatusChange
from malipo.payments.store import claims
from malipo.payments.store.dispatches import PaymentRecord
from malipo.payments.transaction import Cause, Status, Transaction


async def lapse(
    tx: Tx, channels: Sequence[Channel], *, connector: str | None, lapse_seconds: float, most: int, now: datetime
) -> list[Transaction]:
    """End the collections that no worker could send in time, while their connector is down or there is none."""
    records: list[PaymentRecord] = []
    for channel in channels:
        records += await claims.lock_lapsed(tx, channel, lapse_seconds=lapse_seconds, most=most)
    if connector is not None:
        records += await claims.lock_lapsed_unsent(tx, connector, lapse_seconds=lapse_seconds, most=most)
    return await end_lapsed(tx, [each.transaction for each in records], now=now)


async def fail_unconnected_payouts(
    tx: Tx, channels: Sequence[Channel], *, lapse_seconds: float, most: int, now: datetime
) -> list[Transaction]:
    """End the payouts that no worker has ever claimed, on channels without a connector. Their money goes back."""
    records: list[PaymentRecord] = []
    for channel in channels:
        records += await claims.lock_unconnected_payouts(tx, channel, lapse_seconds=lapse_seconds, most=most)
    return await _end(tx, [each.transaction for each in records], Cause.UNCONNECTED, now=now)


def split_lapsed(records: Sequence[PaymentRecord], lapse_seconds: float) -> tuple[list[Transaction], list[Transaction]]:
    """The payments that have waited too long by the database's clock, and the others.

    A payment that its network may know never lapses.
    """
    late: list[Transaction] = []
    in_time: list[Transaction] = []
    for transaction, dispatch, *_ in records:
        assert dispatch is not None, "what is claimed is in the queue"
        is_late = transaction.type is Type.COLLECTION and dispatch.queued_seconds_ago >= lapse_seconds
        is_unknown_to_network = (
            dispatch.send_count == 0 and not dispatch.is_success_reported and not dispatch.is_asked_first
        )
        (late if is_late and is_unknown_to_network else in_time).append(transaction)
    return late, in_time


async def end_lapsed(tx: Tx, late: Sequence[Transaction], *, now: datetime) -> list[Transaction]:
    return await _end(tx, late, Cause.LAPSED, now=now)


async def _end(tx: Tx, late: Sequence[Transaction], cause: Cause, *, now: datetime) -> list[Transaction]:
    found = {(each.merchant_id, each.id): each for each in late}
    reached = [
        after for each in late if (after := status_writer.after_change(each, _change(each, cause), now)) is not None
    ]
    await status_writer.write(tx, found, reached, now=now)
    return reached


def _change(transaction: Transaction, cause: Cause) -> StatusChange:
    return StatusChange(
        merchant_id=transaction.merchant_id,
        transaction_id=transaction.id,
        # A payment that was tried is PROCESSING, and provably nothing was sent: it ends like a refused one.
        cause=cause if transaction.status is Status.PENDING else Cause.REFUSED,
        failure_code=FailureCode.CHANNEL_UNAVAILABLE,
        failure_reason=failure_reason_of(FailureCode.CHANNEL_UNAVAILABLE),
    )
