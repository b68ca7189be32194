"""SQL of the delivery log: deliveries with their attempts, for readers; and its pruning."""

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import msgspec

from malipo import clock, ids
from malipo.db import Conn, Row, Tx
from malipo.webhooks.delivery_state import DeliveryState

_decode = msgspec.json.Decoder(list[tuple[str, str]]).decode


@dataclass(frozen=True, slots=True)
class ShownAttempt:
    id: str
    attempted_at: datetime
    duration_ms: int
    http_status: int | None
    response_headers: list[tuple[str, str]]
    response_body: bytes
    error: str | None


@dataclass(frozen=True, slots=True)
class DeliveryHistory:
    """A delivery with its attempts."""

    event_id: str
    event: str
    transaction_id: str | None  # none for a test, nor for an event of a batch or settlement
    batch_id: str | None  # of an event of a batch
    link_id: str | None  # of an event of a payment link
    settlement_id: str | None  # of an event of a settlement
    state: DeliveryState
    due_at: datetime
    attempts: list[ShownAttempt]


_SELECT = """
    SELECT d.event_id, d.event, d.state, d.due_at, coalesce(v.transaction_id, l.transaction_id) AS transaction_id,
           b.batch_id, l.link_id, s.settlement_id
    FROM webhook_deliveries d
    LEFT JOIN events v ON v.merchant_id = d.merchant_id AND v.id = d.event_id
    LEFT JOIN batch_events b ON b.merchant_id = d.merchant_id AND b.id = d.event_id
    LEFT JOIN link_events l ON l.merchant_id = d.merchant_id AND l.id = d.event_id
    LEFT JOIN settlement_events s ON s.merchant_id = d.merchant_id AND s.id = d.event_id
"""


async def page(
    connection: Conn, endpoint_id: str, *, state: DeliveryState | None, before: str | None, limit: int
) -> list[DeliveryHistory]:
    """Deliveries, the latest first; `before` is the last one of the page before. The connection is in a snapshot."""
    rows = await connection.fetch(
        f"""
        {_SELECT}
        WHERE d.endpoint_id = $1 AND ($2::text IS NULL OR d.state = $2) AND ($3::text IS NULL OR d.event_id < $3)
        ORDER BY d.event_id DESC LIMIT $4
        """,
        endpoint_id,
        state,
        before,
        limit,
    )
    return await _with_attempts(connection, endpoint_id, rows)


async def get(connection: Conn, endpoint_id: str, event_id: str) -> DeliveryHistory | None:
    row = await connection.fetchrow(f"{_SELECT} WHERE d.endpoint_id = $1 AND d.event_id = $2", endpoint_id, event_id)
    return (await _with_attempts(connection, endpoint_id, [row]))[0] if row else None


async def _with_attempts(connection: Conn, endpoint_id: str, rows: list[Row]) -> list[DeliveryHistory]:
    attempts = await _find_attempts(connection, endpoint_id, [row["event_id"] for row in rows])
    return [
        DeliveryHistory(
            row["event_id"],
            row["event"],
            row["transaction_id"],
            row["batch_id"],
            row["link_id"],
            row["settlement_id"],
            DeliveryState(row["state"]),
            row["due_at"],
            attempts[row["event_id"]],
        )
        for row in rows
    ]


async def _find_attempts(
    connection: Conn, endpoint_id: str, event_ids: Collection[str]
) -> dict[str, list[ShownAttempt]]:
    rows = await connection.fetch(
        """
        SELECT event_id, id, attempted_at, duration_ms, http_status, response_headers, response_body, error
        FROM webhook_attempts WHERE endpoint_id = $1 AND event_id = ANY($2::text[]) ORDER BY event_id, id
        """,
        endpoint_id,
        event_ids,
    )
    attempts: dict[str, list[ShownAttempt]] = defaultdict(list)
    for row in rows:
        values: dict[str, Any] = {name: row[name] for name in ShownAttempt.__slots__}
        attempts[row["event_id"]].append(
            ShownAttempt(**values | {"response_headers": _decode(row["response_headers"])})
        )
    return attempts


async def count_exhausted(connection: Conn, merchant_id: str, *, since: datetime, most: int) -> dict[str, int]:
    """The number of exhausted deliveries of events since a time, by the endpoint's id; each counted up to `most`.

    Tests do not count, because a person has seen the result of each. (A test's delivery has a body of its own.)
    """
    rows = await connection.fetch(
        """
        SELECT e.id, d.count FROM webhook_endpoints e CROSS JOIN LATERAL (
            SELECT count(*) AS count FROM (
                SELECT FROM webhook_deliveries
                WHERE endpoint_id = e.id AND state = 'EXHAUSTED' AND body IS NULL AND event_id >= $2 LIMIT $3
            ) given_up
        ) d
        WHERE e.merchant_id = $1 AND e.deleted_at IS NULL AND d.count > 0 ORDER BY e.id
        """,
        merchant_id,
        ids.first_of("evt_", clock.milliseconds(since)),
        most,
    )
    return {row["id"]: row["count"] for row in rows}


async def find_states(connection: Conn, keys: Collection[tuple[str, str]]) -> dict[tuple[str, str], tuple[str, int]]:
    """The state of deliveries, and how often each was tried."""
    rows = await connection.fetch(
        """
        SELECT endpoint_id, event_id, state, attempt_count FROM webhook_deliveries
        WHERE (endpoint_id, event_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))
        """,
        [endpoint_id for endpoint_id, _ in keys],
        [event_id for _, event_id in keys],
    )
    return {(row["endpoint_id"], row["event_id"]): (row["state"], row["attempt_count"]) for row in rows}


async def prune(tx: Tx, *, before: datetime, most: int) -> int:
    """Delete deliveries of events before a time, with their attempts. Returns their number."""
    bound = ids.first_of("evt_", clock.milliseconds(before))
    rows = await tx.fetch(
        """
        DELETE FROM webhook_deliveries WHERE (endpoint_id, event_id) IN (
            SELECT d.endpoint_id, d.event_id FROM webhook_endpoints e CROSS JOIN LATERAL (
                SELECT endpoint_id, event_id FROM webhook_deliveries
                WHERE endpoint_id = e.id AND event_id < $1 ORDER BY event_id LIMIT $2
            ) d LIMIT $2
        ) RETURNING endpoint_id, event_id
        """,
        bound,
        most,
    )
    await tx.execute(
        "DELETE FROM webhook_attempts WHERE (endpoint_id, event_id) IN (SELECT * FROM unnest($1::text[], $2::text[]))",
        [row["endpoint_id"] for row in rows],
        [row["event_id"] for row in rows],
    )
    return len(rows)
