"""Completes batches: COMPLETED when every payout of one has ended.

It is looked for once a second, and not decided when a payout ends: that would lock the row of the batch for each.
"""

from malipo.db import Database
from malipo.payments.batches.store import batches

_MOST = 100


async def complete_batches(database: Database) -> bool:
    """Whether more may be waiting."""
    async with database.begin() as tx:
        return await batches.complete_ended(tx, most=_MOST) == _MOST
