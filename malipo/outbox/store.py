"""SQL of the outbox: an event is written in the same commit as the change that it reports, and numbered afterwards."""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec

from malipo.db import Conn, Tx
from malipo.outbox.event import Event

_encode = msgspec.json.Encoder().encode

# The advisory lock of the numbering: any number that no other lock uses.
_NUMBERER = 0x6D616C69


class OutboxEvent(msgspec.Struct, frozen=True):
    """An event of a transaction, as it is stored. Every receiver gets the same bytes of the body."""

    id: str
    merchant_id: str
    transaction_id: str
    event: Event
    body: str
    created_at: datetime
    ordinal: int = 1  # a payment can be corrected more than once


def document_of(events: Sequence[OutboxEvent]) -> str:
    return _encode(events).decode()


def insert_events_sql(events: str) -> str:
    """Inserts events, as a part of the statement that writes the change that they report."""
    return f"""
        INSERT INTO events (id, merchant_id, transaction_id, event, body, created_at, ordinal)
        SELECT id, merchant_id, transaction_id, event, body, created_at, ordinal
        FROM json_to_recordset({events}) AS new (
            id text, merchant_id text, transaction_id text, event text, body text, created_at timestamptz,
            ordinal smallint)
    """


async def number(tx: Tx, *, most: int, condition: str = "true") -> list[OutboxEvent]:
    """Give the oldest events without a number the next numbers of their merchant's feed; the events, in order.

    One transaction at a time, until its commit: so numbers become visible in order, and a reader who has seen one has
    seen all before it. The lock is a statement of its own: the next statement must see what the last transaction
    wrote. (All in one statement would be planned for a row or two: nearly every event has its number.)
    """
    await tx.execute(f"SELECT pg_advisory_xact_lock({_NUMBERER})")
    events = await _find_unnumbered(tx, condition, most=most)
    if not events:
        return []
    counts = Counter(each.merchant_id for each in events)
    last = await _count(tx, counts)
    places = {merchant_id: itertools.count(last[merchant_id] - count + 1) for merchant_id, count in counts.items()}
    await tx.execute(
        """
        UPDATE events e SET feed_number = n.feed_number
        FROM unnest($1::text[], $2::text[], $3::bigint[]) AS n (merchant_id, id, feed_number)
        WHERE e.merchant_id = n.merchant_id AND e.id = n.id
        """,
        [each.merchant_id for each in events],
        [each.id for each in events],
        [next(places[each.merchant_id]) for each in events],
    )
    return events


async def has_unnumbered(connection: Conn) -> bool:
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM events WHERE feed_number IS NULL)"))


async def _find_unnumbered(tx: Tx, condition: str, *, most: int) -> list[OutboxEvent]:
    """The oldest first. Of the events of one transaction at the same moment, its creation comes first."""
    rows = await tx.fetch(
        f"""
        SELECT id, merchant_id, transaction_id, event, body, created_at FROM events
        WHERE feed_number IS NULL AND {condition}
        ORDER BY created_at, event <> 'payment.pending', event LIKE '%.corrected', ordinal, id LIMIT $1
        """,
        most,
    )
    return [
        OutboxEvent(
            row["id"], row["merchant_id"], row["transaction_id"], Event(row["event"]), row["body"], row["created_at"]
        )
        for row in rows
    ]


async def _count(tx: Tx, counts: Mapping[str, int]) -> dict[str, int]:
    """Reserve so many numbers in each feed, and return the last number of each."""
    merchant_ids = sorted(counts)
    rows = await tx.fetch(
        """
        INSERT INTO feeds AS f (merchant_id, last_number) SELECT * FROM unnest($1::text[], $2::bigint[])
        ON CONFLICT (merchant_id) DO UPDATE SET last_number = f.last_number + excluded.last_number
        RETURNING merchant_id, last_number
        """,
        merchant_ids,
        [counts[merchant_id] for merchant_id in merchant_ids],
    )
    return {row["merchant_id"]: row["last_number"] for row in rows}
