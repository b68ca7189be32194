"""The SQL of house bookings. Rows are inserted, each with its move, and never changed."""

from collections.abc import Sequence
from typing import Any

import msgspec

from malipo.db import Conn, Tx
from malipo.ledger.accounts import HOUSE

COLUMNS = """
    id, kind, channel, account, source, target, amount, cents, reference, file_id, line_id, reverses, value_date,
    evidence, booked_by, approved_by, booked_at
"""
_NEW = """
    id text, kind text, channel text, account text, source text, target text, amount bigint, cents integer,
    reference text, file_id text, line_id bigint, reverses text, value_date date, evidence text, booked_by text,
    approved_by text, booked_at timestamptz
"""
# The number of earlier bookings of the same thing that were undone. While one is not undone, the next booking has the
# same number and is not inserted, also if both come at once.
_BY_REFERENCE = "'opening_balance', 'capital', 'interest', 'other_income', 'bank_charge', 'tax', 'vat_payment', 'vat'"
_UNDONE = f"""
    SELECT count(*) FROM undone b
    WHERE CASE WHEN n.line_id IS NOT NULL THEN b.line_id = n.line_id
               WHEN b.line_id IS NOT NULL OR b.kind <> n.kind THEN false
               WHEN n.kind IN ({_BY_REFERENCE}) THEN b.reference = n.reference
               WHEN n.kind IN ('bank_transfer', 'bank_line') THEN (b.channel, b.reference) = (n.channel, n.reference)
               ELSE (b.file_id, b.reference, b.account) = (n.file_id, n.reference, n.account) END
"""


async def insert(tx: Tx, bookings: Sequence[msgspec.Struct]) -> set[str]:
    """Insert bookings with their moves. Returns the ids of those that were inserted; the others are booked already."""
    rows = await tx.fetch(
        f"""
        WITH undone AS MATERIALIZED (
            SELECT b.* FROM house_bookings u JOIN house_bookings b ON b.id = u.reverses WHERE u.reverses IS NOT NULL
        ), booked AS (
            INSERT INTO house_bookings ({COLUMNS}, ordinal)
            SELECT n.*, CASE WHEN n.kind = 'undo' THEN 1 ELSE 1 + ({_UNDONE}) END
            FROM json_to_recordset($1) AS n ({_NEW}) ORDER BY n.id
            ON CONFLICT DO NOTHING RETURNING *
        ), moved AS (
            INSERT INTO moves (merchant_id, cause_id, step, move_number, source, target, channel, amount, created_at)
            SELECT '{HOUSE}', id, 'booking', 1, source, target,
                   CASE WHEN 'float' IN (source, target) THEN channel END, amount, booked_at
            FROM booked
        )
        SELECT id FROM booked
        """,
        msgspec.json.encode(bookings).decode(),
    )
    return {row["id"] for row in rows}


async def sum_cents(tx: Tx, channel: str, account: str) -> int:
    """Lock the cents that an account's bookings could not move, so that no other transaction books the same
    shilling."""
    await tx.execute("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", f"cents {channel} {account}")
    return await find_cents(tx, channel, account)


async def find_cents(connection: Conn, channel: str, account: str) -> int:
    """Sum cents as `sum_cents` does, without a lock, for reading only."""
    return int(
        await connection.fetchval(
            """
            SELECT coalesce(sum(cents), 0) FROM house_bookings WHERE channel = $1 AND account = $2 AND cents <> 0
            """,
            channel,
            account,
        )
    )


async def find(connection: Conn, condition: str, *values: object) -> list[dict[str, Any]]:
    """The matching bookings, the oldest first."""
    rows = await connection.fetch(f"SELECT {COLUMNS} FROM house_bookings WHERE {condition} ORDER BY id", *values)
    return [dict(row) for row in rows]


async def find_transfers(connection: Conn, channel: str, reference: str) -> list[dict[str, Any]]:
    """The transfer with this bank reference, unless it was undone."""
    undone = "EXISTS (SELECT FROM house_bookings u WHERE u.reverses = house_bookings.id)"
    condition = f"kind = 'bank_transfer' AND channel = $1 AND reference = $2 AND NOT {undone}"
    return await find(connection, condition, channel, reference)


async def find_of_reference(connection: Conn, kind: str, reference: str) -> list[dict[str, Any]]:
    """The booking of the house at its bank with this kind and reference, unless it was undone."""
    undone = "EXISTS (SELECT FROM house_bookings u WHERE u.reverses = house_bookings.id)"
    return await find(connection, f"kind = $1 AND reference = $2 AND NOT {undone}", kind, reference)
