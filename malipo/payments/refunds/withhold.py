"""Keeps back refunds that would give back too much, at the last moment before they would be sent.

A refund may wait for its network for hours. Meanwhile the network may report that an earlier refund, which was FAILED,
was paid after all; or it may have taken the collection back. Sent then, the refund would give the money back twice.

A refund of which its network has nothing is ended. One that was sent before, and whose outcome is unknown, may have
been paid: it is neither sent again nor ended, but shown to operators, and its network is queried until it reports an
outcome.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from malipo import log
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import SYSTEM_NAME, Actor
from malipo.db import Tx
from malipo.networks.connector import FailureCode
from malipo.payments import status_writer
from malipo.payments.dispatch import Dispatch, NextAction, ReviewReason
from malipo.payments.failure_reasons import failure_reason_of
from malipo.payments.refunds import refundable
from malipo.payments.status_writer import StatusChange
from malipo.payments.store import dispatches, refunds
from malipo.payments.store.dispatches import PaymentRecord
from malipo.payments.transaction import Cause, Status, Transaction

_ACTOR = Actor(SYSTEM_NAME, "worker")


class _Split(NamedTuple):
    to_send: list[PaymentRecord]
    excess: list[PaymentRecord]


async def withhold(
    tx: Tx, claimed: Sequence[PaymentRecord], *, connector: str, now: datetime
) -> tuple[list[PaymentRecord], list[Transaction]]:
    """What may be sent, and the refunds that were ended instead. The caller has locked all of them."""
    to_send, excess = await _split(tx, claimed)
    ended = await _end(tx, [each.transaction for each in excess if _is_unknown_to_network(each)], now=now)
    await _show(tx, [each for each in excess if not _is_unknown_to_network(each)], connector, now=now)
    return to_send, ended


async def without_excess(tx: Tx, claimed: Sequence[PaymentRecord]) -> list[PaymentRecord]:
    """Those of an earlier claim that may still be sent. The others are queried when the lease of that claim ends."""
    return (await _split(tx, claimed)).to_send


async def _split(tx: Tx, claimed: Sequence[PaymentRecord]) -> _Split:
    """Without refunds about whose collection something is being written right now: the next claim finds them."""
    keys = {
        (each.transaction.merchant_id, each.transaction.refund_of)
        for each in claimed
        if each.transaction.refund_of is not None
    }
    if not keys:
        return _Split(list(claimed), [])
    # Held until the commit: a report that an earlier refund was paid is either seen here, or comes after the claim.
    found = await refunds.hold(tx, keys)
    split = _Split([], [])
    for each in claimed:
        refund = each.transaction
        if refund.refund_of is None:
            split.to_send.append(each)
        elif (refunded := found.get((refund.merchant_id, refund.refund_of))) is not None:
            (split.excess if refundable.is_excess(refund, *refunded) else split.to_send).append(each)
    return split


def _is_unknown_to_network(subject: PaymentRecord) -> bool:
    dispatch = _dispatch_of(subject)
    # What was queried first after a restore counts as sent at the restore, and no connector has claimed it since.
    may_be_lost = dispatch.connector is None and dispatch.sent_seconds is not None
    return dispatch.send_count == 0 and not dispatch.is_success_reported and not may_be_lost


def _dispatch_of(subject: PaymentRecord) -> Dispatch:
    assert subject.dispatch is not None, "what is claimed is in the queue"
    return subject.dispatch


async def _end(tx: Tx, excess: Sequence[Transaction], *, now: datetime) -> list[Transaction]:
    found = {(each.merchant_id, each.id): each for each in excess}
    reached = [after for each in excess if (after := status_writer.after_change(each, _change(each), now)) is not None]
    await status_writer.write(tx, found, reached, now=now)
    await _note(tx, reached, "refund.withheld", now=now)
    return reached


def _change(refund: Transaction) -> StatusChange:
    # A refund that a worker has claimed is PROCESSING. Nothing of it was sent: that is as good as a refusal.
    is_claimed = refund.status is not Status.PENDING
    code = FailureCode.CHANNEL_UNAVAILABLE if is_claimed else None
    return StatusChange(
        merchant_id=refund.merchant_id,
        transaction_id=refund.id,
        cause=Cause.REFUSED if is_claimed else Cause.WITHDRAWN,
        failure_code=code,
        failure_reason=None if code is None else failure_reason_of(code),
    )


async def _show(tx: Tx, in_doubt: Sequence[PaymentRecord], connector: str, *, now: datetime) -> None:
    """They count as sent, so their network is queried and reports the outcome. Operators see why they wait."""
    found = {(each.transaction.merchant_id, each.transaction.id): each.transaction for each in in_doubt}
    reached = [
        after
        for key, each in found.items()
        if (after := status_writer.after_change(each, _submitted(*key), now)) is not None
    ]
    await status_writer.write(tx, found, reached, now=now)
    await dispatches.update(tx, [_queried(each, connector) for each in in_doubt])
    await _note(tx, [each.transaction for each in in_doubt], "refund.in_doubt", now=now)


def _submitted(merchant_id: str, transaction_id: str) -> StatusChange:
    return StatusChange(merchant_id=merchant_id, transaction_id=transaction_id, cause=Cause.SUBMITTED)


def _queried(subject: PaymentRecord, connector: str) -> tuple[tuple[str, str], Dispatch, float]:
    dispatch = _dispatch_of(subject)
    queried = replace(
        dispatch,
        connector=dispatch.connector or connector,
        next_action=NextAction.QUERY,
        send_count=max(dispatch.send_count, 1),
        attention=ReviewReason.EXCESS_REFUND,
    )
    return (subject.transaction.merchant_id, subject.transaction.id), queried, 0


async def _note(tx: Tx, withheld: Sequence[Transaction], action: str, *, now: datetime) -> None:
    for each in withheld:
        log.warning(action, transaction=each.id, refund_of=each.refund_of)
        await audit_log.append(
            tx, _ACTOR, action, now=now, merchant_id=each.merchant_id, transaction=each.id, refund_of=each.refund_of
        )
