"""Items of batches."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.networks.connector import Channel
from malipo.payments.batches.batch import Batch, BatchItem
from malipo.payments.transaction import Transaction

_COLUMNS = """
    item_index, channel, amount, fee, phone, name, description, order_reference, refund_of, retry_of, network_key,
    payout_id, name_found, name_checked_at
"""

_encode = msgspec.json.Encoder().encode
_CHANNELS = {each.value: each for each in Channel}


def _item_of(row: Row) -> BatchItem:
    return BatchItem(
        index=row["item_index"],
        channel=_CHANNELS[row["channel"]],
        amount=row["amount"],
        fee=row["fee"],
        phone=row["phone"],
        name=row["name"],
        description=row["description"],
        order_reference=row["order_reference"],
        refund_of=row["refund_of"],
        retry_of=row["retry_of"],
        network_key=row["network_key"],
        payout_id=row["payout_id"],
        name_found=row["name_found"],
        name_checked_at=row["name_checked_at"],
    )


async def insert(tx: Tx, batch: Batch, items: Sequence[BatchItem]) -> None:
    await tx.execute(
        f"""
        INSERT INTO batch_items (merchant_id, batch_id, {_COLUMNS})
        SELECT $1, $2, index, channel, amount, fee, phone, name, description, order_reference, refund_of, retry_of,
               network_key, payout_id, name_found, name_checked_at
        FROM json_to_recordset($3) AS new (
            index integer, channel text, amount bigint, fee bigint, phone text, name text, description text,
            order_reference text, refund_of text, retry_of text, network_key text, payout_id text, name_found text,
            name_checked_at timestamptz)
        """,
        batch.merchant_id,
        batch.id,
        _encode(items).decode(),
    )


async def find_all(connection: Conn, batch: Batch) -> list[BatchItem]:
    return await find_page(connection, batch, first=0, limit=batch.item_count)


async def find_page(connection: Conn, batch: Batch, *, first: int, limit: int) -> list[BatchItem]:
    """Items in their order, from this index on."""
    rows = await connection.fetch(
        f"""
        SELECT {_COLUMNS} FROM batch_items
        WHERE merchant_id = $1 AND batch_id = $2 AND item_index >= $3 AND item_index < $4 ORDER BY item_index
        """,
        batch.merchant_id,
        batch.id,
        first,
        first + limit,
    )
    return [_item_of(row) for row in rows]


async def find_by_network_key(connection: Conn, key: str) -> tuple[str, BatchItem] | None:
    """The item with this network key, and the id of its merchant."""
    row = await connection.fetchrow(f"SELECT merchant_id, {_COLUMNS} FROM batch_items WHERE network_key = $1", key)
    return None if row is None else (row["merchant_id"], _item_of(row))


async def find_awaiting(connection: Conn, merchant_id: str, phones: Sequence[str]) -> dict[tuple[str, int], str]:
    """Items for these numbers that await approval: number and amount → the id of a batch."""
    rows = await connection.fetch(
        """
        SELECT i.phone, i.amount, min(b.id) FROM batches b
        JOIN batch_items i ON i.merchant_id = b.merchant_id AND i.batch_id = b.id
        WHERE b.merchant_id = $1 AND b.status = 'AWAITING_APPROVAL' AND i.phone = ANY($2)
        GROUP BY i.phone, i.amount
        """,
        merchant_id,
        list(phones),
    )
    return {(row[0], row[1]): row[2] for row in rows}


async def set_adopted(tx: Tx, batch: Batch, payout_ids: Mapping[int, str]) -> None:
    """Store which adopted payouts items have, by index: an approval that a restore lost had created them."""
    await tx.execute(
        """
        UPDATE batch_items i SET payout_id = new.payout_id
        FROM unnest($3::integer[], $4::text[]) AS new (item_index, payout_id)
        WHERE i.merchant_id = $1 AND i.batch_id = $2 AND i.item_index = new.item_index
        """,
        batch.merchant_id,
        batch.id,
        list(payout_ids),
        list(payout_ids.values()),
    )


async def follow_adoption(tx: Tx, undone: Sequence[str], adopted: Transaction) -> None:
    """Give an item a new adopted payout in place of the undone ones: its line was adopted again, after the batch was
    approved without it."""
    await tx.execute(
        """
        UPDATE batch_items SET payout_id = $4
        WHERE merchant_id = $1 AND network_key = $2 AND payout_id = ANY($3)
        """,
        adopted.merchant_id,
        adopted.network_key,
        list(undone),
        adopted.id,
    )


async def note_names(tx: Tx, batch: Batch, names: Mapping[int, str | None], *, now: datetime) -> None:
    """Store the name that the network has on file for the number of each item; None if it reports none."""
    await tx.execute(
        """
        UPDATE batch_items i SET name_found = new.name, name_checked_at = $5
        FROM unnest($3::integer[], $4::text[]) AS new (item_index, name)
        WHERE i.merchant_id = $1 AND i.batch_id = $2 AND i.item_index = new.item_index
        """,
        batch.merchant_id,
        batch.id,
        list(names),
        list(names.values()),
        now,
    )
