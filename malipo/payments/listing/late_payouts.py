"""Payouts that were sent and have not ended for long, for a merchant's overview."""

from datetime import datetime

from malipo import clock, ids
from malipo.db import Conn


async def find(connection: Conn, merchant_id: str, *, before: datetime, most: int) -> list[tuple[str, datetime]]:
    """A merchant's payouts that were sent before a time and have not ended, and when each was, oldest first."""
    rows = await connection.fetch(
        """
        SELECT t.id, t.processing_at
        FROM dispatches d JOIN transactions t ON t.merchant_id = d.merchant_id AND t.id = d.transaction_id
        WHERE d.merchant_id = $1 AND d.transaction_id <= $2 AND d.type = 'DISBURSEMENT'
          AND t.status = 'PROCESSING' AND t.processing_at < $3
        ORDER BY d.transaction_id LIMIT $4
        """,
        merchant_id,
        ids.last_of("txn_", clock.milliseconds(before)),
        before,
        most,
    )
    return [(row["id"], row["processing_at"]) for row in rows]
