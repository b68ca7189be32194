"""Counts what came by payment links, a moment after it came.

It looks once a second. Counting in the commit of each payment would lock the row of the link for each, and make every
payment dearer.
"""

from collections.abc import Callable

from malipo.clock import Clock
from malipo.db import Database
from malipo.links.count import count

_MOST = 50


async def count_links(database: Database, clock: Clock, wake_fan_out: Callable[[], None] = lambda: None) -> bool:
    """Count the attempts that have ended. Returns whether more may be waiting."""
    async with database.begin() as tx:
        looked_at, told = await count(tx, most=_MOST, now=clock())
    if told:
        wake_fan_out()
    return looked_at == _MOST
