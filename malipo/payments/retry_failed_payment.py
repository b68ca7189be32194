"""Pays a failed payment again as a new payment, once. The new payment's idempotency key names the failed payment, so
two windows or two people make one payment.

These are refused: a PROCESSING payment, because it may still be paid; a payment that its network has since reported as
paid, or that was itself made in place of one; a refund, because its collection is refunded again; and an item of a
batch, because the batch pays its failed items again (`batches/retry_failed_items.py`), and a second way would pay them
twice.
"""

import re
from typing import NamedTuple

from malipo.db import Conn
from malipo.payments.batches.batch import Batch, BatchStatus
from malipo.payments.batches.store import batches
from malipo.payments.retried_outcome import RetriedOutcome
from malipo.payments.store import corrections, idempotency_keys, retries
from malipo.payments.transaction import Status, Transaction

_KEY = re.compile(r"dashboard-again-(txn_[0-9a-z]{26})-[0-9]{1,6}")


class PaymentRetry(NamedTuple):
    """The number of the next attempt, and what the attempt before it made: a payment, or a batch of one item."""

    key: str
    made: Transaction | None = None
    submitted: Batch | None = None


def failed_in(key: str) -> str | None:
    """The id of the failed payment that this idempotency key tries again; None if it is another kind of key."""
    found = _KEY.fullmatch(key)
    return None if found is None else found[1]


async def may_retry(connection: Conn, transaction: Transaction) -> bool:
    if transaction.status is not Status.FAILED or transaction.refund_of or transaction.batch_id:
        return False
    key = (transaction.merchant_id, transaction.id)
    if await corrections.find(connection, [key]):
        return False
    return (await retries.find(connection, [key]))[key] is not RetriedOutcome.PAID


async def find_attempt(connection: Conn, failed: Transaction) -> PaymentRetry:
    """Which attempt comes next. There is another one only if the one before was cancelled, and so has paid nothing. An
    attempt that fails is itself tried again."""
    number = 1
    while True:
        key = f"dashboard-again-{failed.id}-{number}"
        scoped = (failed.merchant_id, failed.type, key)
        used = (await idempotency_keys.find(connection, [scoped])).get(scoped)
        if used is not None and used[1].status is not Status.CANCELLED:
            return PaymentRetry(key, made=used[1])
        submitted = await batches.find_by_key(connection, failed.merchant_id, key)
        if submitted is not None and submitted.batch.status is not BatchStatus.CANCELLED:
            return PaymentRetry(key, submitted=submitted.batch)
        if used is None and submitted is None:
            return PaymentRetry(key)
        number += 1
