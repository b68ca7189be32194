"""Payments that operators adopted from a statement."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.payments.network_keys import ending_sql
from malipo.payments.transaction import Transaction

# If a repeat of the lost request could not be recognized, payouts that resemble the adopted one wait for operators.
# That ends when the repeat has come, or when operators send such a payout this long after the adoption.
REPEATED_WITHIN = timedelta(days=30)


class Adoption(NamedTuple):
    is_undone: bool


def is_like_adopted_sql(created: str) -> str:
    """A condition: whether a new payout may be the repeat of an adopted payout, or of a lost refund whose network key
    cannot be known, because its collection was adopted from a line without a key. (A key that an operator's file adds
    to that line later is not the collection's.)"""
    return f"""
        {created}.type = 'DISBURSEMENT' AND (EXISTS (
            SELECT FROM adopted_payments a
            JOIN transactions p ON p.merchant_id = a.merchant_id AND p.id = a.transaction_id
            WHERE a.merchant_id = {created}.merchant_id AND a.phone = {created}.phone AND a.amount = {created}.amount
              AND a.channel = {created}.channel AND a.holds_until > now() AND a.undone_at IS NULL
              AND p.type = {created}.type)
        OR {created}.refund_of IS NOT NULL AND EXISTS (
            SELECT FROM adopted_payments a JOIN statement_lines l ON l.id = a.line_id
            JOIN transactions p ON p.merchant_id = a.merchant_id AND p.id = a.transaction_id
            WHERE a.merchant_id = {created}.merchant_id AND a.transaction_id = {created}.refund_of
              AND a.holds_until > now() AND {ending_sql("l.key")} <> p.network_key))
    """


async def find(connection: Conn, merchant_id: str, transaction_id: str) -> Adoption | None:
    """The adoption of this payment; None if it was not adopted."""
    row = await connection.fetchrow(
        """
        SELECT undone_at IS NOT NULL FROM adopted_payments WHERE merchant_id = $1 AND transaction_id = $2
        """,
        merchant_id,
        transaction_id,
    )
    return None if row is None else Adoption(*row.values())


async def find_undone(connection: Conn, keys: Sequence[tuple[str, str]]) -> set[tuple[str, str]]:
    """The payments whose adoption operators have undone."""
    rows = await connection.fetch(
        """
        SELECT merchant_id, transaction_id FROM adopted_payments
        WHERE undone_at IS NOT NULL AND (merchant_id, transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [merchant_id for merchant_id, _ in keys],
        [id_ for _, id_ in keys],
    )
    return {(row[0], row[1]) for row in rows}


async def insert(tx: Tx, payment: Transaction, line_id: int, *, is_repeat_recognized: bool, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO adopted_payments (merchant_id, transaction_id, line_id, channel, phone, amount, holds_until,
                                      adopted_at)
        VALUES ($1, $2, $3, $4, $5, $6, CASE WHEN $7 THEN NULL ELSE 'infinity'::timestamptz END, $8)
        """,
        payment.merchant_id,
        payment.id,
        line_id,
        payment.channel,
        payment.phone,
        payment.amount,
        is_repeat_recognized,
        now,
    )


async def set_undone(tx: Tx, payment: Transaction, *, now: datetime) -> None:
    """Undo an adoption. Its idempotency key becomes free, because only a repeat by the merchant shows which request the
    payment was."""
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


async def give_up_keys(tx: Tx, receipt: str, amount: int, *, paid_key: str | None = None) -> list[str]:
    """Free the network keys of the undone adoptions of a line, found by its receipt and amount, because operators
    decide again which payment the line belongs to. A key that the network has certainly paid is kept. Returns the
    payments whose keys are free."""
    rows = await tx.fetch(
        """
        UPDATE transactions t SET network_key = t.id FROM adopted_payments a
        WHERE a.undone_at IS NOT NULL AND t.merchant_id = a.merchant_id AND t.id = a.transaction_id
          AND t.provider_reference = $1 AND t.amount = $2 AND t.network_key <> t.id
          AND t.network_key IS DISTINCT FROM $3
        RETURNING t.id
        """,
        receipt,
        amount,
        paid_key,
    )
    return [row["id"] for row in rows]


async def stop_waiting(tx: Tx, payout: Transaction, *, adopted_before: datetime, now: datetime) -> None:
    """Let payouts like this one no longer wait for the first adopted payment that it resembles, if that was adopted
    before this time: operators have decided about this one."""
    await tx.execute(
        """
        UPDATE adopted_payments a SET holds_until = $5
        WHERE (a.merchant_id, a.transaction_id) = (
            SELECT o.merchant_id, o.transaction_id FROM adopted_payments o
            WHERE o.merchant_id = $1 AND o.phone = $2 AND o.amount = $3 AND o.channel = $4 AND o.holds_until > $5
              AND o.undone_at IS NULL AND o.adopted_at < $6
            ORDER BY o.adopted_at, o.transaction_id LIMIT 1)
        """,
        payout.merchant_id,
        payout.phone,
        payout.amount,
        payout.channel,
        now,
        adopted_before,
    )


def receipts_of_adopted_sql(payment: str) -> str:
    """An array of the receipts of adopted collections that resemble this one and whose repeats cannot be recognized.
    Most installations have no adopted payments, so each statement first checks whether there are any."""
    return f"""
        CASE WHEN {payment}.type = 'COLLECTION' AND (SELECT EXISTS (
            SELECT FROM adopted_payments WHERE holds_until IS NOT NULL))
        THEN ARRAY(
            SELECT l.receipt FROM adopted_payments a JOIN statement_lines l ON l.id = a.line_id
            WHERE a.merchant_id = {payment}.merchant_id AND a.phone = {payment}.phone
              AND a.amount = {payment}.amount AND a.channel = {payment}.channel AND a.holds_until IS NOT NULL
              AND a.undone_at IS NULL AND a.transaction_id <> {payment}.id)
        ELSE '{{}}' END
    """


async def find_receipts_like(connection: Conn, payment: Transaction) -> list[str]:
    """The receipts of the adopted collections that this collection may repeat."""
    found: list[str] | None = await connection.fetchval(
        f"SELECT {receipts_of_adopted_sql('t')} FROM transactions t WHERE t.merchant_id = $1 AND t.id = $2",
        payment.merchant_id,
        payment.id,
    )
    return found or []


def is_on_open_line_sql(key: str) -> str:
    """A condition: whether a line of a statement without a payment names this network key. Then its network has paid
    it."""
    return f"""
        {key} IN (SELECT {ending_sql("l.key")} FROM open_statement_lines o JOIN statement_lines l ON l.id = o.line_id
                  WHERE l.key <> '')
    """


async def give_up_key_of_repeat(tx: Tx, repeat: Transaction) -> None:
    """Free the network key of a payout that operators found to repeat an adopted one. Nothing was sent under this key,
    so a later report about the key is not about this payout."""
    await tx.execute(
        "UPDATE transactions SET network_key = id WHERE merchant_id = $1 AND id = $2", repeat.merchant_id, repeat.id
    )


async def take_key(tx: Tx, adopted: Transaction, key: str) -> None:
    """Give an adopted payment the network key that its line, which had none, has by now."""
    await tx.execute(
        "UPDATE transactions SET network_key = $3 WHERE merchant_id = $1 AND id = $2",
        adopted.merchant_id,
        adopted.id,
        key,
    )
