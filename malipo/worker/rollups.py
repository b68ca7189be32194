"""Updates the rollups: of payments, and of the statements of wallets."""

from malipo.db import Database
from malipo.ledger.store import statement_rollups
from malipo.payments.rollups import counter


async def count(database: Database, *, least: int = counter.LEAST) -> bool:
    """Count once. Returns whether more may be waiting."""
    async with database.begin() as tx:
        is_more = await counter.count(tx, least=least)
    async with database.begin() as tx:
        return await statement_rollups.count(tx, least=least) or is_more
