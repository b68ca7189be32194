"""Reads and rare writes of requests: which connections they use, and how long they wait for a database that is away.

A read that may be late (`may_lag`) goes to a standby, if there is one. The table in docs/operating/high-availability.md
lists which reads may: never one by which a person or program decides whether to pay.
"""

from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from typing import TypeVar

from malipo.db import Conn, Database, Tx, retry
from malipo.db.errors import StatementCancelled
from malipo.db.standby import Standby, StandbyUnusable
from malipo.errors import QueryTimeout
from malipo.turns import Turns

Found = TypeVar("Found")
Query = Callable[[Conn], Awaitable[Found]]


class Queries:
    """The queries of one kind of caller, programs or people: `database` has their connections. All searches take turns
    on people's connections."""

    def __init__(
        self,
        database: Database,
        *,
        patience_seconds: float,
        search_database: Database,
        search_seconds: float,
        search_turns: Turns,
        standby: Standby | None = None,
    ) -> None:
        self.database = database
        self._patience = patience_seconds
        self._search_database = search_database
        self._search_seconds = search_seconds
        self._search_turns = search_turns
        self._standby = standby

    def begin_waiting(self) -> None:
        """Begin the deadline of a request that has arrived, or that goes on after a wait of its own."""
        retry.begin_waiting(self._patience)

    def end_waiting(self) -> None:
        retry.end_waiting()

    async def read(self, query: Query[Found], *, may_lag: bool = False) -> Found:
        return await self._read(self.database, query, is_snapshot=False, may_lag=may_lag)

    async def read_part(self, query: Query[Found]) -> Found:
        """Read a part of a download, which may take long: each part has a deadline of its own, and may be late."""
        with retry.own_deadline(self._patience):
            return await self.read(query, may_lag=True)

    async def read_snapshot(self, query: Query[Found], *, is_search: bool = False, may_lag: bool = False) -> Found:
        """A read of several statements that must agree with each other.

        A search can be costly. It always uses one of people's connections, so that neither payments nor most pages wait
        for it.
        """
        seconds = self._search_seconds + self._patience
        async with self._search_turns.taken(seconds=seconds) if is_search else nullcontext():
            database = self._search_database if is_search else self.database
            return await self._read(database, query, is_snapshot=True, may_lag=may_lag)

    async def _read(self, database: Database, query: Query[Found], *, is_snapshot: bool, may_lag: bool) -> Found:
        if may_lag and self._standby is not None:
            try:
                return await self._standby.read(query, is_snapshot=is_snapshot, seconds=self._patience / 2)
            except StandbyUnusable:
                pass
            except StatementCancelled as error:
                if database.statement_timeout_seconds is not None:
                    raise QueryTimeout from error  # A second try would take as long again.
        return await retry.read(database, query, patience_seconds=self._patience, is_snapshot=is_snapshot)

    async def write(self, act: Callable[[Tx], Awaitable[Found]]) -> Found:
        """One rare write that commits alone, such as a new key. Retried if nothing can have happened."""
        return await retry.write(self.database, act, patience_seconds=self._patience)
