"""The SQL of messages that a worker writes by the clock: wallets below an amount, and who reads summaries."""

from typing import NamedTuple

from malipo.db import Conn, Tx
from malipo.messages.kinds import MessageKind


class LowWallet(NamedTuple):
    account_id: str  # of the person who has chosen the amount
    merchant_id: str
    available: int
    limit: int


class SummaryReader(NamedTuple):
    account_id: str
    merchant_id: str
    business: str


async def note_below(tx: Tx) -> list[LowWallet]:
    """Store which wallets are below what a person has chosen. Returns those that were not before."""
    rows = await tx.fetch(
        """
        WITH seen AS (
            SELECT c.account_id, p.merchant_id, greatest(w.available - w.owed, 0) AS available, c.amount, c.is_below
            FROM message_choices c JOIN people p ON p.id = c.account_id JOIN wallets w ON w.merchant_id = p.merchant_id
            WHERE c.kind = $1 AND c.is_wanted AND c.amount IS NOT NULL
            ORDER BY c.account_id FOR UPDATE OF c
        )
        UPDATE message_choices c SET is_below = seen.available < seen.amount FROM seen
        WHERE c.account_id = seen.account_id AND c.kind = $1 AND seen.is_below <> (seen.available < seen.amount)
        RETURNING c.account_id, seen.merchant_id, seen.available, seen.amount, c.is_below
        """,
        MessageKind.WALLET_LOW,
    )
    return [LowWallet(*list(row.values())[:4]) for row in rows if row["is_below"]]


async def find_summary_readers(connection: Conn, *, cause: str) -> list[SummaryReader]:
    """Those who want summaries and did not get this one."""
    rows = await connection.fetch(
        """
        SELECT p.id, p.merchant_id, m.name
        FROM message_choices c JOIN people p ON p.id = c.account_id JOIN merchants m ON m.id = p.merchant_id
        WHERE c.kind = $1 AND c.is_wanted AND m.is_active
          AND NOT EXISTS (SELECT FROM messages t WHERE t.kind = $1 AND t.cause = $2 AND t.address = p.email)
        ORDER BY p.id
        """,
        MessageKind.DAILY_SUMMARY,
        cause,
    )
    return [SummaryReader(*row.values()) for row in rows]
