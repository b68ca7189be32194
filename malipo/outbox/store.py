"""The outbox's SQL: facts are written in the commit that made them true, and numbered after it."""

from collections.abc import Sequence
from datetime import datetime

import msgspec

from malipo.db import Tx
from malipo.outbox.event import Event

_encode = msgspec.json.Encoder().encode

# Any number that nothing else locks by. Whoever holds it is the one numberer.
_NUMBERER = 0x6D616C69


class Fact(msgspec.Struct, frozen=True):
    """Something that became true of a transaction. The body is what every receiver will get, byte for byte."""

    id: str
    merchant_id: str
    transaction_id: str
    event: Event
    body: str
    created_at: datetime


async def insert(tx: Tx, facts: Sequence[Fact]) -> None:
    if not facts:
        return
    await tx.execute(
        """
        INSERT INTO events (id, merchant_id, transaction_id, event, body, created_at)
        SELECT id, merchant_id, transaction_id, event, body, created_at
        FROM json_to_recordset($1)
             AS new (id text, merchant_id text, transaction_id text, event text, body text, created_at timestamptz)
        """,
        _encode(facts).decode(),
    )


async def number(tx: Tx, *, most: int) -> list[Fact]:
    """Give the oldest facts without a place in their merchant's feed the next places there; the facts, in order.

    One numberer at a time, until its commit: so places become visible in their order, and a reader who has seen one
    has seen all before it. The lock is a statement of its own: the next one must see what the last numberer did.
    """
    await tx.execute(f"SELECT pg_advisory_xact_lock({_NUMBERER})")
    rows = await tx.fetch(
        """
        WITH batch AS (
            -- Of two that were told at the same moment of one transaction, its beginning comes first.
            SELECT merchant_id, id, created_at, event <> 'payment.pending' AS is_end
            FROM events WHERE number IS NULL ORDER BY created_at, event <> 'payment.pending', id LIMIT $1
        ), placed AS (
            SELECT merchant_id, id,
                   row_number() OVER (PARTITION BY merchant_id ORDER BY created_at, is_end, id) AS place
            FROM batch
        ), counted AS (
            INSERT INTO feeds AS f (merchant_id, last)
            SELECT merchant_id, count(*) FROM batch GROUP BY merchant_id ORDER BY merchant_id
            ON CONFLICT (merchant_id) DO UPDATE SET last = f.last + excluded.last
            RETURNING merchant_id, last
        ), sizes AS (
            SELECT merchant_id, count(*) AS size FROM batch GROUP BY merchant_id
        )
        UPDATE events e SET number = c.last - s.size + p.place
        FROM placed p JOIN counted c USING (merchant_id) JOIN sizes s USING (merchant_id)
        WHERE e.merchant_id = p.merchant_id AND e.id = p.id
        RETURNING e.id, e.merchant_id, e.transaction_id, e.event, e.body, e.created_at, e.number
        """,
        most,
    )
    rows.sort(key=lambda row: (row["merchant_id"], row["number"]))
    return [
        Fact(row["id"], row["merchant_id"], row["transaction_id"], Event(row["event"]), row["body"], row["created_at"])
        for row in rows
    ]
