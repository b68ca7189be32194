"""Reads of the receipt log's public files. Anybody may ask for them, as often as they like: payments do not wait.

They take turns on the connections for customers' pages, and leave the others of these to the pages. Whoever waits for
too long is told to come back: mirrors do.
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
