"""The timeline of one payment: its moves, and the attempts to deliver its events."""

from dataclasses import dataclass
from datetime import datetime

from malipo.db import Conn
from malipo.ledger.accounts import Account, Move, Step


@dataclass(frozen=True, slots=True)
class BookedMove:
    """A move of a payment, as the ledger has it."""

    created_at: datetime
    step: Step
    move: Move
    balance_after: int | None


@dataclass(frozen=True, slots=True)
class DeliveryAttempt:
    """One attempt to deliver an event of a payment to an endpoint. Without a time, it is a delivery without
    attempts."""

    event: str
    event_id: str
    endpoint_id: str
    url: str
    state: str
    due_at: datetime
    attempted_at: datetime | None
    duration_ms: int | None
    http_status: int | None
    error: str | None


async def find_booked(connection: Conn, merchant_id: str, transaction_id: str) -> list[BookedMove]:
    """The moves of a payment, in the order of the ledger."""
    rows = await connection.fetch(
        """
        SELECT created_at, step, source, target, amount, channel, balance_after FROM moves
        WHERE merchant_id = $1 AND cause_id = $2 ORDER BY created_at, ordinal, step DESC, move_number
        """,
        merchant_id,
        transaction_id,
    )
    return [
        BookedMove(
            row["created_at"],
            Step(row["step"]),
            Move(Account(row["source"]), Account(row["target"]), row["amount"], row["channel"]),
            row["balance_after"],
        )
        for row in rows
    ]


async def find_delivery_attempts(connection: Conn, merchant_id: str, transaction_id: str) -> list[DeliveryAttempt]:
    """Every attempt to any of the merchant's endpoints, deleted ones included."""
    rows = await connection.fetch(
        """
        SELECT v.event, d.event_id, d.endpoint_id, e.url, d.state, d.due_at, a.attempted_at, a.duration_ms,
               a.http_status, a.error
        FROM events v
        JOIN webhook_endpoints e ON e.merchant_id = v.merchant_id
        JOIN webhook_deliveries d ON d.endpoint_id = e.id AND d.event_id = v.id
        LEFT JOIN webhook_attempts a ON a.endpoint_id = d.endpoint_id AND a.event_id = d.event_id
        WHERE v.merchant_id = $1 AND v.transaction_id = $2 ORDER BY v.id, e.id, a.id
        """,
        merchant_id,
        transaction_id,
    )
    return [DeliveryAttempt(*row.values()) for row in rows]
