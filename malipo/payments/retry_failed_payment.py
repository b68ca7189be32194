"""A payment that has failed is tried again as a new payment, once.

Its idempotency key names the payment that failed, so that two windows and two people make one. Only what is FAILED is
tried again: what is PROCESSING may still be paid. What its network has corrected since then is not, as it was paid;
nor is what was itself paid in place of such a payment.
A refund is not either: its collection is refunded again. Nor is a line of a batch: the batch pays its failed lines
again (`batches/retry_failed_items.py`), and a second way would pay them twice.
"""

import re
from typing import NamedTuple

from malipo.db import Conn
from malipo.payments.batches.batch import Batch, BatchStatus
from malipo.payments.batches.store import batches
from malipo.payments.retries import Standing
from malipo.payments.store import corrections, idempotency_keys, retries
from malipo.payments.transaction import Status, Transaction

_KEY = re.compile(r"dashboard-again-(txn_[0-9a-z]{26})-[0-9]{1,6}")


class PaymentRetry(NamedTuple):
    """The next one, and what was made of it already: a payment, or a batch of one that somebody else approves."""

    key: str
    made: Transaction | None = None
    submitted: Batch | None = None


def failed_in(key: str) -> str | None:
    """The id of the payment that an attempt with this key tries again; None: it is no such key."""
    found = _KEY.fullmatch(key)
    return None if found is None else found[1]


async def may_ask(connection: Conn, transaction: Transaction) -> bool:
    if transaction.status is not Status.FAILED or transaction.refund_of or transaction.batch_id:
        return False
    key = (transaction.merchant_id, transaction.id)
    if await corrections.find(connection, [key]):
        return False
    return (await retries.find(connection, [key]))[key] is not Standing.PAID


async def find_attempt(connection: Conn, failed: Transaction) -> PaymentRetry:
    """There is another attempt only where the one before was cancelled, and so has paid nothing. One that fails is
    itself tried again."""
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
