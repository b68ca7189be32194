"""Which days are open: a closed day does not change."""

from datetime import date

from malipo.db import Tx
from malipo.ledger.store.closed_days import first_open_day


async def find_first(tx: Tx) -> date | None:
    """The first day that is not closed, and stays open until the commit; None: no day was ever closed."""
    return await first_open_day(tx)
