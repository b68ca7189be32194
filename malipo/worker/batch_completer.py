"""Completes batches: COMPLETED when every payout of one has ended.

It looks once a second. Deciding it whenever a payout ends would lock the row of the batch for each payout.
"""

from malipo.db import Database
from malipo.payments.batches.store import batches

_MOST = 100


async def complete_batches(database: Database) -> bool:
    """Complete the batches that are ready. Returns whether more may be waiting."""
    async with database.begin() as tx:
        return await batches.complete_ended(tx, most=_MOST) == _MOST
