"""A group whose act one statement may do without a transaction: what it did is answered, all else goes into one."""

import asyncio
from collections.abc import Sequence

import pytest

from malipo.db import Conn, Database
from malipo.db.group_commit import GroupCommit
from tests.db.recorded_commits import RecordedCommits, callers_per_commit, until, who_shared
from tests.db.recorded_commits import recorded_commits as recorded_commits


class EvenAtOnce:
    """One statement inserts the even asks, but for those below ten; the odd ones are not tried."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.loses_answer = False
        self.is_read_only = False

    def may(self, ask: int) -> bool:
        return ask % 2 == 0

    async def __call__(self, connection: Conn, asks: Sequence[int]) -> list[str | None]:
        self.batches.append(list(asks))
        if self.is_read_only:
            await connection.execute("SET default_transaction_read_only = on")
        rows = await connection.fetch(
            "INSERT INTO rides (ask) SELECT * FROM unnest($1::int[]) AS new (ask) WHERE ask >= 10 OR ask < 0 RETURNING ask",
            list(asks),
        )
        if self.loses_answer:
            self.loses_answer = False
            connection.terminate()
            raise ConnectionResetError
        done = {row["ask"] for row in rows}
        return [f"at once {ask}" if ask in done else None for ask in asks]


@pytest.fixture
def fast_path() -> EvenAtOnce:
    return EvenAtOnce()


@pytest.fixture
def group(database: Database, recorded_commits: RecordedCommits, fast_path: EvenAtOnce) -> GroupCommit[int, str]:
    return GroupCommit(database, recorded_commits, patience_seconds=60, fast_path=fast_path)


async def test_what_one_statement_does_needs_no_transaction_and_the_rest_shares_one(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, fast_path: EvenAtOnce, database: Database
) -> None:
    answers = await asyncio.gather(*(group(ask) for ask in (12, 3, 4, 14, 5)))

    assert answers == ["at once 12", "answer to 3", "answer to 4", "at once 14", "answer to 5"]
    assert fast_path.batches == [[12, 4, 14]]
    assert recorded_commits.batches == [[3, 4, 5]]
    assert recorded_commits.agains == [False]
    assert await callers_per_commit(database) == [2, 3]


async def test_nothing_is_asked_of_the_database_where_nothing_can_be_done_at_once(
    group: GroupCommit[int, str], fast_path: EvenAtOnce
) -> None:
    assert await group(3) == "answer to 3"
    assert fast_path.batches == []


async def test_who_is_done_at_once_does_not_wait_for_the_transaction_of_the_others(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits
) -> None:
    recorded_commits.gate.clear()
    quick, slow = asyncio.ensure_future(group(12)), asyncio.ensure_future(group(3))
    await until(quick.done)
    assert not slow.done()
    recorded_commits.gate.set()
    assert [await quick, await slow] == ["at once 12", "answer to 3"]


async def test_a_statement_that_is_refused_has_done_nothing_and_only_the_one_to_blame_gets_the_error(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, database: Database
) -> None:
    answers = await asyncio.gather(*(group(ask) for ask in (12, -2, 14)), return_exceptions=True)

    assert [type(each).__name__ for each in answers] == ["str", "DataError", "str"]
    assert [answers[0], answers[2]] == ["answer to 12", "answer to 14"]
    assert await who_shared(database) == [12, 14]
    assert recorded_commits.agains[0] is False


async def test_a_statement_whose_answer_is_lost_is_in_doubt_and_is_done_once(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, fast_path: EvenAtOnce, database: Database
) -> None:
    fast_path.loses_answer = True

    answers = await asyncio.gather(*(group(ask) for ask in (12, 3)))

    assert answers == ["answer to 12", "answer to 3"]
    assert recorded_commits.agains == [True], "the transaction looks first for what may be there"
    assert await who_shared(database) == [3, 12]


async def test_a_server_that_takes_no_writes_has_done_nothing(
    group: GroupCommit[int, str], recorded_commits: RecordedCommits, fast_path: EvenAtOnce
) -> None:
    fast_path.is_read_only = True

    assert await group(12) == "answer to 12", "on another connection"
    assert recorded_commits.agains == [False]
