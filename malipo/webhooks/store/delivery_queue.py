"""SQL of deliveries for the sender: insert, claim under a lease, record the result, make due again."""

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

import msgspec

from malipo.db import Conn, Tx
from malipo.webhooks.delivery_state import Attempt, Delivery, DeliveryState, Key, WebhookMessage
from malipo.webhooks.store import endpoints

_encode = msgspec.json.Encoder().encode


class NewDelivery(msgspec.Struct, frozen=True):
    """A delivery to insert; with a claim id, it is claimed in the same statement."""

    endpoint_id: str
    event_id: str
    merchant_id: str
    event: str
    claim_id: str | None = None


async def insert(tx: Tx, new: Sequence[NewDelivery], *, lease_seconds: float, now: datetime) -> None:
    if not new:
        return
    await tx.execute(
        """
        INSERT INTO webhook_deliveries (endpoint_id, event_id, merchant_id, event, due_at, claim_id, leased_until)
        SELECT endpoint_id, event_id, merchant_id, event, $2, claim_id,
               CASE WHEN claim_id IS NOT NULL THEN now() + make_interval(secs => $3) END
        FROM json_to_recordset($1)
             AS new (endpoint_id text, event_id text, merchant_id text, event text, claim_id text)
        ON CONFLICT DO NOTHING
        """,
        _encode(new).decode(),
        now,
        lease_seconds,
    )


async def insert_test(tx: Tx, new: NewDelivery, body: str, *, now: datetime) -> None:
    await tx.execute(
        """
        INSERT INTO webhook_deliveries (endpoint_id, event_id, merchant_id, event, body, due_at)
        VALUES ($1, $2, $3, $4, $5, $6)
        """,
        new.endpoint_id,
        new.event_id,
        new.merchant_id,
        new.event,
        body,
        now,
    )


async def find_waiting(connection: Conn, *, now: datetime) -> list[str]:
    """The endpoints with due deliveries that no worker has claimed."""
    rows = await connection.fetch(
        """
        SELECT e.id FROM webhook_endpoints e
        WHERE e.is_active AND EXISTS (
            SELECT FROM webhook_deliveries d
            WHERE d.endpoint_id = e.id AND d.state = 'PENDING' AND d.due_at <= $1
              AND (d.leased_until IS NULL OR d.leased_until < now())
        )
        """,
        now,
    )
    return [row["id"] for row in rows]


async def claim(
    tx: Tx, room: Mapping[str, int], claim_id: str, *, lease_seconds: float, now: datetime
) -> list[WebhookMessage]:
    """Claim due deliveries, for each endpoint as many as it has slots, the longest due first."""
    rows = await tx.fetch(
        """
        WITH taken AS (
            SELECT d.endpoint_id, d.event_id
            FROM unnest($1::text[], $2::int[]) AS wanted (endpoint_id, room)
            JOIN webhook_endpoints e ON e.id = wanted.endpoint_id AND e.is_active
            CROSS JOIN LATERAL (
                SELECT endpoint_id, event_id FROM webhook_deliveries
                WHERE endpoint_id = wanted.endpoint_id AND state = 'PENDING' AND due_at <= $3
                  AND (leased_until IS NULL OR leased_until < now())
                ORDER BY due_at LIMIT wanted.room FOR UPDATE SKIP LOCKED
            ) d
        ), claimed AS (
            UPDATE webhook_deliveries d SET claim_id = $4, leased_until = now() + make_interval(secs => $5)
            FROM taken t WHERE d.endpoint_id = t.endpoint_id AND d.event_id = t.event_id
            RETURNING d.*
        )
        SELECT c.endpoint_id, c.event_id, c.event, coalesce(c.body, v.body, b.body, l.body, s.body) AS body,
               v.transaction_id
        FROM claimed c
        LEFT JOIN events v ON v.merchant_id = c.merchant_id AND v.id = c.event_id
        LEFT JOIN batch_events b ON b.merchant_id = c.merchant_id AND b.id = c.event_id
        LEFT JOIN link_events l ON l.merchant_id = c.merchant_id AND l.id = c.event_id
        LEFT JOIN settlement_events s ON s.merchant_id = c.merchant_id AND s.id = c.event_id
        ORDER BY c.due_at
        """,
        list(room),
        list(room.values()),
        now,
        claim_id,
        lease_seconds,
    )
    active = {each.id: each for each in await endpoints.find_active_by_id(tx, {row["endpoint_id"] for row in rows})}
    return [
        WebhookMessage(
            active[row["endpoint_id"]], row["event_id"], row["event"], row["body"], claim_id, row["transaction_id"]
        )
        for row in rows
        if row["endpoint_id"] in active and row["body"] is not None
    ]


async def lock(tx: Tx, keys: Collection[Key]) -> dict[Key, Delivery]:
    rows = await tx.fetch(
        """
        SELECT d.endpoint_id, d.event_id, d.state, d.attempt_count, d.due_at, d.claim_id, d.body IS NOT NULL AS is_test
        FROM webhook_deliveries d
        JOIN unnest($1::text[], $2::text[]) AS k (endpoint_id, event_id) USING (endpoint_id, event_id)
        ORDER BY d.endpoint_id, d.event_id FOR UPDATE OF d
        """,
        [endpoint_id for endpoint_id, _ in keys],
        [event_id for _, event_id in keys],
    )
    return {
        (key := (row["endpoint_id"], row["event_id"])): Delivery(
            key, DeliveryState(row["state"]), row["attempt_count"], row["due_at"], row["claim_id"], row["is_test"]
        )
        for row in rows
    }


async def update(tx: Tx, changed: Sequence[Delivery]) -> None:
    await tx.execute(
        """
        UPDATE webhook_deliveries d
        SET state = n.state, attempt_count = n.attempt_count, due_at = n.due_at, claim_id = NULL, leased_until = NULL
        FROM unnest($1::text[], $2::text[], $3::text[], $4::int[], $5::timestamptz[])
             AS n (endpoint_id, event_id, state, attempt_count, due_at)
        WHERE d.endpoint_id = n.endpoint_id AND d.event_id = n.event_id
        """,
        [each.key[0] for each in changed],
        [each.key[1] for each in changed],
        [each.state for each in changed],
        [each.attempt_count for each in changed],
        [each.due_at for each in changed],
    )


async def insert_attempts(tx: Tx, attempts: Sequence[Attempt]) -> set[str]:
    """Insert attempts. Returns the ids of those that did not exist."""
    rows = await tx.fetch(
        """
        INSERT INTO webhook_attempts (endpoint_id, event_id, id, attempted_at, duration_ms, http_status,
                                      response_headers, response_body, error)
        SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $5::int[], $6::smallint[],
                             $7::json[], $8::bytea[], $9::text[])
        ON CONFLICT DO NOTHING RETURNING id
        """,
        [each.key[0] for each in attempts],
        [each.key[1] for each in attempts],
        [each.id for each in attempts],
        [each.attempted_at for each in attempts],
        [each.duration_ms for each in attempts],
        [each.http_status for each in attempts],
        [_encode(each.response_headers).decode() for each in attempts],
        [each.response_body for each in attempts],
        [each.error for each in attempts],
    )
    return {row["id"] for row in rows}


async def rearm(tx: Tx, endpoint_id: str, event_id: str, *, now: datetime) -> bool:
    """Make a delivery due again. Returns whether it exists. If a worker has claimed it, that is already the first
    attempt."""
    done = await tx.execute(
        """
        UPDATE webhook_deliveries SET state = 'PENDING', attempt_count = 0, due_at = $3
        WHERE endpoint_id = $1 AND event_id = $2
        """,
        endpoint_id,
        event_id,
        now,
    )
    return done == "UPDATE 1"
