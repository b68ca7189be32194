"""Compares the database with a host's high-water marks: if it has fewer batches or looks, it was restored. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum
from typing import NamedTuple

from malipo.restore.high_water_mark import SendCount

# Workers ran side by side if they were last seen within this time of each other.
_SIDE_BY_SIDE = timedelta(seconds=60)


class Worker(NamedTuple):
    """A worker, as the database knows it."""

    batch_count: int
    seen_at: datetime | None  # None: it has noted its end
    server_id: str  # of the server that it last looked at
    look_count: int = 0
    is_at_work: bool = False  # it sends: it has looked in the last seconds, and has compared this server
    routes: frozenset[str] = frozenset()  # that it reports to carry


class DatabaseState(NamedTuple):
    """The state of the database that a worker compares before it sends."""

    is_standby: bool
    server_id: str  # changes with a restart, a fail-over or a restore
    epoch: int
    has_payments: bool
    is_untouched: bool  # the database is new, and no worker has ever looked at it
    workers: Mapping[str, Worker]

    @property
    def total(self) -> int:
        return sum(each.batch_count for each in self.workers.values())

    def batches_of(self, worker_id: str) -> int:
        return self.workers[worker_id].batch_count if worker_id in self.workers else 0

    def looks_of(self, worker_id: str) -> int:
        return self.workers[worker_id].look_count if worker_id in self.workers else 0

    def at_work_beside(self, worker_id: str) -> set[str]:
        """The other workers that were at work when the database was last written."""
        seen = {id_: each.seen_at for id_, each in self.workers.items() if each.seen_at is not None}
        last = max(seen.values(), default=None)
        return {id_ for id_, at in seen.items() if last is not None and at > last - _SIDE_BY_SIDE} - {worker_id}


def why_restored(marks: Mapping[str, SendCount], state: DatabaseState) -> str | None:
    """Why the database must have been restored; None if it agrees with every mark of the host.

    A mark of an earlier epoch does not count, because the installation was fenced since.
    """
    for worker_id, counted in marks.items():
        if counted.epoch > state.epoch:
            return "This host has worked in an epoch that the database does not know: it was restored."
        if counted.epoch < state.epoch:
            continue
        if state.total < counted.total:
            return _fewer(state.total, counted.total)
        if state.batches_of(worker_id) < counted.own:
            return _fewer(state.batches_of(worker_id), counted.own, whose=f" of {worker_id}")
        if state.looks_of(worker_id) < counted.looks:
            return _fewer(state.looks_of(worker_id), counted.looks, what="looks", whose=f" of {worker_id}")
    return None


def why_exchanged(before: SendCount, after: SendCount) -> str | None:
    """Why the database must have been replaced, after a batch was counted: its counts must be higher than before."""
    if after.total <= before.total:
        return _fewer(after.total, before.total)
    return _fewer(after.own, before.own, whose=" of this worker") if after.own <= before.own else None


def _fewer(known: int, seen: int, *, what: str = "batches of payments", whose: str = "") -> str:
    return f"The database knows of {known:,} {what}{whose}, and this host has seen {seen:,}: it was restored."


class Newcomer(Enum):
    """The decision of a host without a mark, which cannot know whether the database was restored."""

    JOINS = "joins"
    WAITS = "waits"
    FENCES = "fences"


def judge_newcomer(first: DatabaseState, now: DatabaseState, *, is_time_up: bool) -> Newcomer:
    """Decide for a host without a mark. `first` is the state at its first look. A restored database lists workers that
    have long ended, so only a worker whose row changes meanwhile is running, and has a mark."""
    if now.epoch != first.epoch or not now.has_payments or first.is_untouched:
        return Newcomer.JOINS
    if any(first.workers.get(id_) != each for id_, each in now.workers.items()):
        return Newcomer.JOINS
    return Newcomer.FENCES if is_time_up else Newcomer.WAITS
