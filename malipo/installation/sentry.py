"""A worker's look at the database before it sends: is it the one that it knows, or one that was restored?

Each batch of sends is counted in the commit that claims it, and the count is in the mark before the batch leaves. A
primary that knows of fewer batches than the mark was restored from a backup. So was, perhaps, one that a host without
any mark meets alone: then nobody can say what was sent.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from pathlib import Path

from malipo import ids, log
from malipo.db import Database
from malipo.installation import store
from malipo.installation.mark import Mark

ALIVE_SECONDS = 60.0

Fence = Callable[[str], Awaitable[None]]


class Sentry:
    """`fence` closes the installation; `state_dir` None switches the comparison off, knowingly."""

    def __init__(self, database: Database, state_dir: Path | None, *, fence: Fence) -> None:
        self._database = database
        self._state_dir = state_dir
        self._fence = fence
        self._mark: Mark | None = None
        self._has_arrived = False
        self.worker_id = ids.random("wrk_")

    @property
    def may_send(self) -> bool:
        """Not before the first look."""
        return self._has_arrived

    async def look(self) -> bool:
        """Compare, and be seen. On a standby there is nothing to compare, and nothing to send."""
        if self._state_dir is None and not self._has_arrived:
            log.warning(
                "state.off",
                message="MALIPO_STATE_DIR is none: a restored database is not noticed, and may pay twice.",
            )
        if self._state_dir is not None and self._mark is None:
            async with self._database.read() as connection:
                installation = await store.get(connection)
            self._mark = await asyncio.to_thread(Mark, self._state_dir, installation.id)
            self.worker_id = self._mark.worker_id
        async with self._database.read() as connection:
            standing = await store.stand(connection, self.worker_id, alive_seconds=ALIVE_SECONDS)
        if standing.is_standby:
            return False
        if self._mark is not None:
            await self._compare(self._mark, standing)
        async with self._database.begin() as tx:
            await store.be_seen(tx, self.worker_id, socket.gethostname())
        self._has_arrived = True
        return False

    async def _compare(self, mark: Mark, standing: store.Standing) -> None:
        if mark.number is None and standing.has_payments and not standing.others and not self._has_arrived:
            await self._fence(
                f"The host {socket.gethostname()} has no mark of this installation, and no other worker lives that has."
            )
        elif mark.number is not None and standing.total < mark.number:
            await self._fence(_restored(standing.total, mark.number))
            async with self._database.begin() as tx:
                # It is known now. What operators release would be fenced again at the next look.
                await store.be_seen(tx, self.worker_id, socket.gethostname())
                await store.catch_up(tx, self.worker_id, mark.number)
        await asyncio.to_thread(mark.write, max(standing.total, mark.number or 0))

    @property
    def number(self) -> int:
        """How many batches were sent, as far as this host has seen."""
        return self._mark.number or 0 if self._mark is not None else 0

    async def may_leave(self, total: int, *, before: int) -> bool:
        """A batch was claimed, when the mark was at `before`. It may leave when it is in the mark.

        Whoever has seen `before` batches and then counts another must come to more, unless the database is another one.
        """
        if self._mark is None:
            return True
        if total <= before:
            await self._fence(_restored(total, before))
            return False
        await asyncio.to_thread(self._mark.write, total)
        return True

    async def leave(self) -> None:
        """The last word of a worker that ends."""
        if self._has_arrived:
            async with self._database.begin() as tx:
                await store.leave(tx, self.worker_id)
        if self._mark is not None:
            self._mark.close()


def _restored(total: int, mark: int) -> str:
    return f"The database knows of {total:,} batches of payments, and this host has seen {mark:,}: it was restored."
