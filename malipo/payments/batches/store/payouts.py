"""The payouts of batches. Their ids follow one another, so that those of a batch are one range of the primary key."""

from collections.abc import Sequence
from datetime import datetime

from malipo import clock, ids
from malipo.db import Conn
from malipo.payments.batches.batch import Batch
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Status, Transaction


async def count_by_status(connection: Conn, batch: Batch) -> dict[Status, int]:
    """Empty before it is approved."""
    if batch.first_payout_id is None:
        return {}
    rows = await connection.fetch(
        "SELECT status, count(*) FROM transactions WHERE merchant_id = $1 AND id BETWEEN $2 AND $3 GROUP BY status",
        batch.merchant_id,
        *batch.payout_ids,
    )
    return {Status(row[0]): row[1] for row in rows}


async def find_last_end(connection: Conn, batch: Batch) -> datetime | None:
    """When the last payout ended of a batch that was approved."""
    found: datetime | None = await connection.fetchval(
        "SELECT max(ended_at) FROM transactions WHERE merchant_id = $1 AND id BETWEEN $2 AND $3",
        batch.merchant_id,
        *batch.payout_ids,
    )
    return found


async def find_ids(connection: Conn, batch: Batch, status: Status) -> list[str]:
    """Of the payouts of a batch that was approved, those that have this status."""
    rows = await connection.fetch(
        "SELECT id FROM transactions WHERE merchant_id = $1 AND id BETWEEN $2 AND $3 AND status = $4 ORDER BY id",
        batch.merchant_id,
        *batch.payout_ids,
        status,
    )
    return [row["id"] for row in rows]


async def find_page(connection: Conn, batch: Batch, *, first: int, limit: int) -> list[Transaction]:
    """Of a batch that was approved: the payouts of these items, in their order."""
    last = min(first + limit, batch.item_count) - 1
    if last < first:
        return []
    rows = await connection.fetch(
        f"SELECT {COLUMNS} FROM transactions t WHERE t.merchant_id = $1 AND t.id BETWEEN $2 AND $3 ORDER BY t.id",
        batch.merchant_id,
        batch.payout_id(first),
        batch.payout_id(last),
    )
    return [transaction_of(row) for row in rows]


async def find_paid(
    connection: Conn, merchant_id: str, phones: Sequence[str], *, since: datetime
) -> dict[tuple[str, int], str]:
    """What was paid out, or is being paid out, to these numbers: number and amount → the id of the latest payout."""
    rows = await connection.fetch(
        """
        SELECT t.phone, t.amount, max(t.id) FROM unnest($2::text[]) AS asked (phone)
        JOIN transactions t ON t.merchant_id = $1 AND t.phone = asked.phone AND t.id >= $3
        WHERE t.type = 'DISBURSEMENT' AND t.status IN ('PENDING', 'PROCESSING', 'COMPLETED')
        GROUP BY t.phone, t.amount
        """,
        merchant_id,
        list(phones),
        ids.first_of("txn_", clock.milliseconds(since)),
    )
    return {(row[0], row[1]): row[2] for row in rows}
