"""The payment of a customer's attempt, with what its page shows of it."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn
from malipo.links.link import Late
from malipo.links.store.attempts import IS_UNSENT, PROMPTED_AT, WITH_QUEUE
from malipo.links.store.links import Key
from malipo.links.store.lost_attempts import ADOPTED
from malipo.payments.store.transactions import COLUMNS, REFUNDS, refunds_of, transaction_of
from malipo.payments.store.transactions import Key as PaymentKey
from malipo.payments.transaction import Status, Transaction


class CustomersAttempt(NamedTuple):
    payment: Transaction
    prompted_at: datetime  # the earliest time at which the prompt can have begun
    is_unsent: bool = False  # nothing that was sent can have reached its network
    press_id: str | None = None  # of the page on which the customer pressed
    is_reported_paid: bool | None = None  # by the latest report after its end; None: nothing was reported since
    reported_at: datetime | None = None
    is_counted: bool = True  # for its link; before that, nobody knows whether its money came too late
    late: Late | None = None  # why its money came too late for the link
    refunded: int = 0

    @property
    def status(self) -> Status:
        """As the page shows it: a payment whose network could not be reached is waiting, as before its first send."""
        return _shown(self.payment.status, is_unsent=self.is_unsent)


def _shown(status: Status, *, is_unsent: bool) -> Status:
    return Status.PENDING if status is Status.PROCESSING and is_unsent else status


async def find(connection: Conn, link: Key, transaction_id: str) -> CustomersAttempt | None:
    """Find the attempt; None if the link has no such attempt."""
    row = await connection.fetchrow(
        f"""
        SELECT {COLUMNS}, {PROMPTED_AT} AS prompted_at, {IS_UNSENT} AS is_unsent, a.press_id, a.is_counted, a.late,
               c.is_paid AS is_reported_paid, c.since AS reported_at, {REFUNDS} AS refunds
        FROM link_attempts a
        JOIN transactions t ON t.merchant_id = a.merchant_id AND t.id = a.transaction_id
        {WITH_QUEUE}
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
        is_unsent=row["is_unsent"],
        press_id=None if row["press_id"] is None else row["press_id"].removeprefix(ADOPTED),
        is_reported_paid=row["is_reported_paid"],
        reported_at=row["reported_at"],
        is_counted=row["is_counted"],
        late=None if row["late"] is None else Late(row["late"]),
        refunded=sum(each.amount for each in refunds_of(row["refunds"]) if each.is_paid),
    )


async def find_statuses(connection: Conn, payments: Collection[PaymentKey]) -> dict[PaymentKey, Status]:
    """The statuses of these payments, as their pages show them."""
    rows = await connection.fetch(
        f"""
        SELECT t.merchant_id, t.id, t.status, {IS_UNSENT} AS is_unsent FROM transactions t {WITH_QUEUE}
        WHERE (t.merchant_id, t.id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [merchant_id for merchant_id, _ in payments],
        [id_ for _, id_ in payments],
    )
    return {(row["merchant_id"], row["id"]): _shown(Status(row["status"]), is_unsent=row["is_unsent"]) for row in rows}
