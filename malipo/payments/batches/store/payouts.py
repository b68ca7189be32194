"""The payouts of batches. Their ids follow one another, so the payouts of a batch are one range of the primary key.

Payouts that a lost approval had created, and that were adopted from a statement, are not in that range: their items
name them.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from malipo import clock, ids
from malipo.db import Conn
from malipo.payments.batches.batch import Batch, BatchItem
from malipo.payments.store.transactions import COLUMNS, transaction_of
from malipo.payments.transaction import Status, Transaction


class KnownPayment(NamedTuple):
    """A payment that has the network key of an item, though its batch was not approved."""

    payment: Transaction
    is_undone: bool  # operators adopted it, and undid that


async def find_known(connection: Conn, items: Sequence[BatchItem]) -> dict[int, KnownPayment]:
    """The payments that have the network keys of these items already, by the items' index."""
    rows = await connection.fetch(
        f"""
        SELECT requested.item_index, a.undone_at IS NOT NULL AS is_undone, {COLUMNS}
        FROM unnest($1::integer[], $2::text[], $3::text[]) AS requested (item_index, channel, network_key)
        JOIN transactions t ON t.channel = requested.channel AND t.network_key = requested.network_key
        LEFT JOIN adopted_payments a ON a.merchant_id = t.merchant_id AND a.transaction_id = t.id
        """,
        [item.index for item in items],
        [item.channel for item in items],
        [item.network_key for item in items],
    )
    return {row["item_index"]: KnownPayment(transaction_of(row), row["is_undone"]) for row in rows}


async def find_adopted(connection: Conn, batch: Batch) -> dict[int, Transaction]:
    """The adopted payouts of a batch, by the index of their items."""
    if not batch.adopted_count:
        return {}
    rows = await connection.fetch(
        f"""
        SELECT i.item_index, {COLUMNS} FROM batch_items i
        JOIN transactions t ON t.merchant_id = i.merchant_id AND t.id = i.payout_id
        WHERE i.merchant_id = $1 AND i.batch_id = $2
        """,
        batch.merchant_id,
        batch.id,
    )
    return {row["item_index"]: transaction_of(row) for row in rows}


async def find_indexes(connection: Conn, batch: Batch, status: Status) -> list[int]:
    """The indexes of the items of an approved batch whose payouts have this status."""
    wanted = set(await find_ids(connection, batch, status))
    adopted = await find_adopted(connection, batch)
    return [
        index
        for index in range(batch.item_count)
        if (adopted[index].status is status if index in adopted else batch.payout_id(index) in wanted)
    ]


async def count_by_status(connection: Conn, batch: Batch) -> dict[Status, int]:
    """The number of a batch's payouts by status. Empty before it is approved."""
    if batch.first_payout_id is None:
        return {}
    rows = await connection.fetch(
        "SELECT status, count(*) FROM transactions WHERE merchant_id = $1 AND id BETWEEN $2 AND $3 GROUP BY status",
        batch.merchant_id,
        *batch.payout_ids,
    )
    counts = {Status(row[0]): int(row[1]) for row in rows}
    for adopted in (await find_adopted(connection, batch)).values():
        counts[adopted.status] = counts.get(adopted.status, 0) + 1
    return counts


async def find_last_end(connection: Conn, batch: Batch) -> datetime | None:
    """When the last payout of an approved batch ended. If all were adopted: when the batch was approved."""
    found: datetime | None = await connection.fetchval(
        "SELECT max(ended_at) FROM transactions WHERE merchant_id = $1 AND id BETWEEN $2 AND $3",
        batch.merchant_id,
        *batch.payout_ids,
    )
    return found or batch.approved_at


async def find_ids(connection: Conn, batch: Batch, status: Status) -> list[str]:
    """The ids of the payouts with this status that the approval of a batch has created."""
    rows = await connection.fetch(
        "SELECT id FROM transactions WHERE merchant_id = $1 AND id BETWEEN $2 AND $3 AND status = $4 ORDER BY id",
        batch.merchant_id,
        *batch.payout_ids,
        status,
    )
    return [row["id"] for row in rows]


async def find_page(connection: Conn, batch: Batch, *, first: int, limit: int) -> dict[int, Transaction]:
    """The payouts of a page of an approved batch's items, by the items' index."""
    last = min(first + limit, batch.item_count) - 1
    if last < first:
        return {}
    rows = await connection.fetch(
        f"SELECT {COLUMNS} FROM transactions t WHERE t.merchant_id = $1 AND t.id BETWEEN $2 AND $3 ORDER BY t.id",
        batch.merchant_id,
        batch.payout_id(first),
        batch.payout_id(last),
    )
    by_id = {row["id"]: transaction_of(row) for row in rows}
    of_series = {index: by_id.get(batch.payout_id(index)) for index in range(first, last + 1)}
    payouts = {index: payout for index, payout in of_series.items() if payout is not None}
    return payouts | await find_adopted(connection, batch)


async def find_paid(
    connection: Conn, merchant_id: str, phones: Sequence[str], *, since: datetime
) -> dict[tuple[str, int], str]:
    """Payouts to these numbers that are paid or being paid: number and amount → the id of the latest one. A failed
    payout that turned out paid counts; a paid one that turned out not to be paid does not."""
    rows = await connection.fetch(
        """
        SELECT t.phone, t.amount, max(t.id) FROM unnest($2::text[]) AS requested (phone)
        JOIN transactions t ON t.merchant_id = $1 AND t.phone = requested.phone AND t.id >= $3
        LEFT JOIN corrections c ON c.merchant_id = t.merchant_id AND c.transaction_id = t.id
        WHERE t.type = 'DISBURSEMENT'
          AND coalesce(c.is_paid, t.status IN ('PENDING', 'PROCESSING', 'COMPLETED'))
        GROUP BY t.phone, t.amount
        """,
        merchant_id,
        list(phones),
        ids.first_of("txn_", clock.milliseconds(since)),
    )
    return {(row[0], row[1]): row[2] for row in rows}
