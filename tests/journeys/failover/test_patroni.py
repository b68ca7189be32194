"""Two API processes and two workers on three PostgreSQL nodes under Patroni, behind HAProxy, while the primary changes.

It needs patroni (from PyPI), and etcd-server and haproxy (Debian's packages): see `deploy/patroni/try --check`. The
figures that it prints are those of docs/operating/high-availability.md.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from malipo.db import Database
from malipo.db.migrate import migrate
from tests.conftest import Client, until_ready
from tests.drills.figures import Record, compare
from tests.drills.figures import record as record
from tests.drills.steady_load import SteadyLoad
from tests.journeys.failover.patroni_trial import PatroniTrial, a_patroni_trial
from tests.journeys.full_stack import FullStack, full_stack_started

# Few enough for two cores on which all of it runs, three PostgreSQL and a simulator too.
PER_SECOND = 25

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def trial() -> Iterator[PatroniTrial]:
    with a_patroni_trial() as trial:
        yield trial


@pytest.fixture(scope="module")
async def full_stack(trial: PatroniTrial, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[FullStack]:
    async with Database.opened(trial.url, size=4) as database:
        await migrate(database)
    folder: Path = tmp_path_factory.mktemp("failover")
    async with full_stack_started(folder, trial.url, database_read_url=trial.read_url) as full_stack:
        for _ in range(2):
            full_stack.start("worker")
        yield full_stack


@pytest.fixture(scope="module")
async def clients(full_stack: FullStack) -> list[Client]:
    second = await until_ready(full_stack.start("api"))
    return [full_stack.api, Client(full_stack.api._http, second.url, full_stack.merchant.key)]


async def test_a_switchover_fails_no_request(
    trial: PatroniTrial, full_stack: FullStack, clients: list[Client], record: Record
) -> None:
    await trial.until_whole()
    await SteadyLoad(clients, first=8000, retries=True).run(100, per_second=PER_SECOND)  # Connections stand.
    load = SteadyLoad(clients, first=0, retries=False)
    running = asyncio.create_task(load.run(2000, per_second=PER_SECOND))
    await asyncio.sleep(10)
    before = await trial.primary()
    await trial.switch_over()
    await running

    assert await trial.primary() != before
    print(f"\nswitchover: {dict(load.said)}, longest gap {load.longest_gap_seconds:.1f} s")
    assert load.failed == {}
    assert load.said.total() == 2000
    record("switchover under Patroni", await compare(full_stack.database, full_stack.sim, load))


async def test_a_primary_whose_postgresql_is_killed_is_a_gap_of_seconds(
    trial: PatroniTrial, full_stack: FullStack, clients: list[Client], record: Record
) -> None:
    await trial.until_whole()
    load = SteadyLoad(clients, first=2000, retries=True)
    running = asyncio.create_task(load.run(1000, per_second=PER_SECOND))
    await asyncio.sleep(8)
    primary = await trial.primary()
    assert primary is not None
    trial.kill_postgres(primary)
    await running

    assert await trial.primary() not in (None, primary)
    print(f"\nkilled: {dict(load.said)}, asked again {load.asked_again}, longest gap {load.longest_gap_seconds:.1f} s")
    record(
        "kill -9 of PostgreSQL on the primary under Patroni", await compare(full_stack.database, full_stack.sim, load)
    )


async def test_a_zombie_primary_loses_nothing_and_is_left_for_the_new_one(
    trial: PatroniTrial, full_stack: FullStack, clients: list[Client], record: Record
) -> None:
    """Last: the node stays without its Patroni, and the old PostgreSQL runs on, until the trial is stopped."""
    await trial.until_whole()
    load = SteadyLoad(clients, first=4000, retries=True)
    running = asyncio.create_task(load.run(1500, per_second=PER_SECOND))
    await asyncio.sleep(8)
    primary = await trial.primary()
    assert primary is not None
    trial.kill_patroni(primary)
    await running

    assert await trial.primary() not in (None, primary)
    print(f"\nzombie: {dict(load.said)}, asked again {load.asked_again}, longest gap {load.longest_gap_seconds:.1f} s")
    record("primary whose Patroni is lost", await compare(full_stack.database, full_stack.sim, load))
