"""The payment of a customer's attempt, with what its page shows of it."""

from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn
from malipo.links.link import Late
from malipo.links.store.links import Key
from malipo.payments.store.transactions import COLUMNS, REFUNDS, refunds_of, transaction_of
from malipo.payments.transaction import Transaction


class CustomersAttempt(NamedTuple):
    payment: Transaction
    prompted_at: datetime  # the earliest time at which the prompt can have begun
    press_id: str | None = None  # of the page on which the customer pressed
    is_reported_paid: bool | None = None  # by the latest report after its end; None: nothing was reported since
    reported_at: datetime | None = None
    late: Late | None = None  # why its money came too late for the link
    refunded: int = 0


async def find(connection: Conn, link: Key, transaction_id: str) -> CustomersAttempt | None:
    """Find the attempt; None if the link has no such attempt."""
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS}, greatest(a.pressed_at, t.processing_at) AS prompted_at, a.press_id, a.late,
               c.is_paid AS is_reported_paid, c.since AS reported_at, {REFUNDS} AS refunds
        FROM link_attempts a
        JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
        LEFT JOIN corrections c ON c.merchant_id = a.merchant_id AND c.transaction_id = a.transaction_id
        WHERE a.merchant_id = $1 AND a.link_id = $2 AND a.transaction_id = $3
        """,
        *link,
        transaction_id,
    )
    if row is None:
        return None
    return CustomersAttempt(
        payment=transaction_of(row),
        prompted_at=row["prompted_at"],
        press_id=row["press_id"],
        is_reported_paid=row["is_reported_paid"],
        reported_at=row["reported_at"],
        late=None if row["late"] is None else Late(row["late"]),
        refunded=sum(each.amount for each in refunds_of(row["refunds"]) if each.is_paid),
    )
