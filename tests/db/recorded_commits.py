"""An act of a group commit that notes who rode in which transaction, and commits that are slow or lose their session."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence

import pytest

from malipo.db import Database, Tx
from malipo.db.group_commit import GroupCommit
from tests.conftest import PATIENCE_SECONDS

Before = Callable[[Tx, Sequence[int]], Awaitable[None]]


class RecordedCommits:
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
async def recorded_commits(database: Database) -> RecordedCommits:
    async with database.begin() as tx:
        await tx.execute(
            """
            CREATE TABLE rides (
                ask int PRIMARY KEY CONSTRAINT rides_are_not_negative CHECK (ask >= 0),
                xid xid8 NOT NULL DEFAULT pg_current_xact_id()
            )
            """
        )
    return RecordedCommits()


@pytest.fixture
def group(database: Database, recorded_commits: RecordedCommits) -> GroupCommit[int, str]:
    return GroupCommit(database, recorded_commits, patience_seconds=60)


async def callers_per_commit(database: Database) -> list[int]:
    """How many rode in each transaction, in the order of the transactions: the database's own word."""
    async with database.read() as connection:
        rows = await connection.fetch("SELECT count(*) AS riders FROM rides GROUP BY xid ORDER BY xid")
    return [row["riders"] for row in rows]


async def who_shared(database: Database) -> list[int]:
    async with database.read() as connection:
        return [row["ask"] for row in await connection.fetch("SELECT ask FROM rides ORDER BY ask")]


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


async def end_session_of(database: Database, tx: Tx) -> None:
    """As an administrator or a fail-over does it."""
    pid = await tx.fetchval("SELECT pg_backend_pid()")
    async with database.read() as connection:
        await connection.fetchval("SELECT pg_terminate_backend($1, 5000)", pid)


async def make_commits_slow(database: Database) -> None:
    async with database.begin() as tx:
        await tx.execute(
            """
            CREATE FUNCTION dawdle() RETURNS trigger LANGUAGE plpgsql AS
                'BEGIN PERFORM pg_sleep(0.4); RETURN NULL; END';
            CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON rides DEFERRABLE INITIALLY DEFERRED
                FOR EACH ROW EXECUTE FUNCTION dawdle();
            """
        )


async def end_sessions_in_commit(database: Database, *, for_seconds: float = 0) -> None:
    """End the session that is inside its COMMIT; with a time, every one that comes there."""
    deadline = asyncio.get_running_loop().time() + (max(for_seconds, 5) if for_seconds else 60)
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
