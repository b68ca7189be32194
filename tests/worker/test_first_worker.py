"""Which worker looks first: exactly one for each kind of work, and everybody where nothing is known."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest

from malipo.db import Database
from malipo.restore.mark_comparison import Worker
from malipo.restore.store import send_counts
from malipo.worker.first_worker import LATE_SECONDS, Precedence, is_first
from tests.restore.reporting_worker import note_worker

NOW = datetime(2026, 11, 15, 8, 30, tzinfo=UTC)
MPESA = frozenset({"MPESA COLLECTION", "MPESA DISBURSEMENT"})
BOTH = MPESA | {"AIRTEL_MONEY COLLECTION"}
KINDS = [f"kind {number}" for number in range(40)]
HERE, THERE = "wrk_here", "wrk_there"


def at_work(routes: frozenset[str] = BOTH) -> Worker:
    return Worker(1, NOW, "server", is_at_work=True, routes=routes)


def first_of(kind: str, routes: frozenset[str], workers: Mapping[str, Worker]) -> list[str]:
    """Who believes to be first."""
    return [id_ for id_ in workers if is_first(kind, routes, id_, workers)]


def a_kind_of(worker_id: str) -> str:
    """One that this worker is first for, if both are at work."""
    both = {HERE: at_work(), THERE: at_work()}
    return next(kind for kind in KINDS if first_of(kind, MPESA, both) == [worker_id])


def test_of_workers_that_are_alike_one_is_first_for_each_kind_and_each_is_for_some() -> None:
    workers = {f"wrk_{number}": at_work() for number in range(4)}
    firsts = [first_of(kind, MPESA, workers) for kind in KINDS]
    assert {len(each) for each in firsts} == {1}
    assert {id_ for [id_] in firsts} == set(workers)


@pytest.mark.parametrize(
    ("other", "routes", "is_mine"),
    [
        (at_work(), MPESA, False),
        (at_work(), frozenset[str](), False),
        (at_work(MPESA), MPESA, False),
        (at_work(MPESA), BOTH, True),  # it carries only a part of it
        (at_work(frozenset()), MPESA, True),  # it carries nothing, or is of a version that does not say
        (at_work(frozenset()), frozenset[str](), False),
        (at_work()._replace(is_at_work=False), MPESA, True),
        (at_work()._replace(is_at_work=False), frozenset[str](), True),
    ],
)
def test_only_who_is_at_work_and_carries_all_of_it_comes_before_others(
    other: Worker, routes: frozenset[str], *, is_mine: bool
) -> None:
    assert is_first(a_kind_of(THERE), routes, HERE, {HERE: at_work(), THERE: other}) is is_mine


def test_a_worker_that_is_not_seen_yet_leaves_the_first_place_to_one_that_is() -> None:
    assert not is_first(a_kind_of(THERE), MPESA, HERE, {THERE: at_work()})
    assert is_first(a_kind_of(HERE), MPESA, HERE, {THERE: at_work()})
    assert is_first(a_kind_of(THERE), MPESA, HERE, {})


def test_only_what_another_is_first_for_is_looked_for_late_and_only_while_that_is_known() -> None:
    now = 100.0
    precedence = Precedence(
        {"theirs": (a_kind_of(THERE), MPESA), "ours": (a_kind_of(HERE), MPESA)}, monotonic=lambda: now
    )
    topics = ("theirs", "ours", "nobody's", "")
    everybody = dict.fromkeys(topics, 0.0)

    def late() -> dict[str, float]:
        return {each: precedence.late_seconds(each) for each in topics}

    assert late() == everybody, "nothing is known yet"
    precedence.note(HERE, {HERE: at_work(), THERE: at_work()})
    assert late() == everybody | {"theirs": LATE_SECONDS}
    now += 2.9
    assert late() == everybody | {"theirs": LATE_SECONDS}
    now += 0.1
    assert late() == everybody, "three looks have failed"
    precedence.note(HERE, {HERE: at_work(), THERE: at_work()})
    precedence.note(HERE, {HERE: at_work()})
    assert late() == everybody, "the other has ended"


async def test_at_work_is_who_has_just_looked_and_waits_for_nobody(database: Database) -> None:
    async def found() -> dict[str, bool]:
        state = await send_counts.find_database_state(tx)
        return {id_: each.is_at_work for id_, each in state.workers.items()}

    async with database.begin() as tx:
        for name in ("here", "old", "hung", "elsewhere", "waits", "ended"):
            await note_worker(tx, None if name == "old" else sorted(MPESA), worker_id=f"wrk_{name}")
        await tx.execute("UPDATE worker_send_counts SET seen_at = now() - interval '3 s' WHERE worker_id = 'wrk_hung'")
        await tx.execute("UPDATE worker_send_counts SET server_id = 'x' WHERE worker_id = 'wrk_elsewhere'")
        server = (await send_counts.find_database_state(tx)).server_id
        await send_counts.note_running(tx, "wrk_waits", "till", [], server_id=server, is_waiting=True)
        await send_counts.note_ended(tx, "wrk_ended", comes_back=True)
        assert await found() == {
            "wrk_here": True,
            "wrk_old": True,
            "wrk_hung": False,
            "wrk_elsewhere": False,
            "wrk_waits": False,
            "wrk_ended": False,
        }
        workers = (await send_counts.find_database_state(tx)).workers
        assert (workers["wrk_here"].routes, workers["wrk_old"].routes) == (MPESA, frozenset())
