"""The SQL that finds payments for decisions about lines: by name, by receipt, by number and amount."""

from datetime import datetime, timedelta

from malipo import clock, ids
from malipo.db import Conn
from malipo.networks.connector import Channel, Type
from malipo.payments.network_keys import ending_sql
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Transaction
from malipo.reconciliation.matching.payment_times import BEFORE
from malipo.reconciliation.statements.statement_file import FETCHED_BY

_REFUNDED_WITHIN = timedelta(days=180)
_MOST_COLLECTIONS = 1000


async def find(connection: Conn, id_or_reference: str) -> Transaction | None:
    """A payment of any merchant, by its id or reference."""
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS} FROM transactions t WHERE t.reference = $1
        UNION ALL
        SELECT {COLUMNS} FROM merchants m JOIN transactions t ON t.merchant_id = m.id AND t.id = $1
        """,
        id_or_reference,
    )
    return None if row is None else transaction_of(row)


async def find_by_receipt(connection: Conn, receipt: str, *, since: datetime) -> Transaction | None:
    """A payment of any merchant with this receipt, created at most three days before `since` or later, without undone
    adoptions. There is no index of receipts, and this query is rare."""
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS} FROM merchants m CROSS JOIN LATERAL (
            SELECT * FROM transactions p WHERE p.merchant_id = m.id AND p.id >= $2 AND p.provider_reference = $1
              AND NOT EXISTS (SELECT FROM adopted_payments a WHERE a.merchant_id = p.merchant_id
                              AND a.transaction_id = p.id AND a.undone_at IS NOT NULL)
            LIMIT 1
        ) t LIMIT 1
        """,
        receipt,
        ids.first_of("txn_", clock.milliseconds(since - BEFORE)),
    )
    return None if row is None else transaction_of(row)


def has_other_line_sql(receipt: str) -> str:
    """A condition: whether another line than the one of this receipt has the receipt of the payment `t`."""
    return f"""
        EXISTS (SELECT FROM statement_lines o
                WHERE o.channel = t.channel
                  AND o.account IN (SELECT f.account FROM statement_files f WHERE f.channel = t.channel)
                  AND o.receipt = t.provider_reference AND o.receipt <> {receipt} AND abs(o.amount) = t.amount)
    """


# Payments of a merchant, type, channel, number and amount, since a moment, that have no line.
_WITHOUT_LINE = f"""
    t.merchant_id = $1 AND t.type = $2 AND t.channel = $3 AND t.phone = $4 AND t.amount = $5 AND t.id >= $6
    AND NOT EXISTS (SELECT FROM statement_matches s
                    WHERE s.merchant_id = t.merchant_id AND s.transaction_id = t.id AND s.role = 'payment')
    AND NOT {has_other_line_sql("$8")}
"""


async def has_other_line(connection: Conn, payment: Transaction, receipt: str) -> bool:
    """Whether another line than the one with this receipt has the receipt of the payment."""
    return bool(
        await connection.fetchval(
            f"SELECT {has_other_line_sql('$3')} FROM transactions t WHERE t.merchant_id = $1 AND t.id = $2",
            payment.merchant_id,
            payment.id,
            receipt,
        )
    )


async def find_like(
    connection: Conn,
    merchant_id: str,
    type_: Type,
    channel: Channel,
    phone: str,
    amount: int,
    *,
    receipt: str,
    since: datetime,
    or_failed: bool,
) -> Transaction | None:
    """A payment of the same number and amount without a line, that is paid or open; with `or_failed`, also one that was
    sent and has failed, because its network may still report that it was paid. Not an undone adoption or a repeat."""
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS} FROM transactions t
        LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
        WHERE {_WITHOUT_LINE}
          AND (t.ended_at IS NULL OR coalesce(c.is_paid, t.status = 'COMPLETED')
               OR ($7 AND t.status = 'FAILED' AND t.processing_at IS NOT NULL AND t.network_key <> t.id))
        ORDER BY t.id LIMIT 1
        """,
        merchant_id,
        type_,
        channel,
        phone,
        amount,
        ids.first_of("txn_", clock.milliseconds(since)),
        or_failed,
        receipt,
    )
    return None if row is None else transaction_of(row)


async def find_other_like(
    connection: Conn, payment: Transaction, amount: int, *, receipt: str, since: datetime
) -> Transaction | None:
    """Another payment of the same number without a line that may be the payment of a line of this amount: it is paid or
    open, or has failed while its network is still queried."""
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS} FROM transactions t
        LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
        LEFT JOIN dispatches d ON d.merchant_id = t.merchant_id AND d.transaction_id = t.id
        WHERE {_WITHOUT_LINE} AND t.id <> $7 AND t.network_key <> t.id
          AND (t.ended_at IS NULL OR coalesce(c.is_paid, t.status = 'COMPLETED') OR d.transaction_id IS NOT NULL)
        ORDER BY t.id LIMIT 1
        """,
        payment.merchant_id,
        payment.type,
        payment.channel,
        payment.phone,
        amount,
        ids.first_of("txn_", clock.milliseconds(since)),
        payment.id,
        receipt,
    )
    return None if row is None else transaction_of(row)


async def find_refundable(
    connection: Conn, merchant_id: str, channel: Channel, phone: str, *, least: int, before: datetime
) -> list[Transaction]:
    """Collections from this number that a payout at that time may have refunded, the latest first. Also later ones,
    because a lost collection that was repeated or adopted is new."""
    rows = await connection.fetch(
        f"""
        SELECT {COLUMNS} FROM transactions t
        WHERE merchant_id = $1 AND id >= $5 AND type = 'COLLECTION' AND channel = $2 AND phone = $3
          AND amount >= $4 AND processing_at IS NOT NULL
        ORDER BY id DESC LIMIT $6
        """,
        merchant_id,
        channel,
        phone,
        least,
        ids.first_of("txn_", clock.milliseconds(before - _REFUNDED_WITHIN)),
        _MOST_COLLECTIONS,
    )
    return [transaction_of(row) for row in rows]


async def find_of_line(connection: Conn, line_id: int) -> Transaction | None:
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS} FROM statement_matches m
        JOIN transactions t ON t.merchant_id = m.merchant_id AND t.id = m.transaction_id WHERE m.line_id = $1
        """,
        line_id,
    )
    return None if row is None else transaction_of(row)


async def find_adopted_with_key(connection: Conn) -> list[tuple[Transaction, str]]:
    """Adopted payments whose repeats are not recognized, with the keys that fetched files have for their lines by now.
    (An operator's file could be invented.)"""
    rows = await connection.fetch(
        f"""
        SELECT fetched.key AS written, {COLUMNS} FROM adopted_payments a
        JOIN statement_matches m ON m.merchant_id = a.merchant_id AND m.transaction_id = a.transaction_id
             AND m.role = 'payment'
        JOIN statement_lines l ON l.id = m.line_id AND l.key <> ''
        JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
        CROSS JOIN LATERAL (
            SELECT k.key FROM statement_line_copies k JOIN statement_files f ON f.id = k.file_id
            WHERE k.line_id = l.id AND k.key <> '' AND f.imported_by = '{FETCHED_BY}' AND f.withdrawn_at IS NULL
            ORDER BY f.imported_at, f.id LIMIT 1
        ) fetched
        WHERE a.holds_until IS NOT NULL AND a.undone_at IS NULL AND {ending_sql("l.key")} <> t.network_key
        ORDER BY t.id
        """
    )
    return [(transaction_of(row), row["written"]) for row in rows]
