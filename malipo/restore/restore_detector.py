"""Detects a restored database: each worker compares it with its high-water mark before it sends.

Each batch of sends is counted in the commit that claims it, and the count is in the mark before the batch is sent. Each
look is counted too, about once a second and whenever events get numbers, so that a restore is noticed even if nothing
was sent since the backup. A primary with fewer batches or looks than the mark was restored from a backup. A host
without a mark that finds no other worker running does not know the number of sent batches, so it fences the database
too.
"""

import asyncio
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from malipo import ids, log
from malipo.clock import loop_time
from malipo.db import Database, Tx
from malipo.db.schema import migrations
from malipo.restore.high_water_mark import HighWaterMark, SendCount
from malipo.restore.mark_comparison import (
    DatabaseState,
    Newcomer,
    Worker,
    judge_newcomer,
    why_exchanged,
    why_restored,
)
from malipo.restore.store import installation, send_counts

# The time that other workers have to compare. Running workers compare every second.
PATIENCE_SECONDS = 10.0


class NotCompared(Exception):  # noqa: N818
    """This worker must compare the database first, which its next look does."""


class Fence(Protocol):
    """Fences the installation if its epoch is still this one. Returns the new epoch, which is later than `beyond`."""

    async def __call__(self, reason: str, *, epoch: int, beyond: int) -> int: ...


class RestoreDetector:
    """Compares the database with the mark of this worker. Without a `state_dir` nothing is compared, because the
    operator has chosen that."""

    def __init__(
        self,
        database: Database,
        state_dir: Path | None,
        *,
        fence: Fence,
        patience_seconds: float = PATIENCE_SECONDS,
        routes: Sequence[str] | None = None,
    ) -> None:
        self._database = database
        self._state_dir = state_dir
        self._fence = fence
        self._patience_seconds = patience_seconds
        self._routes = routes  # that this worker carries; each look reports them
        self._high_water_mark: HighWaterMark | None = None
        self._first: DatabaseState | None = None  # at the first look at this server
        self._first_at = 0.0
        self._may_send = False
        self._is_seen = False
        self.workers: Mapping[str, Worker] = {}  # at the last look
        self.worker_id = ids.random("wrk_")

    @property
    def may_send(self) -> bool:
        """Whether this worker, and the workers that ran beside it, have compared the server."""
        return self._may_send

    @property
    def counted(self) -> SendCount | None:
        return self._high_water_mark.counted if self._high_water_mark is not None else None

    async def look(self) -> None:
        """Compare, and note that this worker runs. On a standby there is nothing to compare, and nothing to send."""
        if self._state_dir is not None and self._high_water_mark is None:
            self._high_water_mark = await self._open_mark(self._state_dir)
            self.worker_id = self._high_water_mark.worker_id
        # The marks before the database is read: sends and numberings meanwhile would be in the marks and not in the
        # state.
        marks = {} if self._high_water_mark is None else dict(self._high_water_mark.found)
        state = await self._find_database_state()
        self.workers = state.workers
        if state.is_standby:
            self._may_send = False
            return
        first = self._first
        if first is None and self._high_water_mark is None:
            log.warning(
                "restore_detection.off",
                message="MALIPO_STATE_DIR is none: a restored database is not noticed, and may pay twice.",
            )
        if first is None or first.server_id != state.server_id:
            first, self._may_send = state, False
            self._first, self._first_at = state, loop_time()
        is_time_up = loop_time() - self._first_at >= self._patience_seconds
        if self._high_water_mark is not None and not await self._agrees(
            self._high_water_mark, marks, first, state, is_time_up=is_time_up
        ):
            return
        awaited = first.at_work_beside(self.worker_id)
        have_looked = {id_ for id_, each in state.workers.items() if each.server_id == state.server_id}
        may_send = is_time_up or awaited <= have_looked
        async with self._database.read() as connection:  # One statement is its own transaction.
            looks = await send_counts.note_running(
                connection,
                self.worker_id,
                socket.gethostname(),
                self._routes,
                server_id=state.server_id,
                is_waiting=not may_send,
            )
        if looks is None:  # The server was replaced since it was read. The next look compares the new one.
            self._may_send = False
            return
        self._is_seen, self._may_send = True, may_send
        if self._high_water_mark is not None and (counted := self._high_water_mark.counted) is not None:
            await _write(self._high_water_mark, counted._replace(looks=looks))

    async def _open_mark(self, folder: Path) -> HighWaterMark:
        async with self._database.read() as connection:
            found = await installation.get(connection)
        return await asyncio.to_thread(HighWaterMark, folder, found.id)

    async def _find_database_state(self) -> DatabaseState:
        async with self._database.read() as connection:
            return await send_counts.find_database_state(connection)

    async def _agrees(
        self,
        mark: HighWaterMark,
        marks: Mapping[str, SendCount],
        first: DatabaseState,
        state: DatabaseState,
        *,
        is_time_up: bool,
    ) -> bool:
        """Whether the database agrees with the marks. Then the mark is updated."""
        reason = why_restored(marks, state)
        if not marks:
            verdict = judge_newcomer(first, state, is_time_up=is_time_up)
            if verdict is Newcomer.WAITS:
                return False
            if verdict is Newcomer.FENCES:
                reason = (
                    f"The host {socket.gethostname()} has no mark of this installation, and no other worker is running."
                )
        if reason is not None:
            beyond = max((each.epoch for each in marks.values()), default=0)
            epoch = await self._fence(reason, epoch=state.epoch, beyond=beyond)
            # The mark follows, so that a released installation is not fenced again at the next look.
            await _write(mark, SendCount(epoch, 0, 0))
            return False
        counted = SendCount(state.epoch, state.total, state.batches_of(self.worker_id), state.looks_of(self.worker_id))
        await _write(mark, counted)
        return True

    async def may_leave(self, batch: send_counts.CountedBatch | None, *, before: SendCount | None) -> bool:
        """Write a claimed batch to the mark, and return whether it may be sent. `before` is the mark before the claim.

        It may not on a server or in an epoch that this worker has not compared, because other workers may have sent
        more; nor on a schema that no longer serves this version, because its rows may mean something else there.
        """
        if batch is not None and batch.serves > migrations()[-1].number:
            return False
        if batch is None or self._first is None or batch.server_id != self._first.server_id:
            return False
        if self._high_water_mark is None:
            return True
        if before is None or batch.counted.epoch != before.epoch:
            return False
        if (reason := why_exchanged(before, batch.counted)) is not None:
            await self._fence(reason, epoch=before.epoch, beyond=before.epoch)
            return False
        await _write(self._high_water_mark, batch.counted)
        return True

    async def count_numbering(self, tx: Tx) -> SendCount | None:
        """Count this transaction, which numbers events, as a look. Give the count to `note_numbering` after the commit.

        An unnoticed restored database would give these numbers to other events, which readers of the feed would then
        miss. So a worker numbers events only on a server that it has compared, and not if the database has lost looks
        of its own; nor in an epoch that its mark does not have, where the mark would show no restore.
        """
        if self._state_dir is None:
            return None
        counted = self.counted
        now = await send_counts.count_look(tx, self.worker_id) if self._is_seen else None
        if now is None or counted is None or now.epoch != counted.epoch or now.looks <= counted.looks:
            raise NotCompared
        return now

    async def note_numbering(self, counted: SendCount | None) -> None:
        """Write the count to the mark, after the commit. A mark of a later epoch stays."""
        if counted is not None and self._high_water_mark is not None:
            await _write(self._high_water_mark, counted)

    async def leave(self) -> None:
        """Note that this worker has ended, and close its mark."""
        if self._is_seen:
            async with self._database.begin() as tx:
                await send_counts.note_ended(tx, self.worker_id, comes_back=self._high_water_mark is not None)
        if self._high_water_mark is not None:
            self._high_water_mark.close()


async def _write(mark: HighWaterMark, counted: SendCount) -> None:
    """Write and flush counts to the mark in a thread. If the mark has them already, nothing is done."""
    if not mark.has(counted):
        await asyncio.to_thread(mark.write, counted)
