"""The SQL of recovery: which events an endpoint has not accepted, made due again."""

from datetime import datetime

from malipo import clock, ids
from malipo.db import Tx
from malipo.webhooks.endpoint import Endpoint


async def recover(
    tx: Tx, endpoint: Endpoint, *, since: datetime, after: str | None, most: int, now: datetime
) -> tuple[int, str | None]:
    """Make due the events since a time that the endpoint subscribes to and has not accepted.

    Returns their number, and the last event that was read if there may be more: the next part begins after it.
    """
    events = await tx.fetch(
        """
        SELECT id, event FROM events WHERE merchant_id = $1 AND id > $2 AND feed_number IS NOT NULL
        UNION ALL
        SELECT id, event FROM batch_events WHERE merchant_id = $1 AND id > $2
        UNION ALL
        SELECT id, event FROM link_events WHERE merchant_id = $1 AND id > $2
        UNION ALL
        SELECT id, event FROM settlement_events WHERE merchant_id = $1 AND id > $2
        ORDER BY id LIMIT $3
        """,
        endpoint.merchant_id,
        after or ids.last_of("evt_", clock.milliseconds(since) - 1),
        most,
    )
    wanted = [row for row in events if endpoint.wants(row["event"])]
    done = await tx.execute(
        """
        INSERT INTO webhook_deliveries AS d (endpoint_id, event_id, merchant_id, event, due_at)
        SELECT $1, event_id, $2, event, $5 FROM unnest($3::text[], $4::text[]) AS new (event_id, event)
        ON CONFLICT (endpoint_id, event_id) DO UPDATE SET state = 'PENDING', attempt_count = 0, due_at = excluded.due_at
        WHERE d.state <> 'DELIVERED'
        """,
        endpoint.id,
        endpoint.merchant_id,
        [row["id"] for row in wanted],
        [row["event"] for row in wanted],
        now,
    )
    last = events[-1]["id"] if len(events) == most else None
    return int(done.rsplit(" ", 1)[1]), last
