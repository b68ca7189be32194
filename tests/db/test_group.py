"""Group commit, on a real database: who shares a commit, who is answered, and who is left alone."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence

import asyncpg
import pytest

from malipo.db import ConnectionLost, Contention, Database, DataError, Tx
from malipo.db.group import Group
from malipo.errors import OutcomeUnknown, Unavailable

Before = Callable[[Tx, Sequence[int]], Awaitable[None]]


class Rides:
    """An act that notes in the database who rode in which transaction, and can be made to wait or to fail."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.agains: list[bool] = []
        self.before: Before | None = None
        self.gate = asyncio.Event()
        self.gate.set()
        self.has_begun = asyncio.Event()
        self.began_at = 0.0

    async def __call__(self, tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        self.batches.append(list(asks))
        self.agains.append(again)
        self.has_begun.set()
        self.began_at = asyncio.get_running_loop().time()
        await self.gate.wait()
        if self.before is not None:
            await self.before(tx, asks)
        await tx.execute("INSERT INTO rides (ask) SELECT * FROM unnest($1::int[]) ON CONFLICT DO NOTHING", list(asks))
        return [f"answer to {ask}" for ask in asks]


@pytest.fixture
async def rides(database: Database) -> Rides:
    async with database.begin() as tx:
        await tx.execute(
            """
            CREATE TABLE rides (
                ask int PRIMARY KEY CONSTRAINT rides_are_not_negative CHECK (ask >= 0),
                xid xid8 NOT NULL DEFAULT pg_current_xact_id()
            )
            """
        )
    return Rides()


@pytest.fixture
def group(database: Database, rides: Rides) -> Group[int, str]:
    return Group(database, rides, patience_seconds=5)


async def _riders_per_commit(database: Database) -> list[int]:
    """How many rode in each transaction, in the order of the transactions: the database's own word."""
    async with database.read() as connection:
        rows = await connection.fetch("SELECT count(*) AS riders FROM rides GROUP BY xid ORDER BY xid")
    return [row["riders"] for row in rows]


async def _rode(database: Database) -> list[int]:
    async with database.read() as connection:
        return [row["ask"] for row in await connection.fetch("SELECT ask FROM rides ORDER BY ask")]


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(5):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def test_a_lone_caller_does_not_wait_for_company(
    group: Group[int, str], rides: Rides, database: Database
) -> None:
    loop = asyncio.get_running_loop()
    delays = []
    for ask in range(21):
        asked_at = loop.time()
        assert await group(ask) == f"answer to {ask}"
        delays.append(rides.began_at - asked_at)

    assert await _riders_per_commit(database) == [1] * 21
    # Between the call and the act stands one round trip for BEGIN, and no timer, which would delay every one of them.
    assert min(delays) < 0.005


async def test_callers_who_come_during_a_commit_share_the_next_one(
    group: Group[int, str], rides: Rides, database: Database
) -> None:
    rides.gate.clear()
    first = asyncio.create_task(group(0))
    await rides.has_begun.wait()
    others = [asyncio.create_task(group(ask)) for ask in range(1, 50)]
    await _until(lambda: group.depth == 49)

    rides.gate.set()
    answers = await asyncio.gather(first, *others)

    assert answers == [f"answer to {ask}" for ask in range(50)]
    assert rides.batches == [[0], list(range(1, 50))]
    assert await _riders_per_commit(database) == [1, 49]


async def test_each_caller_gets_the_answer_to_what_they_asked_in_the_order_of_arrival(
    group: Group[int, str], rides: Rides
) -> None:
    asks = [7, 3, 99, 4, 1, 50]

    answers = await asyncio.gather(*(group(ask) for ask in asks))

    assert answers == [f"answer to {ask}" for ask in asks]
    assert [ask for batch in rides.batches for ask in batch] == asks


async def test_a_commit_takes_no_more_riders_than_it_may(database: Database, rides: Rides) -> None:
    group = Group[int, str](database, rides, patience_seconds=5, most=8)

    await asyncio.gather(*(group(ask) for ask in range(20)))

    assert await _riders_per_commit(database) == [8, 8, 4]


async def test_as_many_commits_are_under_way_at_once_as_there_are_lanes(database: Database, rides: Rides) -> None:
    group = Group[int, str](database, rides, patience_seconds=5, lanes=3, most=1)
    rides.gate.clear()
    callers = [asyncio.create_task(group(ask)) for ask in range(5)]
    await _until(lambda: len(rides.batches) == 3)
    await asyncio.sleep(0.1)
    under_way = len(rides.batches)

    rides.gate.set()
    await asyncio.gather(*callers)

    assert under_way == 3
    assert await _rode(database) == [0, 1, 2, 3, 4]


async def test_what_was_observed_is_how_many_rode_and_how_long(database: Database, rides: Rides) -> None:
    observed: list[tuple[int, float]] = []
    group = Group[int, str](
        database, rides, patience_seconds=5, observe=lambda riders, seconds: observed.append((riders, seconds))
    )

    await asyncio.gather(*(group(ask) for ask in range(7)))

    assert [riders for riders, _ in observed] == [7]
    assert all(0 < seconds < 5 for _, seconds in observed)


async def test_one_bad_rider_fails_alone_and_the_others_are_answered(
    group: Group[int, str], database: Database
) -> None:
    answers = await asyncio.gather(*(group(ask) for ask in [*range(13), -1, *range(13, 20)]), return_exceptions=True)

    bad = answers.pop(13)
    assert isinstance(bad, DataError)
    assert bad.constraint == "rides_are_not_negative"
    assert answers == [f"answer to {ask}" for ask in range(20)]
    assert await _rode(database) == list(range(20))
    assert await group(100) == "answer to 100"


async def test_a_mistake_of_ours_reaches_only_the_rider_who_causes_it(
    group: Group[int, str], rides: Rides, database: Database
) -> None:
    async def stumble(tx: Tx, asks: Sequence[int]) -> None:
        await tx.execute("INSERT INTO rides (ask) SELECT * FROM unnest($1::int[])", [1000 + ask for ask in asks])
        if 5 in asks:
            raise KeyError("no such thing")

    rides.before = stumble
    answers = await asyncio.gather(*(group(ask) for ask in range(8)), return_exceptions=True)

    assert isinstance(answers.pop(5), KeyError)
    assert answers == [f"answer to {ask}" for ask in range(8) if ask != 5]
    # What the stumbling one had written before is gone.
    assert 1005 not in await _rode(database)
    assert await group(100) == "answer to 100"


async def test_a_mistake_of_a_lone_rider_is_raised_as_it_is(group: Group[int, str], rides: Rides) -> None:
    async def stumble(tx: Tx, asks: Sequence[int]) -> None:
        await tx.execute("SELECT * FROM nowhere")

    rides.before = stumble
    with pytest.raises(asyncpg.UndefinedTableError):
        await group(1)

    assert len(rides.batches) == 1  # It was not tried again: it would not get better.
    rides.before = None
    assert await group(2) == "answer to 2"


async def test_an_act_that_answers_too_few_gives_nobody_another_ones_answer(database: Database) -> None:
    async def forgetful(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        return [f"answer to {ask}" for ask in asks[1:]]

    group = Group[int, str](database, forgetful, patience_seconds=5)

    answers = await asyncio.gather(*(group(ask) for ask in range(3)), return_exceptions=True)

    assert [answer for answer in answers if not isinstance(answer, Exception)] == []


async def test_a_caller_who_leaves_before_the_commit_is_skipped(
    group: Group[int, str], rides: Rides, database: Database
) -> None:
    rides.gate.clear()
    first = asyncio.create_task(group(0))
    await rides.has_begun.wait()
    others = [asyncio.create_task(group(ask)) for ask in range(1, 6)]
    await _until(lambda: group.depth == 5)
    others[2].cancel()
    await asyncio.sleep(0)

    rides.gate.set()
    answers = await asyncio.gather(first, *others, return_exceptions=True)

    assert isinstance(answers.pop(3), asyncio.CancelledError)
    assert answers == [f"answer to {ask}" for ask in (0, 1, 2, 4, 5)]
    assert rides.batches == [[0], [1, 2, 4, 5]]
    assert await _rode(database) == [0, 1, 2, 4, 5]


async def test_a_caller_who_leaves_during_the_commit_takes_nobody_along(
    group: Group[int, str], rides: Rides, database: Database
) -> None:
    rides.gate.clear()
    callers = [asyncio.create_task(group(ask)) for ask in range(5)]
    await rides.has_begun.wait()
    for leaver in (callers[0], callers[3]):  # The first one is whose call began the commit.
        leaver.cancel()
    await asyncio.sleep(0)
    assert callers[0].cancelled()

    rides.gate.set()
    answers = await asyncio.gather(*callers, return_exceptions=True)

    assert [answer for answer in answers if isinstance(answer, str)] == [f"answer to {ask}" for ask in (1, 2, 4)]
    # What was under way is committed whole: it is too late to take somebody's part out of it.
    assert await _rode(database) == [0, 1, 2, 3, 4]
    assert await group(9) == "answer to 9"


async def test_a_lone_caller_who_leaves_does_not_cancel_the_commit(
    group: Group[int, str], rides: Rides, database: Database
) -> None:
    rides.gate.clear()
    caller = asyncio.create_task(group(1))
    await rides.has_begun.wait()
    caller.cancel()
    rides.gate.set()

    await group.finish()

    assert caller.cancelled()
    assert await _rode(database) == [1]


async def test_finish_returns_when_everybody_has_been_answered(
    group: Group[int, str], rides: Rides, database: Database
) -> None:
    rides.gate.clear()
    callers = [asyncio.create_task(group(ask)) for ask in range(3)]
    await rides.has_begun.wait()
    callers += [asyncio.create_task(group(ask)) for ask in range(3, 6)]
    await _until(lambda: group.depth == 3)
    finishing = asyncio.create_task(group.finish())
    await asyncio.sleep(0.05)
    assert not finishing.done()

    rides.gate.set()
    await finishing

    assert group.depth == 0
    assert [await caller for caller in callers] == [f"answer to {ask}" for ask in range(6)]
    await group.finish()  # With nothing to do, at once.


@pytest.mark.parametrize("sqlstate", ["40001", "40P01", "55P03"])
async def test_contention_is_tried_again_and_never_shown(
    group: Group[int, str], rides: Rides, database: Database, sqlstate: str
) -> None:
    async def fail_twice(tx: Tx, asks: Sequence[int]) -> None:
        await tx.execute("INSERT INTO rides (ask) VALUES ($1)", 1000 + len(rides.batches))
        if len(rides.batches) <= 2:
            await tx.execute(f"DO $$ BEGIN RAISE EXCEPTION 'forced' USING ERRCODE = '{sqlstate}'; END $$")

    rides.before = fail_twice
    answers = await asyncio.gather(*(group(ask) for ask in range(4)))

    assert answers == [f"answer to {ask}" for ask in range(4)]
    assert rides.batches == [[0, 1, 2, 3]] * 3
    assert rides.agains == [False, False, False]  # Nothing had happened, and that is certain.
    assert await _rode(database) == [0, 1, 2, 3, 1003]


async def test_a_real_deadlock_between_two_groups_is_tried_again_inside(database: Database, rides: Rides) -> None:
    """Two acts take two rows in opposite orders, with a pause between, as ours must never do."""
    async with database.begin() as tx:
        await tx.execute("SET LOCAL deadlock_timeout = '100ms'")
        await tx.execute("CREATE TABLE rows_wanted AS SELECT 1 AS row UNION SELECT 2")
    both_hold_one = asyncio.Barrier(2)
    tries = Counter[str]()

    def in_order(name: str, *rows: int) -> Group[int, str]:
        async def act(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
            tries[name] += 1
            await tx.execute("SET LOCAL deadlock_timeout = '100ms'")
            await tx.execute("SELECT * FROM rows_wanted WHERE row = $1 FOR UPDATE", rows[0])
            if sum(tries.values()) <= 2:
                await both_hold_one.wait()
            await tx.execute("SELECT * FROM rows_wanted WHERE row = $1 FOR UPDATE", rows[1])
            return [name for _ in asks]

        return Group(database, act, patience_seconds=5)

    there, back = in_order("there", 1, 2), in_order("back", 2, 1)
    answers = await asyncio.gather(there(0), back(0))

    assert list(answers) == ["there", "back"]
    assert sum(tries.values()) == 3


async def test_a_connection_lost_before_the_commit_is_tried_again_without_doubt(
    group: Group[int, str], rides: Rides, database: Database
) -> None:
    async def lose_the_first(tx: Tx, asks: Sequence[int]) -> None:
        if len(rides.batches) == 1:
            await _end_session_of(database, tx)

    rides.before = lose_the_first
    answers = await asyncio.gather(*(group(ask) for ask in range(3)))

    assert answers == [f"answer to {ask}" for ask in range(3)]
    assert rides.agains == [False, False]
    assert await _riders_per_commit(database) == [3]


async def test_a_connection_lost_during_the_commit_is_tried_again_and_the_act_is_told(
    group: Group[int, str], rides: Rides, database: Database
) -> None:
    await _make_commits_slow(database)
    caller = asyncio.create_task(group(1))
    await _end_sessions_in_commit(database)

    assert await caller == "answer to 1"
    assert rides.agains == [False, True]
    assert await _rode(database) == [1]


async def test_a_database_that_stays_away_is_unavailable_when_nothing_was_in_doubt(database: Database) -> None:
    async def lose(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        await _end_session_of(database, tx)
        await tx.execute("SELECT 1")
        raise AssertionError("the session has ended")

    group = Group[int, str](database, lose, patience_seconds=0.5)
    answers = await asyncio.gather(*(group(ask) for ask in range(3)), return_exceptions=True)

    assert [type(answer) for answer in answers] == [Unavailable] * 3


async def test_a_commit_that_is_lost_for_good_is_an_unknown_outcome(database: Database, rides: Rides) -> None:
    await _make_commits_slow(database)
    group = Group[int, str](database, rides, patience_seconds=1)
    caller = asyncio.create_task(group(1))
    ending = asyncio.create_task(_end_sessions_in_commit(database, for_seconds=3))

    with pytest.raises(OutcomeUnknown):
        await caller
    ending.cancel()


async def test_contention_without_end_is_unavailable_in_bounded_time(database: Database) -> None:
    async def contend(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        raise Contention("forced")

    loop = asyncio.get_running_loop()
    began = loop.time()
    with pytest.raises(Unavailable) as answer:
        await Group[int, str](database, contend, patience_seconds=0.5)(1)

    assert not isinstance(answer.value, OutcomeUnknown)
    assert loop.time() - began < 3


async def test_a_server_that_is_not_there_is_unavailable_and_not_an_error(database_url: str) -> None:
    nowhere = Database(database_url.replace("host=", "host=/nowhere"), size=4)
    await nowhere.open()

    async def never(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        raise AssertionError("there is no database to act on")

    with pytest.raises(Unavailable) as answer:
        await Group[int, str](nowhere, never, patience_seconds=0.3)(1)

    assert not isinstance(answer.value, OutcomeUnknown)
    await nowhere.close()


async def test_riders_behind_an_outage_are_carried_when_it_ends(
    group: Group[int, str], rides: Rides, database: Database
) -> None:
    outage_ends = asyncio.get_running_loop().time() + 0.5

    async def be_away(tx: Tx, asks: Sequence[int]) -> None:
        if asyncio.get_running_loop().time() < outage_ends:
            raise ConnectionLost("forced")

    rides.before = be_away
    answers = await asyncio.gather(*(group(ask) for ask in range(300)))

    assert answers == [f"answer to {ask}" for ask in range(300)]
    assert await _riders_per_commit(database) == [256, 44]


async def _end_session_of(database: Database, tx: Tx) -> None:
    """As an administrator or a fail-over does it."""
    pid = await tx.fetchval("SELECT pg_backend_pid()")
    async with database.read() as connection:
        await connection.fetchval("SELECT pg_terminate_backend($1, 5000)", pid)


async def _make_commits_slow(database: Database) -> None:
    async with database.begin() as tx:
        await tx.execute(
            """
            CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(0.4); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON rides DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION dawdle();
            """
        )


async def _end_sessions_in_commit(database: Database, *, for_seconds: float = 0) -> None:
    """End the session that is inside its COMMIT; with a time, every one that comes there."""
    deadline = asyncio.get_running_loop().time() + max(for_seconds, 5)
    ended = 0
    while asyncio.get_running_loop().time() < deadline and (for_seconds or not ended):
        async with database.read() as connection:
            ended += await connection.fetchval(
                """
                SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                WHERE datname = current_database() AND state = 'active' AND query = 'COMMIT;'
                """
            )
        await asyncio.sleep(0.01)
    assert ended


async def test_an_act_that_hangs_before_it_is_done_leaves_no_doubt(database: Database) -> None:
    async def hang(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        await tx.execute("SELECT pg_sleep(60)")
        return ["never"] * len(asks)

    with pytest.raises(Unavailable) as answer:
        await Group[int, str](database, hang, patience_seconds=0.5)(1)

    assert not isinstance(answer.value, OutcomeUnknown)


async def test_a_line_that_hangs_is_left_for_another(database: Database) -> None:
    tries: list[bool] = []

    async def hang_once(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        tries.append(again)
        if len(tries) == 1:
            await tx.execute("SELECT pg_sleep(60)")
        return ["done"] * len(asks)

    assert await Group[int, str](database, hang_once, patience_seconds=4)(1) == "done"
    assert tries == [False, False]


async def test_a_split_batch_does_not_wait_for_an_absent_database_one_by_one(database: Database) -> None:
    tries: list[int] = []

    async def break_then_hang(tx: Tx, asks: Sequence[int], /, *, again: bool) -> list[str]:
        tries.append(len(asks))
        if len(asks) > 1:
            raise ValueError("one of them is bad")
        await tx.execute("SELECT pg_sleep(60)")
        return ["never"]

    group = Group[int, str](database, break_then_hang, patience_seconds=1)
    answers = await asyncio.gather(*(group(ask) for ask in range(20)), return_exceptions=True)

    assert all(isinstance(answer, Unavailable) for answer in answers)
    assert tries.count(1) < 5
