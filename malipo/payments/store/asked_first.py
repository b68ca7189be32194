"""Dispatches after a restore: open payments whose network must be queried first."""

from collections.abc import Collection
from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.networks.connector import Channel, Type
from malipo.payments.store.adopted_payments import is_on_open_line_sql
from malipo.payments.store.carriers import is_carrier_sql
from malipo.payments.store.dispatches import DISPATCH, PaymentRecord, columns_of, find_records
from malipo.payments.store.transactions import COLUMNS, Key
from malipo.restore.store import installation

_CAME_LATE = "connector IS NULL AND sent_at IS NULL AND NOT is_asked_first"


async def claim_asked_first(
    tx: Tx, connector: str, routes: Collection[tuple[Channel, Type]], *, lease_seconds: float, most: int
) -> list[PaymentRecord]:
    """Claim payments that as far as we know were not sent, and whose network must be queried before they are sent.

    A connector is queried about the routes that it carries now, and about those that it carried when the database was
    lost, unless it has answered that it does not have the payment.
    """
    return await find_records(
        tx,
        f"""
        WITH due AS (
            SELECT merchant_id, transaction_id FROM dispatches q
            WHERE is_asked_first AND connector IS NULL AND due_at <= now() AND $1 <> ALL(not_known_to)
              AND ((channel, type) IN (SELECT * FROM unnest($2::text[], $3::text[])) OR {is_carrier_sql("$1", "q")})
            ORDER BY due_at LIMIT $5 FOR UPDATE SKIP LOCKED)
        UPDATE dispatches d SET due_at = now() + $4 * interval '1 second'
        FROM due JOIN transactions t ON t.merchant_id = due.merchant_id AND t.id = due.transaction_id
        WHERE d.merchant_id = due.merchant_id AND d.transaction_id = due.transaction_id
        RETURNING {COLUMNS}, {DISPATCH}
        """,
        connector,
        [channel for channel, _ in routes],
        [type_ for _, type_ in routes],
        float(lease_seconds),
        most,
    )


async def ask_all_first(tx: Tx) -> int:
    """Have all open payments queried first, because they may have been sent, or ended, in the time that a restore has
    lost. Returns their number.

    A payment that was sent counts as sent now, so that "not found" is not believed before the network had time to find
    it.
    """
    rows = await tx.fetch(
        """
        UPDATE dispatches SET is_asked_first = (connector IS NULL), sent_at = now(), claim_id = NULL,
               due_at = CASE WHEN attention = 'resembles_adopted' THEN due_at ELSE now() END,
               next_action = CASE WHEN connector IS NULL THEN 'send' ELSE 'ask' END,
               send_count = CASE WHEN connector IS NULL THEN send_count ELSE greatest(send_count, 1) END,
               query_count = 0, not_found_count = 0, not_indexed_count = 0, not_known_to = '{}'
        WHERE NOT is_follow_up RETURNING 1
        """
    )
    return len(rows)


async def ask_first_what_came_late(tx: Tx) -> None:
    """Have new payments queried first that were being committed when the fence began, and that `ask_all_first`
    missed."""
    await tx.execute(
        f"""
        UPDATE dispatches SET is_asked_first = true, due_at = now(), sent_at = {installation.EPOCH_BEGAN_AT}
        WHERE {_CAME_LATE}
        """
    )


async def release_asked_first(tx: Tx, channel: str, type_: str) -> int:
    """Let the waiting payments of a channel be sent without a query, unless a line of a statement shows that they were
    paid: operators have released the channel. Returns their number."""
    rows = await tx.fetch(
        f"""
        UPDATE dispatches d SET is_asked_first = false, attention = NULL, due_at = now()
        FROM transactions t
        WHERE t.merchant_id = d.merchant_id AND t.id = d.transaction_id AND d.is_asked_first AND d.connector IS NULL
          AND d.channel = $1 AND d.type = $2 AND d.attention IS DISTINCT FROM 'resembles_adopted'
          AND NOT {is_on_open_line_sql("t.network_key")}
        RETURNING 1
        """,
        channel,
        type_,
    )
    return len(rows)


async def find_asked_first(connection: Conn, keys: Collection[Key]) -> set[Key]:
    """The payments whose network must be queried before they are sent."""
    rows = await connection.fetch(
        """
        SELECT merchant_id, transaction_id FROM dispatches
        WHERE is_asked_first AND (merchant_id, transaction_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        *columns_of(keys),
    )
    return {(row["merchant_id"], row["transaction_id"]) for row in rows}


class OpenPayments(NamedTuple):
    """The number of open payments of one kind, and their amount."""

    channel: str
    type: str
    status: str
    is_asked_first: bool
    review_reason: str | None
    payments: int
    amount: int
    not_asked: int  # payments whose network has not answered since the restore


async def find_open(connection: Conn) -> list[OpenPayments]:
    """The open payments by kind. A payment that was committed late counts as queried first already, because the release
    makes it so (`ask_first_what_came_late`)."""
    rows = await connection.fetch(
        f"""
        SELECT d.channel, d.type, t.status, d.asked_first, d.attention, count(*), sum(t.amount)::bigint,
               count(*) FILTER (WHERE d.query_count = 0 AND (d.asked_first OR d.connector IS NOT NULL))
        FROM (SELECT *, is_asked_first OR ({_CAME_LATE} AND {installation.IS_FENCED}) AS asked_first
              FROM dispatches) d
        JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
        WHERE NOT d.is_follow_up GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5
        """
    )
    return [OpenPayments(*row.values()) for row in rows]
