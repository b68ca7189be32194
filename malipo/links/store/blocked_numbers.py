"""Numbers that operators have blocked: pay pages send them no prompt."""

from collections.abc import Collection
from datetime import datetime
from typing import NamedTuple

from malipo.db import Conn, Tx


class BlockedNumber(NamedTuple):
    phone: str
    reason: str
    blocked_by: str
    blocked_at: datetime


async def find(connection: Conn, numbers: Collection[str]) -> set[str]:
    """The blocked ones of these numbers."""
    rows = await connection.fetch("SELECT phone FROM blocked_numbers WHERE phone = ANY($1::text[])", list(numbers))
    return {row["phone"] for row in rows}


async def find_all(connection: Conn, *, limit: int) -> list[BlockedNumber]:
    """The numbers that were blocked last, the newest first."""
    rows = await connection.fetch(
        "SELECT phone, reason, blocked_by, blocked_at FROM blocked_numbers ORDER BY blocked_at DESC, phone LIMIT $1",
        limit,
    )
    return [BlockedNumber(*row) for row in rows]


async def insert(tx: Tx, number: BlockedNumber) -> bool:
    """Block a number. Returns False if it was blocked already."""
    done = await tx.execute(
        """
        INSERT INTO blocked_numbers (phone, reason, blocked_by, blocked_at) VALUES ($1, $2, $3, $4)
        ON CONFLICT (phone) DO NOTHING
        """,
        *number,
    )
    return done == "INSERT 0 1"


async def delete(tx: Tx, phone: str) -> bool:
    """Unblock a number. Returns False if it was not blocked."""
    return await tx.execute("DELETE FROM blocked_numbers WHERE phone = $1", phone) == "DELETE 1"
