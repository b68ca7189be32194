"""Reads of the receipt log's public files. Anybody may request them, as often as they like, without delaying payments.

They take turns on some of the connections for customers' pages. A request that waits too long gets a refusal that asks
it to come back later, which mirrors do.
"""

from malipo.db.queries import Found, Queries, Query
from malipo.turns import Turns

AT_ONCE = 1
WAIT_SECONDS = 4


class LogReads:
    def __init__(self, queries: Queries, *, wait_seconds: float = WAIT_SECONDS) -> None:
        self._queries = queries
        self._turns = Turns(AT_ONCE)
        self._wait_seconds = wait_seconds

    async def read(self, query: Query[Found]) -> Found:
        async with self._turns.taken(seconds=self._wait_seconds):
            return await self._queries.read(query)

    async def read_snapshot(self, query: Query[Found]) -> Found:
        async with self._turns.taken(seconds=self._wait_seconds):
            return await self._queries.read_snapshot(query)
