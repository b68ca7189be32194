"""The conclusion from a host's marks and the database, cell by cell."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from malipo.restore.high_water_mark import SendCount
from malipo.restore.mark_comparison import DatabaseState, Newcomer, Worker, judge_newcomer, why_exchanged, why_restored

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
A, B = "wrk_a", "wrk_b"


def _worker(batches: int, ago: float = 0, server: str = "one") -> Worker:
    return Worker(batches, NOW - timedelta(seconds=ago), server, look_count=20)


def _standing(a: int = 40, b: int = 60, *, epoch: int = 1, **changes: Any) -> DatabaseState:
    standing = DatabaseState(
        is_standby=False,
        server_id="one",
        epoch=epoch,
        has_payments=True,
        is_untouched=False,
        workers={A: _worker(a), B: _worker(b)},
    )
    return standing._replace(**changes)


@pytest.mark.parametrize(
    ("marks", "is_restored", "why"),
    [
        ({}, False, "no mark says nothing"),
        ({A: SendCount(1, 100, 40)}, False, "the same"),
        ({A: SendCount(1, 90, 35)}, False, "the host was away"),
        ({A: SendCount(1, 101, 40)}, True, "a batch of another worker is lost"),
        ({A: SendCount(1, 95, 41)}, True, "its own batch is lost, and others have counted on"),
        ({A: SendCount(1, 90, 35), B: SendCount(1, 95, 61)}, True, "another worker of the same host misses one"),
        ({"wrk_c": SendCount(1, 50, 1)}, True, "the worker itself is not known any more"),
        ({"wrk_c": SendCount(1, 50, 0)}, False, "a worker that never sent anything may be unknown"),
        ({A: SendCount(7, 0, 0)}, True, "an epoch is lost"),
        ({A: SendCount(1, 100, 40, looks=20)}, False, "as many looks"),
        ({A: SendCount(1, 100, 40, looks=21)}, True, "nothing was sent since, and a look is lost"),
        ({"wrk_c": SendCount(1, 50, 0, looks=1)}, True, "a worker that has looked is known"),
    ],
)
def test_a_database_is_compared_with_every_mark_of_the_host(
    marks: dict[str, SendCount], is_restored: bool, why: str
) -> None:
    assert (why_restored(marks, _standing()) is not None) is is_restored, why


def test_a_mark_of_an_earlier_epoch_is_explained_by_the_fence_since() -> None:
    assert why_restored({A: SendCount(1, 900, 900)}, _standing(epoch=1_800_000_000)) is None


@pytest.mark.parametrize(
    ("after", "is_exchanged"),
    [
        (SendCount(1, 101, 41), False),
        (SendCount(1, 150, 41), False),
        (SendCount(1, 100, 41), True),
        (SendCount(1, 101, 40), True),
        (SendCount(1, 60, 20), True),
    ],
)
def test_whoever_counts_another_batch_comes_to_more(after: SendCount, is_exchanged: bool) -> None:
    assert (why_exchanged(SendCount(1, 100, 40), after) is not None) is is_exchanged


@pytest.mark.parametrize(
    ("first", "now", "verdict"),
    [
        (_standing(), _standing(), Newcomer.FENCES),
        (_standing(), _standing(has_payments=False), Newcomer.JOINS),
        (_standing(is_untouched=True), _standing(), Newcomer.JOINS),
        (_standing(), _standing(b=61), Newcomer.JOINS),
        (_standing(), _standing(workers={A: _worker(40), B: _worker(60, ago=-1)}), Newcomer.JOINS),
        (_standing(), _standing(workers={A: _worker(40), B: _worker(60), "wrk_c": _worker(0)}), Newcomer.JOINS),
        (_standing(), _standing(epoch=2), Newcomer.JOINS),
    ],
)
def test_a_host_without_a_mark_believes_only_a_worker_that_it_sees_at_work(
    first: DatabaseState, now: DatabaseState, verdict: Newcomer
) -> None:
    assert judge_newcomer(first, now, is_time_up=True) is verdict
    patient = Newcomer.WAITS if verdict is Newcomer.FENCES else verdict
    assert judge_newcomer(first, now, is_time_up=False) is patient


def test_workers_side_by_side_are_those_that_were_seen_within_a_minute_of_the_last() -> None:
    ended = Worker(5, None, "one")
    workers = {A: _worker(1, ago=86_400), B: _worker(1, ago=86_430), "wrk_c": _worker(1, ago=90_000), "wrk_d": ended}
    assert _standing(workers=workers).at_work_beside(A) == {B}
    assert _standing(workers={}).at_work_beside(A) == set()
