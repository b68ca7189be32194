"""Group commit, on a real database: who shares a commit, who is answered, and who is left alone."""

import asyncio
import io
import json
from collections.abc import Sequence

import asyncpg
import pytest

from malipo import log
from malipo.db import Database, DataError, Tx
from malipo.db.group_commit import GroupCommit
from malipo.db.pace import Pace
from tests.db.recorded_commits import RecordedCommits, callers_per_commit, until, who_shared
from tests.db.recorded_commits import group as group
from tests.db.recorded_commits import recorded_commits as recorded_commits
from tests.test_log import lines as lines


async def test_a_lone_caller_does_not_wait_for_company(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    loop = asyncio.get_running_loop()
    delays = []
    for ask in range(21):
        asked_at = loop.time()
        assert await group(ask) == f"answer to {ask}"
        delays.append(recorded_commits.began_at - asked_at)

    assert await callers_per_commit(database) == [1] * 21
    # Between the call and the act stands one round trip for BEGIN, and no timer, which would delay every one of them.
    assert min(delays) < 0.005


async def test_callers_who_come_during_a_commit_share_the_next_one(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    recorded_commits.gate.clear()
    first = asyncio.create_task(group(0))
    await recorded_commits.has_begun.wait()
    others = [asyncio.create_task(group(ask)) for ask in range(1, 50)]
    await until(lambda: group.depth == 49)

    recorded_commits.gate.set()
    answers = await asyncio.gather(first, *others)

    assert answers == [f"answer to {ask}" for ask in range(50)]
    assert recorded_commits.batches == [[0], list(range(1, 50))]
    assert await callers_per_commit(database) == [1, 49]


async def test_commits_of_a_group_that_pauses_are_shared_by_who_comes_meanwhile_and_the_first_waits_for_nothing(
    recorded_commits: RecordedCommits, database: Database
) -> None:
    loop = asyncio.get_running_loop()
    pausing: GroupCommit[int, str] = GroupCommit(
        database, recorded_commits, patience_seconds=60, pace=Pace(0.5, 0.5, enough=1)
    )
    asked_at = loop.time()
    await pausing(0)
    began_at = recorded_commits.began_at
    assert began_at - asked_at < 0.5
    second = asyncio.create_task(pausing(1))
    await until(lambda: pausing.depth == 1)
    await asyncio.gather(second, pausing(2))

    assert recorded_commits.batches == [[0], [1, 2]]
    assert recorded_commits.began_at - began_at >= 0.45


async def test_where_few_come_the_pause_is_longer_so_that_as_many_share_a_commit(
    recorded_commits: RecordedCommits, database: Database
) -> None:
    pace = Pace(0.3, 20, enough=4)
    pausing: GroupCommit[int, str] = GroupCommit(database, recorded_commits, patience_seconds=30, pace=pace)
    await pausing(0)
    began_at = recorded_commits.began_at
    early = asyncio.create_task(pausing(1))
    await asyncio.sleep(0.6)
    await asyncio.gather(early, pausing(2), pausing(3))
    assert recorded_commits.batches == [[0], [1, 2, 3]]
    assert recorded_commits.began_at - began_at >= 1.15, "one came in the least rest, so four take four times as long"


async def test_a_full_batch_waits_for_no_pause(recorded_commits: RecordedCommits, database: Database) -> None:
    loop = asyncio.get_running_loop()
    pausing: GroupCommit[int, str] = GroupCommit(
        database, recorded_commits, patience_seconds=30, pace=Pace(20, 20, enough=2), most=2
    )
    began_at = loop.time()
    await asyncio.gather(*(pausing(ask) for ask in range(4)))
    assert recorded_commits.batches == [[0, 1], [2, 3]]
    assert loop.time() - began_at < 20


async def test_what_a_commit_logs_is_under_no_callers_request(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, lines: io.StringIO
) -> None:
    async def log_something(_: Tx, asks: Sequence[int]) -> None:
        log.error("commit.looked_at", asks=list(asks))

    recorded_commits.before = log_something
    log.bind(request="req_1")
    await group(0)
    log.error("caller.answered")
    log.flush()
    written = {line["event"]: line for line in map(json.loads, lines.getvalue().splitlines())}
    assert "request" not in written["commit.looked_at"]
    assert written["caller.answered"]["request"] == "req_1"


async def test_each_caller_gets_the_answer_to_what_they_asked_in_the_order_of_arrival(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits
) -> None:
    asks = [7, 3, 99, 4, 1, 50]

    answers = await asyncio.gather(*(group(ask) for ask in asks))

    assert answers == [f"answer to {ask}" for ask in asks]
    assert [ask for batch in recorded_commits.batches for ask in batch] == asks


async def test_a_commit_takes_no_more_riders_than_it_may(database: Database, recorded_commits: RecordedCommits) -> None:
    group = GroupCommit[int, str](database, recorded_commits, patience_seconds=60, most=8)

    await asyncio.gather(*(group(ask) for ask in range(20)))

    assert await callers_per_commit(database) == [8, 8, 4]


async def test_as_many_commits_are_under_way_at_once_as_there_are_lanes(
    database: Database, recorded_commits: RecordedCommits
) -> None:
    group = GroupCommit[int, str](database, recorded_commits, patience_seconds=60, lanes=3, most=1)
    recorded_commits.gate.clear()
    callers = [asyncio.create_task(group(ask)) for ask in range(5)]
    await until(lambda: len(recorded_commits.batches) == 3)
    await asyncio.sleep(0.1)
    under_way = len(recorded_commits.batches)

    recorded_commits.gate.set()
    await asyncio.gather(*callers)

    assert under_way == 3
    assert await who_shared(database) == [0, 1, 2, 3, 4]


async def test_what_was_observed_is_how_many_rode_and_how_long(
    database: Database, recorded_commits: RecordedCommits
) -> None:
    observed: list[tuple[int, float]] = []
    group = GroupCommit[int, str](
        database,
        recorded_commits,
        patience_seconds=60,
        observe=lambda riders, seconds: observed.append((riders, seconds)),
    )

    await asyncio.gather(*(group(ask) for ask in range(7)))

    assert [riders for riders, _ in observed] == [7]
    assert all(0 < seconds < 60 for _, seconds in observed)


async def test_one_bad_rider_fails_alone_and_the_others_are_answered(
    group: GroupCommit[int, str], database: Database
) -> None:
    answers = await asyncio.gather(*(group(ask) for ask in [*range(13), -1, *range(13, 20)]), return_exceptions=True)

    bad = answers.pop(13)
    assert isinstance(bad, DataError)
    assert bad.constraint == "rides_are_not_negative"
    assert answers == [f"answer to {ask}" for ask in range(20)]
    assert await who_shared(database) == list(range(20))
    assert await group(100) == "answer to 100"


async def test_a_mistake_of_ours_reaches_only_the_rider_who_causes_it(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    async def stumble(tx: Tx, asks: Sequence[int]) -> None:
        await tx.execute("INSERT INTO rides (ask) SELECT * FROM unnest($1::int[])", [1000 + ask for ask in asks])
        if 5 in asks:
            raise KeyError("no such thing")

    recorded_commits.before = stumble
    answers = await asyncio.gather(*(group(ask) for ask in range(8)), return_exceptions=True)

    assert isinstance(answers.pop(5), KeyError)
    assert answers == [f"answer to {ask}" for ask in range(8) if ask != 5]
    # What the stumbling one had written before is gone.
    assert 1005 not in await who_shared(database)
    assert await group(100) == "answer to 100"


async def test_a_mistake_of_a_lone_rider_is_raised_as_it_is(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits
) -> None:
    async def stumble(tx: Tx, asks: Sequence[int]) -> None:
        await tx.execute("SELECT * FROM nowhere")

    recorded_commits.before = stumble
    with pytest.raises(asyncpg.UndefinedTableError):
        await group(1)

    assert len(recorded_commits.batches) == 1  # It was not tried again: it would not get better.
    recorded_commits.before = None
    assert await group(2) == "answer to 2"


async def test_an_act_that_answers_too_few_gives_nobody_another_ones_answer(database: Database) -> None:
    async def forgetful(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        return [f"answer to {ask}" for ask in asks[1:]]

    group = GroupCommit[int, str](database, forgetful, patience_seconds=60)

    answers = await asyncio.gather(*(group(ask) for ask in range(3)), return_exceptions=True)

    assert [answer for answer in answers if not isinstance(answer, Exception)] == []


async def test_a_caller_who_leaves_before_the_commit_is_skipped(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    recorded_commits.gate.clear()
    first = asyncio.create_task(group(0))
    await recorded_commits.has_begun.wait()
    others = [asyncio.create_task(group(ask)) for ask in range(1, 6)]
    await until(lambda: group.depth == 5)
    others[2].cancel()
    await asyncio.sleep(0)

    recorded_commits.gate.set()
    answers = await asyncio.gather(first, *others, return_exceptions=True)

    assert isinstance(answers.pop(3), asyncio.CancelledError)
    assert answers == [f"answer to {ask}" for ask in (0, 1, 2, 4, 5)]
    assert recorded_commits.batches == [[0], [1, 2, 4, 5]]
    assert await who_shared(database) == [0, 1, 2, 4, 5]


async def test_a_caller_who_leaves_during_the_commit_takes_nobody_along(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    recorded_commits.gate.clear()
    callers = [asyncio.create_task(group(ask)) for ask in range(5)]
    await recorded_commits.has_begun.wait()
    for leaver in (callers[0], callers[3]):  # The first one is whose call began the commit.
        leaver.cancel()
    await asyncio.sleep(0)
    assert callers[0].cancelled()

    recorded_commits.gate.set()
    answers = await asyncio.gather(*callers, return_exceptions=True)

    assert [answer for answer in answers if isinstance(answer, str)] == [f"answer to {ask}" for ask in (1, 2, 4)]
    # What was under way is committed whole: it is too late to take somebody's part out of it.
    assert await who_shared(database) == [0, 1, 2, 3, 4]
    assert await group(9) == "answer to 9"


async def test_a_lone_caller_who_leaves_does_not_cancel_the_commit(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    recorded_commits.gate.clear()
    caller = asyncio.create_task(group(1))
    await recorded_commits.has_begun.wait()
    caller.cancel()
    recorded_commits.gate.set()

    await group.finish()

    assert caller.cancelled()
    assert await who_shared(database) == [1]


async def test_finish_returns_when_everybody_has_been_answered(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    recorded_commits.gate.clear()
    callers = [asyncio.create_task(group(ask)) for ask in range(3)]
    await recorded_commits.has_begun.wait()
    callers += [asyncio.create_task(group(ask)) for ask in range(3, 6)]
    await until(lambda: group.depth == 3)
    finishing = asyncio.create_task(group.finish())
    await asyncio.sleep(0.05)
    assert not finishing.done()

    recorded_commits.gate.set()
    await finishing

    assert group.depth == 0
    assert [await caller for caller in callers] == [f"answer to {ask}" for ask in range(6)]
    await group.finish()  # With nothing to do, at once.
