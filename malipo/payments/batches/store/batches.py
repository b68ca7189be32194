"""Batches."""

from typing import NamedTuple

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.errors import ensure
from malipo.payments.batches.batch import Batch, BatchStatus, BatchWarning

_COLUMNS = """
    b.merchant_id, b.id, b.name, b.status, b.item_count, b.amount, b.fee, b.warnings, b.created_at, b.created_by,
    b.maker, b.approved_at, b.approved_by, b.approver, b.first_payout_id, b.adopted_count, b.completed_at,
    b.cancelled_at, b.cancelled_by
"""

_encode = msgspec.json.Encoder().encode
_decode_warnings = msgspec.json.Decoder(tuple[BatchWarning, ...]).decode

# A condition.
IS_ANY_RUNNING = "EXISTS (SELECT FROM batches WHERE status = 'RUNNING')"


class UsedKey(NamedTuple):
    """What an idempotency key was used for."""

    request_hash: bytes
    batch: Batch


def batch_of(row: Row) -> Batch:
    return Batch(
        merchant_id=row["merchant_id"],
        id=row["id"],
        name=row["name"],
        status=BatchStatus(row["status"]),
        item_count=row["item_count"],
        amount=row["amount"],
        fee=row["fee"],
        created_at=row["created_at"],
        created_by=row["created_by"],
        maker=row["maker"],
        warnings=_decode_warnings(row["warnings"]),
        approved_at=row["approved_at"],
        approved_by=row["approved_by"],
        approver=row["approver"],
        first_payout_id=row["first_payout_id"],
        adopted_count=row["adopted_count"],
        completed_at=row["completed_at"],
        cancelled_at=row["cancelled_at"],
        cancelled_by=row["cancelled_by"],
    )


async def insert(tx: Tx, batch: Batch, *, key: str | None, request_hash: bytes) -> bool:
    """Store a batch. Returns whether its id and its idempotency key were new. It waits for a commit that is using
    one."""
    done = await tx.execute(
        """
        INSERT INTO batches (merchant_id, id, name, status, item_count, amount, fee, warnings, idempotency_key,
                             request_hash, created_at, created_by, maker)
        VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) ON CONFLICT DO NOTHING
        """,
        batch.merchant_id,
        batch.id,
        batch.name,
        batch.status,
        batch.item_count,
        batch.amount,
        batch.fee,
        _encode(batch.warnings).decode(),
        key,
        request_hash,
        batch.created_at,
        batch.created_by,
        batch.maker,
    )
    return done == "INSERT 0 1"


async def get(connection: Conn, merchant_id: str, batch_id: str) -> Batch | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS} FROM batches b WHERE b.merchant_id = $1 AND b.id = $2", merchant_id, batch_id
    )
    return None if row is None else batch_of(row)


async def lock(tx: Tx, merchant_id: str, batch_id: str) -> Batch | None:
    """Lock a batch until the commit, before any payout or wallet."""
    row = await tx.fetchrow(
        f"SELECT {_COLUMNS} FROM batches b WHERE b.merchant_id = $1 AND b.id = $2 FOR UPDATE", merchant_id, batch_id
    )
    return None if row is None else batch_of(row)


async def find_by_key(connection: Conn, merchant_id: str, key: str) -> UsedKey | None:
    row = await connection.fetchrow(
        f"SELECT {_COLUMNS}, b.request_hash FROM batches b WHERE b.merchant_id = $1 AND b.idempotency_key = $2",
        merchant_id,
        key,
    )
    return None if row is None else UsedKey(row["request_hash"], batch_of(row))


async def find_key(connection: Conn, batch: Batch) -> str | None:
    """The idempotency key of the request that created the batch."""
    key: str | None = await connection.fetchval(
        "SELECT idempotency_key FROM batches WHERE merchant_id = $1 AND id = $2", batch.merchant_id, batch.id
    )
    return key


async def find_page(
    connection: Conn, merchant_id: str, *, status: BatchStatus | None = None, page: int, limit: int
) -> tuple[int, list[Batch]]:
    """The number of batches, and one page of them, newest first."""
    wanted = "b.merchant_id = $1 AND ($2::text IS NULL OR b.status = $2)"
    total = await connection.fetchval(f"SELECT count(*) FROM batches b WHERE {wanted}", merchant_id, status)
    rows = await connection.fetch(
        f"SELECT {_COLUMNS} FROM batches b WHERE {wanted} ORDER BY b.id DESC LIMIT $3 OFFSET $4",
        merchant_id,
        status,
        limit,
        (page - 1) * limit,
    )
    return int(total), [batch_of(row) for row in rows]


async def approve(tx: Tx, batch: Batch) -> None:
    """Store an approval. The caller has locked the batch, and it awaits approval."""
    done = await tx.execute(
        """
        UPDATE batches
        SET status = $3, approved_at = $4, approved_by = $5, approver = $6, first_payout_id = $7, adopted_count = $8
        WHERE merchant_id = $1 AND id = $2 AND status = 'AWAITING_APPROVAL'
        """,
        batch.merchant_id,
        batch.id,
        batch.status,
        batch.approved_at,
        batch.approved_by,
        batch.approver,
        batch.first_payout_id,
        batch.adopted_count,
    )
    ensure(done == "UPDATE 1", "a locked row changed under us")


async def cancel(tx: Tx, batch: Batch) -> None:
    """Store a cancellation. The caller has locked the batch."""
    await tx.execute(
        "UPDATE batches SET status = $3, cancelled_at = $4, cancelled_by = $5 WHERE merchant_id = $1 AND id = $2",
        batch.merchant_id,
        batch.id,
        batch.status,
        batch.cancelled_at,
        batch.cancelled_by,
    )


async def complete_ended(tx: Tx, *, most: int) -> list[Batch]:
    """Complete the running batches of which every payout has ended."""
    rows = await tx.fetch(
        f"""
        UPDATE batches b SET status = 'COMPLETED', completed_at = done.at
        FROM (
            SELECT b.merchant_id, b.id, ended.at FROM batches b
            CROSS JOIN LATERAL (
                SELECT coalesce(max(t.ended_at), b.approved_at) AS at FROM transactions t
                WHERE t.merchant_id = b.merchant_id AND t.id >= b.first_payout_id AND t.batch_id = b.id
                  AND t.id < left(b.first_payout_id, -4) || '~'
                -- Those that were adopted are not in the series, and have ended.
                HAVING count(*) = b.item_count - b.adopted_count AND count(t.ended_at) = count(*)) ended
            WHERE b.status = 'RUNNING'
              -- An open payout is in the work queue, which is small.
              AND NOT EXISTS (
                  SELECT FROM dispatches d
                  WHERE d.merchant_id = b.merchant_id AND d.transaction_id >= b.first_payout_id
                    AND d.transaction_id < left(b.first_payout_id, -4) || '~' AND NOT d.is_follow_up)
            ORDER BY b.id LIMIT $1 FOR UPDATE OF b SKIP LOCKED) done
        WHERE b.merchant_id = done.merchant_id AND b.id = done.id RETURNING {_COLUMNS}
        """,
        most,
    )
    return [batch_of(row) for row in rows]
