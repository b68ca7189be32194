"""Completes batches: COMPLETED when every payout of one has ended.

It looks once a second. If each end of a payout completed its batch, every payout would lock the row of the batch.
"""

from collections.abc import Callable

from malipo.db import Database
from malipo.payments.batches.complete import complete

_MOST = 100


async def complete_batches(database: Database, wake_fan_out: Callable[[], None] = lambda: None) -> bool:
    """Complete the batches that are ready. Returns whether more may be waiting."""
    async with database.begin() as tx:
        events = await complete(tx, most=_MOST)
    if events:
        wake_fan_out()
    return len(events) == _MOST
