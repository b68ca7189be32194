"""Group commit when the database fails: which groups are repeated, which outcomes are unknown, and which callers get
which error."""

import asyncio
from collections import Counter
from collections.abc import Sequence

import pytest

from malipo.db import ConnectionLost, Contention, Database, Tx
from malipo.db.group_commit import GroupCommit
from malipo.errors import OutcomeUnknown, Unavailable
from tests.db.recorded_commits import (
    RecordedCommits,
    callers_per_commit,
    end_session_of,
    end_sessions_in_commit,
    make_commits_slow,
    who_shared,
)
from tests.db.recorded_commits import group as group
from tests.db.recorded_commits import recorded_commits as recorded_commits


@pytest.mark.parametrize("sqlstate", ["40001", "40P01", "55P03"])
async def test_contention_is_tried_again_and_never_shown(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database, sqlstate: str
) -> None:
    async def fail_twice(tx: Tx, asks: Sequence[int]) -> None:
        await tx.execute("INSERT INTO rides (ask) VALUES ($1)", 1000 + len(recorded_commits.batches))
        if len(recorded_commits.batches) <= 2:
            await tx.execute(f"DO $$ BEGIN RAISE EXCEPTION 'forced' USING ERRCODE = '{sqlstate}'; END $$")

    recorded_commits.before = fail_twice
    answers = await asyncio.gather(*(group(ask) for ask in range(4)))

    assert answers == [f"answer to {ask}" for ask in range(4)]
    assert recorded_commits.batches == [[0, 1, 2, 3]] * 3
    assert recorded_commits.agains == [False, False, False]  # Nothing had happened, and that is certain.
    assert await who_shared(database) == [0, 1, 2, 3, 1003]


async def test_a_real_deadlock_between_two_groups_is_tried_again_inside(
    database: Database, recorded_commits: RecordedCommits
) -> None:
    """Two acts take two rows in opposite orders, with a pause between, as ours must never do."""
    async with database.begin() as tx:
        await tx.execute("SET LOCAL deadlock_timeout = '100ms'")
        await tx.execute("CREATE TABLE rows_wanted AS SELECT 1 AS row UNION SELECT 2")
    both_hold_one = asyncio.Barrier(2)
    tries = Counter[str]()

    def in_order(name: str, *rows: int) -> GroupCommit[int, str]:
        async def act(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
            tries[name] += 1
            await tx.execute("SET LOCAL deadlock_timeout = '100ms'")
            await tx.execute("SELECT * FROM rows_wanted WHERE row = $1 FOR UPDATE", rows[0])
            if sum(tries.values()) <= 2:
                await both_hold_one.wait()
            await tx.execute("SELECT * FROM rows_wanted WHERE row = $1 FOR UPDATE", rows[1])
            return [name for _ in asks]

        return GroupCommit(database, act, patience_seconds=60)

    there, back = in_order("there", 1, 2), in_order("back", 2, 1)
    answers = await asyncio.gather(there(0), back(0))

    assert list(answers) == ["there", "back"]
    assert sum(tries.values()) == 3


async def test_a_connection_lost_before_the_commit_is_tried_again_without_doubt(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    async def lose_the_first(tx: Tx, asks: Sequence[int]) -> None:
        if len(recorded_commits.batches) == 1:
            await end_session_of(database, tx)

    recorded_commits.before = lose_the_first
    answers = await asyncio.gather(*(group(ask) for ask in range(3)))

    assert answers == [f"answer to {ask}" for ask in range(3)]
    assert recorded_commits.agains == [False, False]
    assert await callers_per_commit(database) == [3]


async def test_a_connection_lost_during_the_commit_is_tried_again_and_the_act_learns_it(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    await make_commits_slow(database)
    caller = asyncio.create_task(group(1))
    await end_sessions_in_commit(database)

    assert await caller == "answer to 1"
    assert recorded_commits.agains == [False, True]
    assert await who_shared(database) == [1]


async def test_a_database_that_stays_away_is_unavailable_when_nothing_was_in_doubt(database: Database) -> None:
    async def lose(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        await end_session_of(database, tx)
        await tx.execute("SELECT 1")
        raise AssertionError("the session has ended")

    group = GroupCommit[int, str](database, lose, patience_seconds=0.5)
    answers = await asyncio.gather(*(group(ask) for ask in range(3)), return_exceptions=True)

    assert [type(answer) for answer in answers] == [Unavailable] * 3


async def test_a_commit_that_is_lost_for_good_is_an_unknown_outcome(
    database: Database, recorded_commits: RecordedCommits
) -> None:
    await make_commits_slow(database)
    group = GroupCommit[int, str](database, recorded_commits, patience_seconds=1)
    caller = asyncio.create_task(group(1))
    ending = asyncio.create_task(end_sessions_in_commit(database, for_seconds=3))

    with pytest.raises(OutcomeUnknown):
        await caller
    ending.cancel()


async def test_contention_without_end_is_unavailable_in_bounded_time(database: Database) -> None:
    async def contend(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        raise Contention("forced")

    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(Unavailable) as answer:
        await GroupCommit[int, str](database, contend, patience_seconds=0.5)(1)

    assert not isinstance(answer.value, OutcomeUnknown)
    assert loop.time() - began < 30


async def test_a_server_that_is_not_there_is_unavailable_and_not_an_error(database_url: str) -> None:
    nowhere = Database(database_url.replace("host=", "host=/nowhere"), size=4)
    await nowhere.open()

    async def never(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        raise AssertionError("there is no database to act on")

    with pytest.raises(Unavailable) as answer:
        await GroupCommit[int, str](nowhere, never, patience_seconds=0.3)(1)

    assert not isinstance(answer.value, OutcomeUnknown)
    await nowhere.close()


async def test_riders_behind_an_outage_are_carried_when_it_ends(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    outage_ends = asyncio.get_running_loop().time() + 0.5

    async def be_away(tx: Tx, asks: Sequence[int]) -> None:
        if asyncio.get_running_loop().time() < outage_ends:
            raise ConnectionLost("forced")

    recorded_commits.before = be_away
    answers = await asyncio.gather(*(group(ask) for ask in range(300)))

    assert answers == [f"answer to {ask}" for ask in range(300)]
    assert await callers_per_commit(database) == [256, 44]


async def test_an_act_that_hangs_before_it_is_done_leaves_no_doubt(database: Database) -> None:
    async def hang(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        await tx.execute("SELECT pg_sleep(60)")
        return ["never"] * len(asks)

    with pytest.raises(Unavailable) as answer:
        await GroupCommit[int, str](database, hang, patience_seconds=0.5)(1)

    assert not isinstance(answer.value, OutcomeUnknown)


async def test_a_line_that_hangs_is_left_for_another(database: Database) -> None:
    tries: list[bool] = []

    async def hang_once(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        tries.append(again)
        if len(tries) == 1:
            await tx.execute("SELECT pg_sleep(60)")
        return ["done"] * len(asks)

    assert await GroupCommit[int, str](database, hang_once, patience_seconds=4)(1) == "done"
    assert tries == [False, False]


async def test_a_split_batch_does_not_wait_for_an_absent_database_one_by_one(database: Database) -> None:
    tries: list[int] = []

    async def break_then_hang(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        tries.append(len(asks))
        if len(asks) > 1:
            raise ValueError("one of them is bad")
        await tx.execute("SELECT pg_sleep(60)")
        return ["never"]

    group = GroupCommit[int, str](database, break_then_hang, patience_seconds=1)
    answers = await asyncio.gather(*(group(ask) for ask in range(20)), return_exceptions=True)

    assert all(isinstance(answer, Unavailable) for answer in answers)
    assert tries.count(1) < 5
