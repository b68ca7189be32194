"""Reads a merchant's feed: every event, in order, without gaps, for as long as events are kept."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

import msgspec

from malipo.counts import store as rollups
from malipo.counts.store import Rollup
from malipo.db import Conn, Tx
from malipo.errors import Invalid


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


class _FeedBody(msgspec.Struct):
    """The part of an event's body that the feed shows; the transaction stays as it was written."""

    transaction: msgspec.Raw


class FeedEntry(msgspec.Struct, frozen=True):
    id: str
    event: str
    created_at: datetime
    transaction: msgspec.Raw


@dataclass(frozen=True, slots=True)
class FeedPage:
    entries: list[FeedEntry]
    next: int  # the number to read on after


_decode = msgspec.json.Decoder(_FeedBody).decode


async def page(connection: Conn, merchant_id: str, *, after: int | None, limit: int) -> FeedPage:
    """The events after a number. Two statements that must agree: read inside a snapshot."""
    last, pruned = await _span(connection, merchant_id)
    if after is None:
        after = pruned
    if after < pruned:
        raise CursorExpired
    if after > last:
        # A feed never shrinks. A reader with a cursor beyond its end would miss events if we answered "none".
        raise CursorUnknown
    rows = await connection.fetch(
        """
        SELECT id, event, created_at, body, feed_number FROM events
        WHERE merchant_id = $1 AND feed_number > $2 ORDER BY feed_number LIMIT $3
        """,
        merchant_id,
        after,
        limit,
    )
    entries = [FeedEntry(row["id"], row["event"], row["created_at"], _decode(row["body"]).transaction) for row in rows]
    return FeedPage(entries, rows[-1]["feed_number"] if rows else after)


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


async def prune(tx: Tx, merchant_id: str, *, before: datetime, most: int) -> int:
    """Delete the oldest events, those before a time, and return how many. What is kept has no gaps."""
    feed = await tx.fetchrow("SELECT last_number, pruned_to FROM feeds WHERE merchant_id = $1 FOR UPDATE", merchant_id)
    if feed is None:
        return 0
    # A payment that ended by an event must be in the rollups before the event is deleted.
    counted = await rollups.find_position(tx, merchant_id, Rollup.PAYMENTS)
    end = min(feed["last_number"], feed["pruned_to"] + most, counted)
    # Only among those: looked for in all that is old, it would take longer with every event that waits to be deleted.
    first_kept = await tx.fetchval(
        """
        SELECT feed_number FROM events
        WHERE merchant_id = $1 AND feed_number > $2 AND feed_number <= $3 AND created_at >= $4
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
    await tx.execute("DELETE FROM events WHERE merchant_id = $1 AND feed_number <= $2", merchant_id, pruned_to)
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
            SELECT created_at FROM events e WHERE e.merchant_id = f.merchant_id AND e.feed_number > f.pruned_to
            ORDER BY e.feed_number LIMIT 1
        ) oldest WHERE oldest.created_at < $1
        """,
        before,
    )
    return [row["merchant_id"] for row in rows]
