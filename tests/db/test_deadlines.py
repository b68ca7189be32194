"""One deadline for a request over all its stages, and each caller of a shared commit by its own."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import pytest

from malipo.db import Conn, ConnectionLost, Database, Tx, retry
from malipo.db.group_commit import GroupCommit
from malipo.errors import OutcomeUnknown, Unavailable
from tests.db.recorded_commits import (
    RecordedCommits,
    end_sessions_in_commit,
    make_commits_slow,
    until,
    who_shared,
)
from tests.db.recorded_commits import group as group
from tests.db.recorded_commits import recorded_commits as recorded_commits

Found = TypeVar("Found")


def within(seconds: float, act: Callable[[], Awaitable[Found]]) -> asyncio.Task[Found]:
    """A request that may wait so long in all. A task of its own: its deadline is nobody else's."""

    async def begin_and_act() -> Found:
        retry.begin_waiting(seconds)
        return await act()

    return asyncio.create_task(begin_and_act())


def request(seconds: float, group: GroupCommit[int, str], ask: int) -> asyncio.Task[str]:
    return within(seconds, lambda: group(ask))


async def outcomes(*tasks: asyncio.Task[str]) -> list[object]:
    return [
        each if isinstance(each, str) else type(each) for each in await asyncio.gather(*tasks, return_exceptions=True)
    ]


async def test_a_batch_goes_on_for_those_who_still_wait_when_the_time_of_the_eldest_is_over(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    is_away = True

    async def be_away(tx: Tx, asks: Sequence[int]) -> None:
        if is_away:
            raise ConnectionLost("forced")

    recorded_commits.before = be_away
    short, long = request(0.2, group, 1), request(20, group, 2)
    await asyncio.wait([short])
    is_away = False

    assert await outcomes(short, long) == [Unavailable, "answer to 2"]
    assert recorded_commits.batches[0] == [1, 2]
    assert recorded_commits.batches[-1] == [2]
    assert await who_shared(database) == [2]


async def test_whoever_leaves_a_batch_in_doubt_is_told_so_and_the_others_learn_that_it_was_done(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    """The first try is lost inside its COMMIT; then the database is away until the first caller's time is over."""
    is_away = True

    async def be_away(tx: Tx, asks: Sequence[int]) -> None:
        if is_away and len(recorded_commits.batches) > 1:
            raise ConnectionLost("forced")

    recorded_commits.before = be_away
    await make_commits_slow(database)
    short, long = request(2, group, 1), request(20, group, 2)
    await end_sessions_in_commit(database)
    await asyncio.wait([short])
    is_away = False

    assert await outcomes(short, long) == [OutcomeUnknown, "answer to 2"]
    assert recorded_commits.agains[0] is False
    assert recorded_commits.agains[-1] is True, "the act must look for what the first try wrote"


async def test_whoever_waits_behind_a_batch_that_hangs_is_answered_in_time_and_never_tried(
    database: Database, recorded_commits: RecordedCommits
) -> None:
    group = GroupCommit[int, str](database, recorded_commits, patience_seconds=60)
    recorded_commits.gate.clear()
    ahead = request(60, group, 1)
    await recorded_commits.has_begun.wait()
    behind, long = request(1, group, 2), request(60, group, 3)

    assert await outcomes(behind) == [Unavailable]
    assert not ahead.done()
    assert not long.done()
    assert group.depth == 1
    recorded_commits.gate.set()
    assert await outcomes(ahead, long) == ["answer to 1", "answer to 3"]
    assert recorded_commits.batches == [[1], [3]]


async def test_a_late_request_in_a_queue_that_moves_is_answered(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits
) -> None:
    recorded_commits.gate.clear()
    ahead = request(5, group, 1)
    await recorded_commits.has_begun.wait()
    late = request(-1, group, 2)
    await until(lambda: group.depth == 1)
    recorded_commits.gate.set()

    assert await outcomes(ahead, late) == ["answer to 1", "answer to 2"]


async def test_a_try_is_not_cut_short_for_whoever_s_time_ends_first(
    database: Database, recorded_commits: RecordedCommits
) -> None:
    """A server that has just taken over is slow, and after an outage there is always somebody whose time ends."""

    async def be_slow(tx: Tx, asks: Sequence[int]) -> None:
        await tx.execute("SELECT pg_sleep(1.5)")

    recorded_commits.before = be_slow
    group = GroupCommit[int, str](database, recorded_commits, patience_seconds=4)

    assert await outcomes(request(1, group, 1), request(20, group, 2)) == ["answer to 1", "answer to 2"]
    assert recorded_commits.batches == [[1, 2]]


async def test_the_stages_of_a_request_wait_together_and_not_each_anew(database: Database) -> None:
    """The second stage finds that the time is over, and tries once."""
    tries = {"first": 0, "second": 0}

    def stage(name: str) -> Awaitable[None]:
        async def be_away(connection: Conn) -> None:
            tries[name] += 1
            raise ConnectionLost("forced")

        return retry.read(database, be_away, patience_seconds=60)

    async def both() -> None:
        with pytest.raises(ConnectionLost):
            await stage("first")
        with pytest.raises(ConnectionLost):
            await stage("second")

    await within(0.5, both)

    assert tries["first"] > 1
    assert tries["second"] == 1


async def test_a_group_commit_is_given_what_the_stages_before_have_left(
    database: Database, recorded_commits: RecordedCommits
) -> None:
    async def be_away(tx: Tx, asks: Sequence[int]) -> None:
        raise ConnectionLost("forced")

    recorded_commits.before = be_away
    group = GroupCommit[int, str](database, recorded_commits, patience_seconds=60)

    async def all_used_up() -> None:
        with pytest.raises(Unavailable):
            await group(1)

    await within(0, all_used_up)
    assert len(recorded_commits.batches) == 1


@pytest.mark.parametrize("is_snapshot", [False, True])
async def test_a_deadline_that_has_passed_ends_no_read_of_a_database_that_is_there(
    database: Database, is_snapshot: bool
) -> None:
    async def slow(connection: Conn) -> int:
        return int(await connection.fetchval("SELECT 1 FROM pg_sleep(0.2)"))

    assert await within(-5, lambda: retry.read(database, slow, patience_seconds=60, is_snapshot=is_snapshot)) == 1


async def test_a_rare_write_that_hangs_is_answered_without_doubt_before_its_commit_and_with_doubt_in_it(
    database: Database, recorded_commits: RecordedCommits
) -> None:
    async def hang(tx: Tx) -> None:
        await tx.execute("SELECT pg_sleep(60)")

    async def commit_slowly(tx: Tx) -> None:
        await tx.execute("INSERT INTO rides (ask) VALUES (1)")

    await make_commits_slow(database)
    with pytest.raises(Unavailable) as before:
        await retry.write(database, hang, patience_seconds=0.3)
    with pytest.raises(OutcomeUnknown):
        await retry.write(database, commit_slowly, patience_seconds=0.2)

    assert not isinstance(before.value, OutcomeUnknown)


async def test_a_part_of_a_download_has_a_deadline_of_its_own_and_leaves_the_requests(database: Database) -> None:
    def deadline() -> float:
        return retry.deadline_of(0)

    async def read() -> tuple[float, float, float]:
        before = deadline()
        with retry.own_deadline(60):
            within_it = deadline()
        return before, within_it, deadline()

    before, within_it, after = await within(5, read)
    assert before == after < within_it
