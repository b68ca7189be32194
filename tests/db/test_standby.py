"""Reads on a real standby: used while it is there and not late, and the primary is read when it is neither."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import aiohttp
import pytest

from malipo.db import Conn, Database
from malipo.db.migrate import migrate
from malipo.db.queries import Queries
from malipo.db.standby import Standby
from malipo.errors import QueryTimeout
from malipo.turns import Turns
from tests.conftest import NO_LIMITS, Client, Running, make_merchant, until_ready
from tests.journeys.postgres_cluster import Cluster, a_cluster, a_standby

# Some tests need a standby that counts as late at once, others one that never does.
LONG = 3600.0


@pytest.fixture(scope="module")
def primary() -> Iterator[Cluster]:
    with a_cluster() as cluster:
        cluster.ask("CREATE TABLE written (number int)")
        yield cluster


@pytest.fixture(scope="module")
def follower(primary: Cluster) -> Iterator[Cluster]:
    with a_standby(primary, name="spare") as standby:
        yield standby


@dataclass
class Reader:
    queries: Queries
    standby: Standby
    database: Database

    async def where(self, *, may_lag: bool = True, is_snapshot: bool = False) -> str:
        async def ask(connection: Conn) -> str:
            return "standby" if await connection.fetchval("SELECT pg_is_in_recovery()") else "primary"

        if is_snapshot:
            return await self.queries.read_snapshot(ask, may_lag=may_lag)
        return await self.queries.read(ask, may_lag=may_lag)

    async def write(self) -> None:
        async with self.database.begin() as tx:
            await tx.execute("INSERT INTO written VALUES (1)")


@asynccontextmanager
async def a_reader(
    primary: Cluster, read_url: str, *, most_lag_seconds: float = 0.0, statement_seconds: float = 5
) -> AsyncIterator[Reader]:
    """With no lag allowed at all, what the primary had at the last look must be there."""
    async with (
        Database.opened(primary.url, size=4, statement_timeout_seconds=statement_seconds) as database,
        Database.opened(read_url, size=4, statement_timeout_seconds=statement_seconds) as standby_database,
    ):
        standby = Standby(standby_database, primary=database, most_lag_seconds=most_lag_seconds)
        queries = Queries(
            database,
            patience_seconds=10,
            search_database=database,
            search_seconds=3,
            search_turns=Turns(1),
            standby=standby,
        )
        yield Reader(queries, standby, database)


async def until_on(reader: Reader, where: str) -> None:
    async with asyncio.timeout(240):
        while await reader.where() != where:
            await asyncio.sleep(0.05)
            await reader.standby.sample()


async def test_what_may_be_late_is_read_on_the_standby_and_nothing_else_is(primary: Cluster, follower: Cluster) -> None:
    async with a_reader(primary, follower.url) as reader:
        assert await reader.where() == "primary", "before anything is known of the primary"
        await reader.standby.sample()
        await until_on(reader, "standby")

        assert await reader.where(is_snapshot=True) == "standby"
        assert await reader.where(may_lag=False) == "primary"
        assert await reader.where(may_lag=False, is_snapshot=True) == "primary"


async def test_a_standby_that_is_late_is_not_read_until_it_has_caught_up(primary: Cluster, follower: Cluster) -> None:
    async with (
        a_reader(primary, follower.url) as reader,
        a_reader(primary, follower.url, most_lag_seconds=LONG) as calm,
    ):
        await reader.standby.sample()
        await until_on(reader, "standby")
        follower.ask("SELECT pg_wal_replay_pause()")
        try:
            await reader.write()
            await reader.standby.sample()
            assert await reader.where() == "primary"
            await calm.standby.sample()
            assert await calm.where() == "primary", "it is not known yet what the primary had an hour ago"
        finally:
            follower.ask("SELECT pg_wal_replay_resume()")
        await until_on(reader, "standby")


async def test_without_a_standby_that_answers_the_primary_is_read_and_the_standby_is_left_alone_for_a_while(
    primary: Cluster,
) -> None:
    nowhere = "postgresql://malipo@127.0.0.1:1/malipo"
    async with a_reader(primary, nowhere) as reader:
        await reader.standby.sample()
        assert [await reader.where() for _ in range(3)] == ["primary"] * 3
        assert reader.standby._left_alone_until > asyncio.get_running_loop().time()


async def test_a_read_that_the_standby_cancels_for_a_conflict_or_cannot_know_yet_is_read_on_the_primary(
    primary: Cluster, follower: Cluster
) -> None:
    """As a migration that is not there yet: the column is unknown to one of the two."""
    async with a_reader(primary, follower.url) as reader:
        await reader.standby.sample()
        await until_on(reader, "standby")

        async def fail_there(connection: Conn) -> str:
            if await connection.fetchval("SELECT pg_is_in_recovery()"):
                await connection.execute("SELECT nothing FROM written")
            return "primary"

        assert await reader.queries.read(fail_there, may_lag=True) == "primary"


async def test_a_read_that_takes_too_long_on_the_standby_does_not_take_as_long_again(
    primary: Cluster, follower: Cluster
) -> None:
    async with a_reader(primary, follower.url, statement_seconds=0.3) as reader:
        await reader.standby.sample()
        await until_on(reader, "standby")
        tries = 0

        async def sleep(connection: Conn) -> None:
            nonlocal tries
            tries += 1
            await connection.execute("SELECT pg_sleep(30)")

        with pytest.raises(QueryTimeout):
            await reader.queries.read(sleep, may_lag=True)
        assert tries == 1


async def test_an_api_process_reads_statements_from_the_standby_and_answers_without_it(
    primary: Cluster, start: Callable[..., Running]
) -> None:
    async with Database.opened(primary.url, size=4) as database:
        await migrate(database)
        merchant = await make_merchant(database, wallet=1_000_000)
    with a_standby(primary, name="other") as follower:
        running = start(
            "api", database_url=primary.url, database_read_url=follower.url, database_read_lag_seconds=1, **NO_LIMITS
        )
        await until_ready(running)
        async with aiohttp.ClientSession() as http:
            client = Client(http, running.url, merchant.key)

            async def entries() -> int:
                answer = await client("GET", "/v1/wallet/entries")
                assert answer.status == 200, answer.body
                return len(answer.body["entries"])

            async with asyncio.timeout(240):
                while follower.ask("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'malipo'") == "0":
                    assert await entries() == 1
            await asyncio.to_thread(follower.stop, "immediate")
            assert [await entries() for _ in range(3)] == [1, 1, 1], "from the primary"
            await asyncio.to_thread(running.stop)


async def test_a_read_address_that_leads_to_the_primary_is_as_good(primary: Cluster) -> None:
    async with a_reader(primary, primary.url) as reader:
        await reader.standby.sample()
        await reader.write()
        await reader.standby.sample()
        assert await reader.where() == "primary"
