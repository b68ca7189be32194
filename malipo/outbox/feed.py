"""Reads a merchant's feed: every event, in order, without gaps, for as long as events are kept.

Events of batches, links and settlements have places in it too, and are shown only to readers who ask for them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

import msgspec

from malipo.db import Conn, Row, Tx
from malipo.errors import Invalid
from malipo.outbox.event import OF_BATCHES, OF_LINKS, OF_SETTLEMENTS, Event
from malipo.outbox.store import EVENT_TABLES
from malipo.rollups import store as rollups
from malipo.rollups.store import Rollup


class CursorExpired(Invalid):
    code = "cursor_expired"

    def __init__(self) -> None:
        message = "Events after this cursor are no longer kept. Begin again without after, from the oldest one kept."
        super().__init__("The cursor has expired.", details={"after": [message]})


class CursorUnknown(Invalid):
    code = "cursor_invalid"
    sentence = "after must be a cursor that this feed has given as next, or latest."

    def __init__(self) -> None:
        super().__init__("The cursor is not one of this feed.", details={"after": [self.sentence]})


# So many places of the feed are read for one page, if only some types are wanted: they may be rare among millions.
_SPAN = 10_000


class FeedEntry(msgspec.Struct, frozen=True):
    id: str
    event: str
    created_at: datetime
    subject: Mapping[str, msgspec.Raw]  # the transaction, batch, link or settlement under its name, as it was written


@dataclass(frozen=True, slots=True)
class FeedPage:
    entries: list[FeedEntry]
    next: int  # the number to read on after
    is_end: bool  # whether there is nothing after it


_decode = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


async def page(
    connection: Conn, merchant_id: str, *, after: int | None, limit: int, types: Collection[Event] = ()
) -> FeedPage:
    """The events after a number, of these types; without any, all but those of batches, links and settlements.

    Two statements that must agree: read inside a snapshot.
    """
    last, pruned = await _span(connection, merchant_id)
    if after is None:
        after = pruned
    if after < pruned:
        raise CursorExpired
    if after > last:
        # A feed never shrinks. A reader whose cursor is beyond its end would miss events if the answer were "none".
        raise CursorUnknown
    end = min(last, after + _SPAN) if types else last
    rows = await _find(connection, merchant_id, after=after, end=end, limit=limit, types=types)
    entries = [FeedEntry(row["id"], row["event"], row["created_at"], _subject_in(row["body"])) for row in rows]
    read_to: int = rows[-1]["feed_number"] if len(rows) == limit else end
    return FeedPage(entries, read_to, is_end=read_to == last)


def _subject_in(body: str) -> dict[str, msgspec.Raw]:
    return {name: value for name, value in _decode(body).items() if name != "event"}


async def _find(
    connection: Conn, merchant_id: str, *, after: int, end: int, limit: int, types: Collection[Event]
) -> list[Row]:
    wanted = "WHERE merchant_id = $1 AND feed_number > $2 AND feed_number <= $3"
    if types:
        wanted += " AND event = ANY($5)"
    found = f"SELECT id, event, created_at, body, feed_number FROM events {wanted}"
    if not OF_BATCHES.isdisjoint(types):
        found += f" UNION ALL SELECT id, event, created_at, body, feed_number FROM batch_events {wanted}"
    if not OF_LINKS.isdisjoint(types):
        found += f" UNION ALL SELECT id, event, created_at, body, feed_number FROM link_events {wanted}"
    if not OF_SETTLEMENTS.isdisjoint(types):
        found += f" UNION ALL SELECT id, event, created_at, body, feed_number FROM settlement_events {wanted}"
    values: list[object] = [merchant_id, after, end, limit, *([list(types)] if types else [])]
    return await connection.fetch(f"{found} ORDER BY feed_number LIMIT $4", *values)


async def latest(connection: Conn, merchant_id: str) -> int:
    """The last number of the feed."""
    return (await _span(connection, merchant_id))[0]


async def find_latest(connection: Conn, merchant_ids: Collection[str]) -> dict[str, int]:
    rows = await connection.fetch(
        "SELECT merchant_id, last_number FROM feeds WHERE merchant_id = ANY($1::text[])", list(merchant_ids)
    )
    return {row["merchant_id"]: row["last_number"] for row in rows}


async def _span(connection: Conn, merchant_id: str) -> tuple[int, int]:
    """The last number of the feed, and the last number that was pruned."""
    row = await connection.fetchrow("SELECT last_number, pruned_to FROM feeds WHERE merchant_id = $1", merchant_id)
    return (row["last_number"], row["pruned_to"]) if row else (0, 0)


async def prune(tx: Tx, merchant_id: str, *, before: datetime, most: int, keeps_unlogged: bool = False) -> int:
    """Delete the oldest events, those before a time, and return how many. What is kept has no gaps.

    `keeps_unlogged`: there is a receipt log, and it needs what it has not appended yet.
    """
    feed = await tx.fetchrow(
        "SELECT last_number, pruned_to, logged_to FROM feeds WHERE merchant_id = $1 FOR UPDATE", merchant_id
    )
    if feed is None:
        return 0
    # A payment that ended by an event must be in the rollups before the event is deleted.
    counted = await rollups.find_position(tx, merchant_id, Rollup.PAYMENTS)
    end = min(feed["last_number"], feed["pruned_to"] + most, counted)
    if keeps_unlogged:
        end = min(end, feed["logged_to"])
    # The query covers only these events: over all old ones it would slow down with every event that waits for deletion.
    first_kept = await tx.fetchval(
        """
        (SELECT feed_number FROM events
         WHERE merchant_id = $1 AND feed_number > $2 AND feed_number <= $3 AND created_at >= $4
         ORDER BY feed_number LIMIT 1)
        UNION ALL
        (SELECT feed_number FROM batch_events
         WHERE merchant_id = $1 AND feed_number > $2 AND feed_number <= $3 AND created_at >= $4
         ORDER BY feed_number LIMIT 1)
        UNION ALL
        (SELECT feed_number FROM link_events
         WHERE merchant_id = $1 AND feed_number > $2 AND feed_number <= $3 AND created_at >= $4
         ORDER BY feed_number LIMIT 1)
        UNION ALL
        (SELECT feed_number FROM settlement_events
         WHERE merchant_id = $1 AND feed_number > $2 AND feed_number <= $3 AND created_at >= $4
         ORDER BY feed_number LIMIT 1)
        ORDER BY feed_number LIMIT 1
        """,
        merchant_id,
        feed["pruned_to"],
        end,
        before,
    )
    pruned_to = end if first_kept is None else first_kept - 1
    if pruned_to <= feed["pruned_to"]:
        return 0
    for table in EVENT_TABLES:
        await tx.execute(f"DELETE FROM {table} WHERE merchant_id = $1 AND feed_number <= $2", merchant_id, pruned_to)
    await tx.execute(
        "UPDATE feeds SET pruned_to = $2, pruned_before = greatest(pruned_before, $3) WHERE merchant_id = $1",
        merchant_id,
        pruned_to,
        before,
    )
    return int(pruned_to - feed["pruned_to"])


async def find_prunable(connection: Conn, *, before: datetime) -> list[str]:
    """The merchants whose feed begins before a time."""
    rows = await connection.fetch(
        """
        SELECT f.merchant_id FROM feeds f CROSS JOIN LATERAL (
            (SELECT created_at, feed_number FROM events e
             WHERE e.merchant_id = f.merchant_id AND e.feed_number > f.pruned_to ORDER BY e.feed_number LIMIT 1)
            UNION ALL
            (SELECT created_at, feed_number FROM batch_events e
             WHERE e.merchant_id = f.merchant_id AND e.feed_number > f.pruned_to ORDER BY e.feed_number LIMIT 1)
            UNION ALL
            (SELECT created_at, feed_number FROM link_events e
             WHERE e.merchant_id = f.merchant_id AND e.feed_number > f.pruned_to ORDER BY e.feed_number LIMIT 1)
            UNION ALL
            (SELECT created_at, feed_number FROM settlement_events e
             WHERE e.merchant_id = f.merchant_id AND e.feed_number > f.pruned_to ORDER BY e.feed_number LIMIT 1)
            ORDER BY feed_number LIMIT 1
        ) oldest WHERE oldest.created_at < $1
        """,
        before,
    )
    return [row["merchant_id"] for row in rows]
