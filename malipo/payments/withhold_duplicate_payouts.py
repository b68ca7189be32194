"""Withholds payouts that would pay the same money twice, right before they would be sent.

A payout may wait for its network for hours. Meanwhile the network may report that an earlier payout was paid after all:
the FAILED payout that this one pays again, or an earlier refund of the same collection. Or the network may take back
the collection that this refund returns. Sent now, the payout would pay the money twice.

A withheld payout that the network provably does not have is ended. One that was sent before, with an unknown outcome,
may have been paid: it is neither sent again nor ended; operators see it, and its network is queried until it reports an
outcome. While it is in doubt whether the earlier payout was paid, a payout that pays it again waits.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from msgspec.structs import replace

from malipo import log
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import SYSTEM_NAME, Actor
from malipo.db import Tx
from malipo.networks.connector import FailureCode, Type
from malipo.payments import status_writer
from malipo.payments.dispatch import Dispatch, NextAction, ReviewReason
from malipo.payments.failure_reasons import failure_reason_of
from malipo.payments.refunds import refundable
from malipo.payments.retried_outcome import RetriedOutcome
from malipo.payments.status_writer import StatusChange
from malipo.payments.store import dispatches, refunds, retries
from malipo.payments.store.dispatches import PaymentRecord
from malipo.payments.store.refunds import PaymentWithRefunds
from malipo.payments.store.transactions import Key
from malipo.payments.transaction import Cause, Status, Transaction

_ACTOR = Actor(SYSTEM_NAME, "worker")
_DOUBT_SECONDS = 60.0  # until a payout that waits for the outcome of another one is claimed again


class _Split(NamedTuple):
    to_send: list[PaymentRecord]
    excess: list[PaymentRecord]
    in_doubt: list[PaymentRecord]  # it is not known whether they would pay twice


async def withhold(
    tx: Tx, claimed: Sequence[PaymentRecord], *, connector: str, now: datetime
) -> tuple[list[PaymentRecord], list[Transaction]]:
    """The payments that may be sent, and the payouts that were ended. The caller has locked all of them."""
    to_send, excess, in_doubt = await _split(tx, claimed)
    ended = await _end(tx, [each.transaction for each in excess if _is_unknown_to_network(each)], now=now)
    await _query_outcomes(tx, [each for each in excess if not _is_unknown_to_network(each)], connector, now=now)
    await dispatches.update(tx, [(_key_of(each), _dispatch_of(each), _DOUBT_SECONDS) for each in in_doubt])
    return to_send, ended


async def without_excess(tx: Tx, claimed: Sequence[PaymentRecord]) -> list[PaymentRecord]:
    """The payments of an earlier claim that may still be sent. The others are queried when that claim's lease ends."""
    return (await _split(tx, claimed)).to_send


async def _split(tx: Tx, claimed: Sequence[PaymentRecord]) -> _Split:
    """Sort claimed payments. A payout is left out if another transaction is writing about its collection, or about the
    payout that it pays again: the next claim finds it."""
    # Locked until the commit, so a report that an earlier payout was paid is either seen here, or comes after this
    # claim.
    refunded = await _lock_refunded(tx, claimed)
    retried = await _lock_retried(tx, claimed)
    split = _Split([], [], [])
    for each in claimed:
        payout, key = each.transaction, _key_of(each)
        if payout.refund_of is not None:
            if (found := refunded.get((payout.merchant_id, payout.refund_of))) is not None:
                (split.excess if refundable.is_excess(payout, *found) else split.to_send).append(each)
        elif key not in retried:
            split.to_send.append(each)
        else:
            match retried[key]:
                case RetriedOutcome.FAILED:
                    split.to_send.append(each)
                case RetriedOutcome.IN_DOUBT:
                    split.in_doubt.append(each)
                case RetriedOutcome.PAID:
                    split.excess.append(each)
    return split


async def _lock_refunded(tx: Tx, claimed: Sequence[PaymentRecord]) -> Mapping[Key, PaymentWithRefunds]:
    of = [(each.transaction.merchant_id, each.transaction.refund_of) for each in claimed]
    keys = {(merchant_id, collection_id) for merchant_id, collection_id in of if collection_id is not None}
    return await refunds.lock_if_free(tx, keys) if keys else {}


async def _lock_retried(tx: Tx, claimed: Sequence[PaymentRecord]) -> Mapping[Key, RetriedOutcome | None]:
    payouts = [_key_of(each) for each in claimed if each.transaction.type is Type.DISBURSEMENT]
    return await retries.lock_if_free(tx, payouts) if payouts else {}


def _is_unknown_to_network(record: PaymentRecord) -> bool:
    dispatch = _dispatch_of(record)
    # A payout that is queried first after a restore counts as sent at the restore, and no connector has claimed it
    # since.
    may_be_lost = dispatch.connector is None and dispatch.sent_seconds_ago is not None
    return dispatch.send_count == 0 and not dispatch.is_success_reported and not may_be_lost


def _key_of(record: PaymentRecord) -> Key:
    return record.transaction.merchant_id, record.transaction.id


def _dispatch_of(record: PaymentRecord) -> Dispatch:
    assert record.dispatch is not None, "what is claimed is in the queue"
    return record.dispatch


async def _end(tx: Tx, excess: Sequence[Transaction], *, now: datetime) -> list[Transaction]:
    found = {(each.merchant_id, each.id): each for each in excess}
    reached = [after for each in excess if (after := status_writer.after_change(each, _change(each), now)) is not None]
    await status_writer.write(tx, found, reached, now=now)
    await _note(tx, reached, "withheld", now=now)
    return reached


def _change(payout: Transaction) -> StatusChange:
    # A claimed payout is PROCESSING, and nothing was sent, so it ends like a refused one.
    is_claimed = payout.status is not Status.PENDING
    code = FailureCode.CHANNEL_UNAVAILABLE if is_claimed else None
    return StatusChange(
        merchant_id=payout.merchant_id,
        transaction_id=payout.id,
        cause=Cause.REFUSED if is_claimed else Cause.WITHDRAWN,
        failure_code=code,
        failure_reason=None if code is None else failure_reason_of(code),
    )


async def _query_outcomes(tx: Tx, maybe_paid: Sequence[PaymentRecord], connector: str, *, now: datetime) -> None:
    """Mark these excess payouts, which may have been paid, as sent: then their network is queried for the outcome.
    Operators see why they wait. The audit log calls it `in_doubt`."""
    found = {_key_of(each): each.transaction for each in maybe_paid}
    reached = [
        after
        for key, each in found.items()
        if (after := status_writer.after_change(each, _submitted(*key), now)) is not None
    ]
    await status_writer.write(tx, found, reached, now=now)
    await dispatches.update(tx, [_queried(each, connector) for each in maybe_paid])
    await _note(tx, [each.transaction for each in maybe_paid], "in_doubt", now=now)


def _submitted(merchant_id: str, transaction_id: str) -> StatusChange:
    return StatusChange(merchant_id=merchant_id, transaction_id=transaction_id, cause=Cause.SUBMITTED)


def _queried(record: PaymentRecord, connector: str) -> tuple[Key, Dispatch, float]:
    dispatch = _dispatch_of(record)
    queried = replace(
        dispatch,
        connector=dispatch.connector or connector,
        next_action=NextAction.QUERY,
        send_count=max(dispatch.send_count, 1),
        # A reason of its own for retries would be unknown to older workers, which stop at such a row.
        review_reason=ReviewReason.NOT_FOUND if record.transaction.refund_of is None else ReviewReason.EXCESS_REFUND,
    )
    return _key_of(record), queried, 0


async def _note(tx: Tx, payouts: Sequence[Transaction], act: str, *, now: datetime) -> None:
    for each in payouts:
        if each.refund_of is not None:
            action, of = f"refund.{act}", {"refund_of": each.refund_of}
        else:
            action, of = f"payout.{act}", {"retry_of": await retries.get(tx, each)}
        log.warning(action, transaction=each.id, **of)
        await audit_log.append(tx, _ACTOR, action, now=now, merchant_id=each.merchant_id, transaction=each.id, **of)
