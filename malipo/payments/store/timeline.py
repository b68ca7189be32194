"""Everything that happened to one payment: what was booked for it, and whom it was told to."""

from dataclasses import dataclass
from datetime import datetime

from malipo.db import Conn
from malipo.ledger.moves import Account, Move, Step


@dataclass(frozen=True, slots=True)
class Booked:
    """A move of a payment's money, as it stands in the book."""

    at: datetime
    step: Step
    move: Move
    wallet_after: int | None


@dataclass(frozen=True, slots=True)
class Told:
    """One try to tell an endpoint of a payment; without a time, a delivery that was never tried."""

    event: str
    event_id: str
    endpoint_id: str
    url: str
    state: str
    due_at: datetime
    at: datetime | None
    took_ms: int | None
    status: int | None
    error: str | None


async def find_booked(connection: Conn, merchant_id: str, transaction_id: str) -> list[Booked]:
    """What a payment moved, in the order of the book."""
    rows = await connection.fetch(
        """
        SELECT at, step, source, target, amount, channel, wallet_after FROM moves
        WHERE merchant_id = $1 AND cause_id = $2 ORDER BY at, ordinal, step DESC, line
        """,
        merchant_id,
        transaction_id,
    )
    return [
        Booked(
            row["at"],
            Step(row["step"]),
            Move(Account(row["source"]), Account(row["target"]), row["amount"], row["channel"]),
            row["wallet_after"],
        )
        for row in rows
    ]


async def find_told(connection: Conn, merchant_id: str, transaction_id: str) -> list[Told]:
    """Every try to tell any of the merchant's endpoints, those that are deleted since included."""
    rows = await connection.fetch(
        """
        SELECT v.event, d.event_id, d.endpoint_id, e.url, d.state, d.due_at, a.at, a.took_ms, a.status, a.error
        FROM events v
        JOIN endpoints e ON e.merchant_id = v.merchant_id
        JOIN deliveries d ON d.endpoint_id = e.id AND d.event_id = v.id
        LEFT JOIN attempts a ON a.endpoint_id = d.endpoint_id AND a.event_id = d.event_id
        WHERE v.merchant_id = $1 AND v.transaction_id = $2 ORDER BY v.id, e.id, a.id
        """,
        merchant_id,
        transaction_id,
    )
    return [Told(*row.values()) for row in rows]
