"""Payments that operators adopted from a statement."""

from datetime import datetime, timedelta
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.payments.transaction import Transaction

# For this long a payout like an adopted one waits for operators, if a repeat of the lost request cannot be recognized.
HOLDS = timedelta(days=30)


class Adopted(NamedTuple):
    is_undone: bool


def is_like_adopted_sql(created: str) -> str:
    """Whether a new payout may be the repeat of one that was adopted, as a condition."""
    return f"""
        {created}.type = 'DISBURSEMENT' AND EXISTS (
            SELECT FROM adopted_payments a
            WHERE a.merchant_id = {created}.merchant_id AND a.phone = {created}.phone AND a.amount = {created}.amount
              AND a.channel = {created}.channel AND a.holds_until > now() AND a.undone_at IS NULL)
    """


async def find(connection: Conn, merchant_id: str, transaction_id: str) -> Adopted | None:
    """None: the payment was not adopted."""
    row = await connection.fetchrow(
        """
        SELECT undone_at IS NOT NULL FROM adopted_payments WHERE merchant_id = $1 AND transaction_id = $2
        """,
        merchant_id,
        transaction_id,
    )
    return None if row is None else Adopted(*row.values())


async def insert(tx: Tx, payment: Transaction, line_id: int, *, is_repeat_recognized: bool, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO adopted_payments (merchant_id, transaction_id, line_id, channel, phone, amount, holds_until,
                                      adopted_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
        """,
        payment.merchant_id,
        payment.id,
        line_id,
        payment.channel,
        payment.phone,
        payment.amount,
        None if is_repeat_recognized else now + HOLDS,
        now,
    )


async def set_undone(tx: Tx, payment: Transaction, *, now: datetime) -> None:
    """Its idempotency key is free: only its merchant's repeat can tell whether it was theirs."""
    await tx.execute(
        "UPDATE adopted_payments SET undone_at = $3 WHERE merchant_id = $1 AND transaction_id = $2",
        payment.merchant_id,
        payment.id,
        now,
    )
    await tx.execute(
        "DELETE FROM idempotency_keys WHERE merchant_id = $1 AND transaction_id = $2 AND request_hash = ''",
        payment.merchant_id,
        payment.id,
    )


async def give_up_key(tx: Tx, undone: Transaction) -> None:
    """The line of an adoption that was undone is adopted again: its network key goes to the new payment."""
    await tx.execute(
        "UPDATE transactions SET network_key = id WHERE merchant_id = $1 AND id = $2", undone.merchant_id, undone.id
    )


async def take_key(tx: Tx, adopted: Transaction, key: str) -> None:
    """A line that had no key when it was adopted has one by now: it is the payment's."""
    await tx.execute(
        "UPDATE transactions SET network_key = $3 WHERE merchant_id = $1 AND id = $2",
        adopted.merchant_id,
        adopted.id,
        key,
    )
