"""A standby that takes over: one that has every commit is the same database, and one that lost a second is a restored one."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import aiohttp
import pytest

from malipo.db import Database
from malipo.db.migrate import migrate
from tests.journeys import database_facts
from tests.journeys.full_stack import FullStack, full_stack_started, until
from tests.journeys.postgres_cluster import Cluster, a_cluster, a_standby
from tests.journeys.restore_drill import movements, payments
from tests.journeys.restored_stack import a_host, installation, pay, statuses, until_fenced, until_looked

pytestmark = pytest.mark.slow


@pytest.fixture
def primary() -> Iterator[Cluster]:
    with a_cluster() as cluster:
        yield cluster


@pytest.fixture
async def full_stack(primary: Cluster, tmp_path: Path) -> AsyncIterator[FullStack]:
    async with Database.opened(primary.url, size=4) as database:
        await migrate(database)
    async with full_stack_started(tmp_path, primary.url) as full_stack:
        yield full_stack


def _take_over(primary: Cluster, standby: Cluster) -> None:
    """The primary dies in the midst of its work, and the standby answers at its address."""
    primary.stop("immediate")
    standby.stop()
    standby.port = primary.port
    standby.configure("primary_conninfo = ''")
    standby.start()
    standby.promote()
    standby.until_primary()


@asynccontextmanager
async def _a_load(full_stack: FullStack) -> AsyncIterator[None]:
    """A merchant's program that pays all the time, and asks again with the same key if it was not answered."""

    async def pay_on() -> None:
        for number in itertools.count():
            while True:
                with suppress(aiohttp.ClientError):
                    phone = f"+255684{number:03}{200 + number % 700:03}"
                    if (await pay(full_stack, "AIRTEL_MONEY", phone, f"order-{number}")).status == 201:
                        break
                await asyncio.sleep(0.1)

    load = asyncio.ensure_future(pay_on())
    try:
        yield
    finally:
        load.cancel()
        with suppress(asyncio.CancelledError):
            await load


async def _until_all_paid(full_stack: FullStack, *, least: int) -> None:
    async def are_paid() -> bool:
        found = await statuses(full_stack)
        return len(found) >= least and set(found.values()) == {"COMPLETED"}

    await until(are_paid, what="the end of every payout")


async def test_a_standby_that_has_every_commit_takes_over_and_nothing_is_fenced(
    full_stack: FullStack, primary: Cluster, tmp_path: Path
) -> None:
    with a_standby(primary, name="spare") as standby:
        primary.ask("ALTER SYSTEM SET synchronous_standby_names = 'spare'")
        primary.ask("SELECT pg_reload_conf()")

        async def is_synchronous() -> bool:
            return primary.ask("SELECT sync_state FROM pg_stat_replication") == "sync"

        await until(is_synchronous, what="a synchronous standby")
        async with a_host(full_stack, tmp_path / "state"):
            await until_looked(full_stack)
            async with _a_load(full_stack):
                await _until_some(full_stack, 20)
                await asyncio.to_thread(_take_over, primary, standby)
                await _until_some(full_stack, len(await payments(full_stack)) + 20)
            await _until_all_paid(full_stack, least=40)
            row = await installation(full_stack)
            assert (row["fenced_at"], row["epoch"]) == (None, 1)
        book = await movements(full_stack)
        assert {key for key, amounts in book.items() if len(amounts) > 1} == set()
        assert len(book) == len(await payments(full_stack))
        print(f"{len(book)} payouts over a fail-over, none of them paid twice")
        await database_facts.assert_clean(full_stack.database)


async def _until_some(full_stack: FullStack, least: int) -> None:
    async def are_some() -> bool:
        return len(await payments(full_stack)) >= least

    await until(are_some, what=f"{least} payments")


async def test_a_standby_that_lost_a_second_is_a_restored_database(
    full_stack: FullStack, primary: Cluster, tmp_path: Path
) -> None:
    with a_standby(primary, name="spare") as standby:
        async with a_host(full_stack, tmp_path / "state"):
            await until_looked(full_stack)
            assert (await pay(full_stack, "AIRTEL_MONEY", "+255684000200", "order-1")).status == 201
            await _until_all_paid(full_stack, least=1)

            async def has_followed() -> bool:
                query = "SELECT pg_current_wal_lsn() <= replay_lsn FROM pg_stat_replication"
                return primary.ask(query) == "t"

            await until(has_followed, what="a standby that has it all")
            await asyncio.to_thread(standby.stop)
            assert (await pay(full_stack, "AIRTEL_MONEY", "+255684000201", "order-2")).status == 201
            await _until_all_paid(full_stack, least=2)
            await asyncio.to_thread(_take_over, primary, standby)
            await until_fenced(full_stack)
        assert len(await statuses(full_stack)) == 1
        assert len(await movements(full_stack)) == 2
