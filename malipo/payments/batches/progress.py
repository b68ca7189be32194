"""Reads a batch: how far it is, and what became of each item."""

from collections.abc import AsyncIterator, Awaitable, Callable

from msgspec.structs import replace

from malipo.db import Conn
from malipo.payments.batches.batch import Batch, BatchLine, BatchProgress, BatchStatus
from malipo.payments.batches.store import batches, items, payouts

_MOST_IN_A_PIECE = 500

ReadPart = Callable[[Callable[[Conn], Awaitable[list[BatchLine]]]], Awaitable[list[BatchLine]]]


async def find(connection: Conn, merchant_id: str, batch_id: str) -> BatchProgress | None:
    """The batch, and how many of its payouts have which status. Read in one snapshot.

    A worker completes it a moment after its last payout has ended; a page that is read in between shows that it has.
    """
    batch = await batches.get(connection, merchant_id, batch_id)
    if batch is None:
        return None
    counts = await payouts.count_by_status(connection, batch)
    ended = sum(count for status, count in counts.items() if status.is_final)
    if batch.status is BatchStatus.RUNNING and ended == batch.item_count:
        last = await payouts.find_last_end(connection, batch)
        batch = replace(batch, status=BatchStatus.COMPLETED, completed_at=last)
    return BatchProgress(batch, counts)


async def find_lines(connection: Conn, batch: Batch, *, first: int, limit: int) -> list[BatchLine]:
    """Items with their payouts, from this index on. Read in one snapshot."""
    found = await items.find_page(connection, batch, first=first, limit=limit)
    if batch.first_payout_id is None:
        return [BatchLine(item, None) for item in found]
    of_items = await payouts.find_page(connection, batch, first=first, limit=limit)
    return [BatchLine(item, of_items[item.index]) for item in found]


async def stream(read_part: ReadPart, batch: Batch) -> AsyncIterator[list[BatchLine]]:
    """All items, in pieces that are each read alone."""
    for first in range(0, batch.item_count, _MOST_IN_A_PIECE):

        async def piece(connection: Conn, first: int = first) -> list[BatchLine]:
            return await find_lines(connection, batch, first=first, limit=_MOST_IN_A_PIECE)

        yield await read_part(piece)
