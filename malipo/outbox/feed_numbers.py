"""Numbers new events in their merchant's feed, after their commit: without gaps, and in the order in which readers see
them. So a reader of the feed never skips an event, however late it was committed (decision 14).
"""

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence

from malipo.db import Tx
from malipo.outbox.event import Event
from malipo.outbox.store import EVENT_TABLES, AnyEvent, BatchEvent, LinkEvent, PaymentEvent, SettlementEvent

# The advisory lock of the numbering: any number that no other lock uses.
_NUMBERER = 0x6D616C69
_MOST_OF_OTHERS = 100  # events of batches, of links and of settlements that are numbered at once


async def number(tx: Tx, *, most: int, condition: str = "true") -> list[AnyEvent]:
    """Give the oldest events without a number the next numbers of their merchant's feed. Returns them in that order.
    An event of a batch or a link comes after the events of its payments.

    One transaction numbers at a time, until its commit. So numbers become visible in order, and a reader who has seen a
    number has seen all before it. The lock is a statement of its own, because the next statement must see what the
    last transaction wrote. (As one statement it would be planned for a row or two, as nearly every event has a number.)
    """
    await lock_numbering(tx)
    events, others = await _find_unnumbered(tx, condition, most=most)
    of_batches, of_links, of_settlements = await _find_others(tx, condition, others)
    if (of_batches or of_links) and others is None:
        # Their payments may have ended since the first look, which found nothing.
        events, _ = await _find_unnumbered(tx, condition, most=most)
    if len(events) == most:
        of_batches, of_links = [], []  # Events of their payments may be among those that are left.
    numbered: list[AnyEvent] = [*events, *of_batches, *of_links, *of_settlements]
    if not numbered:
        return []
    counts = Counter(each.merchant_id for each in numbered)
    last = await _reserve_numbers(tx, counts)
    places = {merchant_id: itertools.count(last[merchant_id] - count + 1) for merchant_id, count in counts.items()}
    by_table: tuple[Sequence[AnyEvent], ...] = (events, of_batches, of_links, of_settlements)
    for table, numbered_of in zip(EVENT_TABLES, by_table, strict=True):
        if numbered_of:
            numbers = [next(places[each.merchant_id]) for each in numbered_of]
            await _write_numbers(tx, table, numbered_of, numbers)
    return numbered


async def lock_numbering(tx: Tx) -> None:
    """Keep other transactions from numbering events until the commit."""
    await tx.execute(f"SELECT pg_advisory_xact_lock({_NUMBERER})")


async def _write_numbers(tx: Tx, table: str, events: Sequence[AnyEvent], numbers: Sequence[int]) -> None:
    await tx.execute(
        f"""
        UPDATE {table} e SET feed_number = n.feed_number
        FROM unnest($1::text[], $2::text[], $3::bigint[]) AS n (merchant_id, id, feed_number)
        WHERE e.merchant_id = n.merchant_id AND e.id = n.id
        """,
        [each.merchant_id for each in events],
        [each.id for each in events],
        numbers,
    )


def has_unnumbered_sql(seconds: str) -> str:
    """Whether events wait for their numbers, as a condition: at all if `seconds` is 0, else for so long, by the clocks
    of the hosts that wrote them."""
    waits = f"feed_number IS NULL AND ({seconds} = 0 OR created_at <= now() - {seconds} * interval '1 second')"
    return f"({' OR '.join(f'EXISTS (SELECT FROM {table} WHERE {waits})' for table in EVENT_TABLES)})"


Ids = tuple[list[str], list[str], list[str]]  # of events of batches, links and settlements


async def _find_others(
    tx: Tx, condition: str, ids: Ids | None
) -> tuple[list[BatchEvent], list[LinkEvent], list[SettlementEvent]]:
    """Those with these ids, or any."""
    of_batches, of_links, of_settlements = ids or (None, None, None)
    return (
        [] if of_batches == [] else await _find_batch_events(tx, condition, of_batches),
        [] if of_links == [] else await _find_link_events(tx, condition, of_links),
        [] if of_settlements == [] else await _find_settlement_events(tx, condition, of_settlements),
    )


async def _find_unnumbered(tx: Tx, condition: str, *, most: int) -> tuple[list[PaymentEvent], Ids | None]:
    """Find the oldest events of payments. Of the events of one payment at the same moment, its creation comes first.

    The statement also finds the ids of waiting events of batches, links and settlements, so that nearly always one
    statement is enough. They are None if there is no event of a payment, because then no row has them.
    """
    rows = await tx.fetch(
        f"""
        SELECT id, merchant_id, transaction_id, event, body, created_at, ordinal,
               ARRAY (SELECT id FROM batch_events WHERE feed_number IS NULL LIMIT {_MOST_OF_OTHERS}) AS of_batches,
               ARRAY (SELECT id FROM link_events WHERE feed_number IS NULL LIMIT {_MOST_OF_OTHERS}) AS of_links,
               ARRAY (SELECT id FROM settlement_events WHERE feed_number IS NULL LIMIT {_MOST_OF_OTHERS})
                   AS of_settlements
        FROM events
        WHERE feed_number IS NULL AND {condition}
        ORDER BY created_at, event <> 'payment.pending', event LIKE '%.corrected', ordinal, id LIMIT $1
        """,
        most,
    )
    events = [
        PaymentEvent(
            row["id"],
            row["merchant_id"],
            row["transaction_id"],
            Event(row["event"]),
            row["body"],
            row["created_at"],
            row["ordinal"],
        )
        for row in rows
    ]
    first = rows[0] if rows else None
    return events, None if first is None else (first["of_batches"], first["of_links"], first["of_settlements"])


async def _find_batch_events(tx: Tx, condition: str, ids: Sequence[str] | None) -> list[BatchEvent]:
    """The oldest first; those with these ids, or any."""
    rows = await tx.fetch(
        f"""
        SELECT id, merchant_id, batch_id, event, body, created_at FROM batch_events
        WHERE feed_number IS NULL AND ($1::text[] IS NULL OR id = ANY($1)) AND {condition}
        ORDER BY created_at, id LIMIT {_MOST_OF_OTHERS}
        """,
        ids,
    )
    return [
        BatchEvent(row["id"], row["merchant_id"], row["batch_id"], Event(row["event"]), row["body"], row["created_at"])
        for row in rows
    ]


async def _find_link_events(tx: Tx, condition: str, ids: Sequence[str] | None) -> list[LinkEvent]:
    """The oldest first; those with these ids, or any."""
    rows = await tx.fetch(
        f"""
        SELECT id, merchant_id, link_id, transaction_id, event, body, created_at FROM link_events
        WHERE feed_number IS NULL AND ($1::text[] IS NULL OR id = ANY($1)) AND {condition}
        ORDER BY created_at, id LIMIT {_MOST_OF_OTHERS}
        """,
        ids,
    )
    return [
        LinkEvent(
            row["id"],
            row["merchant_id"],
            row["link_id"],
            row["transaction_id"],
            Event(row["event"]),
            row["body"],
            row["created_at"],
        )
        for row in rows
    ]


async def _find_settlement_events(tx: Tx, condition: str, ids: Sequence[str] | None) -> list[SettlementEvent]:
    """The oldest first; those with these ids, or any."""
    rows = await tx.fetch(
        f"""
        SELECT id, merchant_id, settlement_id, event, body, created_at FROM settlement_events
        WHERE feed_number IS NULL AND ($1::text[] IS NULL OR id = ANY($1)) AND {condition}
        ORDER BY created_at, id LIMIT {_MOST_OF_OTHERS}
        """,
        ids,
    )
    return [
        SettlementEvent(
            row["id"], row["merchant_id"], row["settlement_id"], Event(row["event"]), row["body"], row["created_at"]
        )
        for row in rows
    ]


async def _reserve_numbers(tx: Tx, counts: Mapping[str, int]) -> dict[str, int]:
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
