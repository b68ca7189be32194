"""An upgrade under load, and back: the last released version and this one on one database, and no request is a 500.

In the end a migration comes that no longer serves the released version. Its processes must stop by themselves.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from malipo.app.assemble import assemble
from malipo.cli import simulator_setup
from malipo.db import Database
from malipo.networks.connector import Channel
from malipo.payments.transaction import Type
from malipo.settings.environment import read
from tests.conftest import NO_LIMITS, Client, Merchant, Running, _create, until_ready
from tests.drills.figures import Record, compare
from tests.drills.figures import record as record
from tests.drills.steady_load import SteadyLoad, running
from tests.journeys.concurrency import order
from tests.journeys.full_stack import HURRY, until
from tests.simulator.processes import Process, Sim
from tests.simulator.processes import start as start_simulator
from tests.upgrades.versions import NEXT, Version, commit_of, releases, version_of

pytestmark = pytest.mark.slow

_EXPANDS = """-- Serves: {serves:04}
-- What an expanding migration may do: a column, a table, an index on a small table, a constraint for new rows.
ALTER TABLE transactions ADD COLUMN colour text;
ALTER TABLE wallets ADD COLUMN colour text NOT NULL DEFAULT 'red';
CREATE TABLE colours (name text PRIMARY KEY);
CREATE INDEX merchants_by_name ON merchants (name, id);
ALTER TABLE transactions ADD CONSTRAINT transactions_colour CHECK (colour <> '') NOT VALID;
"""
# Whoever authenticates names this column. What workers name is all there, so only the span keeps them from sending.
_CONTRACTS = "ALTER TABLE api_keys RENAME COLUMN hash TO digest;"
_UNDONE = "ALTER TABLE api_keys RENAME COLUMN digest TO hash; DELETE FROM schema_migrations WHERE number = $1"
_PHASE_SECONDS = 4
_PER_SECOND = 25
_UPGRADE = ("the migration", "the released version on the new schema", "the upgrade", "the new version")
_ROLLBACK = ("the way back", "the released version again")
_UNSERVED = "the released version on a schema that does not serve it"


@dataclass
class Fleet:
    release: str
    old: Version
    new: Version
    later: Version  # with a migration that no longer serves the others
    database: Database
    database_url: str
    environment: dict[str, str]
    simulator: Process


@pytest.fixture(params=releases())
async def fleet(request: pytest.FixtureRequest, postgres: str, tmp_path: Path) -> AsyncIterator[Fleet]:
    release: str = request.param
    url = await _create(postgres, f"upgrade_{tmp_path.name[-20:]}")
    simulator = await asyncio.to_thread(start_simulator, "--speed", "10")
    try:
        variables = simulator_setup.environment(simulator.url, await simulator_setup.credentials(simulator.url))
        variables |= {f"MALIPO_{name.upper()}": str(value) for name, value in (HURRY | NO_LIMITS).items()}
        variables |= {"MALIPO_DATABASE_URL": url, "MALIPO_DATABASE_POOL": "6"}
        with ExitStack() as stack:
            old = stack.enter_context(version_of("released", tmp_path, variables, commit=commit_of(release)))
            new, later = (stack.enter_context(version_of(name, tmp_path, variables)) for name in ("new", "later"))
            for each in (new, later):
                each.add_migration(NEXT, "expands", _EXPANDS.format(serves=old.newest))
            later.add_migration(NEXT + 1, "contracts", _CONTRACTS)
            async with Database.opened(url, size=10) as database:
                yield Fleet(release, old, new, later, database, url, variables, simulator)
    finally:
        simulator.stop()


async def _name_of(api: Running) -> str:
    async with aiohttp.ClientSession() as http, http.get(f"{api.url}/healthz") as answer:
        return str((await answer.json())["version"])


async def _replace(load: SteadyLoad, apis: list[Running], workers: list[Running], version: Version) -> None:
    """One after the other, as a rolling upgrade does it: a new process is ready before an old one ends."""
    for place in range(len(apis)):
        coming = await until_ready(version.start("api"), seconds=120)
        assert await _name_of(coming) == version.name
        leaving, apis[place] = apis[place], coming
        load.clients[place] = load.clients[place].at(coming.url)
        await _until_drained(load, leaving)
        assert await asyncio.to_thread(leaving.stop, seconds=60) == 0
    for place in range(len(workers)):
        coming = version.start("worker")
        assert await asyncio.to_thread(workers[place].stop, seconds=60) == 0
        workers[place] = coming


async def _until_drained(load: SteadyLoad, leaving: Running) -> None:
    """As a load balancer sees to it."""

    async def is_drained() -> bool:
        return not load.under_way[leaving.url]

    await until(is_drained, what="the last answer of a process that leaves")


async def _statuses(database: Database) -> dict[str, str]:
    async with database.read() as connection:
        return {row["id"]: row["status"] for row in await connection.fetch("SELECT id, status FROM transactions")}


async def test_versions_are_exchanged_and_changed_back_under_load_without_a_single_500(
    fleet: Fleet, record: Record
) -> None:
    await asyncio.to_thread(fleet.old.run, "migrate")
    merchant = await asyncio.to_thread(fleet.old.make_merchant, wallet=100_000_000)
    apis = [await until_ready(fleet.old.start("api"), seconds=120) for _ in range(2)]
    assert [await _name_of(api) for api in apis] == ["released", "released"]
    workers = [fleet.old.start("worker")]
    await simulator_setup.register_callbacks(fleet.simulator.url, apis[0].url, read(fleet.environment))

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as http:
        load = SteadyLoad([Client(http, api.url, merchant.key) for api in apis], first=0, retries=True)
        async with running(load, per_second=_PER_SECOND):
            await _go_on(load, "the released version")
            load.phase = "the migration"
            said = await asyncio.to_thread(fleet.new.run, "migrate")
            assert said.strip() == f"The schema is at migration {NEXT}."
            await _go_on(load, "the released version on the new schema")
            load.phase = "the upgrade"
            await _replace(load, apis, workers, fleet.new)
            await _go_on(load, "the new version")
            load.phase = "the way back"
            await _replace(load, apis, workers, fleet.old)
            await _go_on(load, "the released version again")
            assert load.failed == {}, load.refusals
            load.phase = "the contraction"
            await asyncio.to_thread(fleet.later.run, "migrate")
            await _go_on(load, _UNSERVED)
            load.retries = False
        print(Counter((each.phase, each.said) for each in load.received))
        assert _statuses_said(load, "the contraction") <= {200, 201, 503}
        assert _statuses_said(load, _UNSERVED) == {503}
        await _assert_old_processes_do_nothing(fleet, merchant, apis, workers)

        async with fleet.database.begin() as tx:
            await tx.execute(_UNDONE.split(";")[0])
            await tx.execute(_UNDONE.split(";")[1], NEXT + 1)
        sim = Sim(http, fleet.simulator.url, {})
        for drill, phases in (("upgrade from", _UPGRADE), ("rollback to", _ROLLBACK)):
            # What was claimed when the schema changed is queried after its lease, which is minutes.
            record(f"{drill} {fleet.release}", await compare(fleet.database, sim, load, *phases, seconds=300))
        assert "The book is clean" in await asyncio.to_thread(fleet.new.run, "ledger", "check")


def _statuses_said(load: SteadyLoad, phase: str) -> set[int | str]:
    return {each.said[0] for each in load.of(phase)}


async def _go_on(load: SteadyLoad, phase: str) -> None:
    load.phase = phase
    await asyncio.sleep(_PHASE_SECONDS)

    async def were_enough() -> bool:
        return len(load.of(phase)) >= 50

    await until(were_enough, what=f"50 answers in {phase}")


async def _assert_old_processes_do_nothing(
    fleet: Fleet, merchant: Merchant, apis: list[Running], workers: list[Running]
) -> None:
    """Not ready, and what waits to be sent is not sent."""
    async with aiohttp.ClientSession() as http:
        for api in apis:
            async with http.get(f"{api.url}/readyz") as answer:
                assert answer.status == 503
                assert f"at migration {NEXT + 1} and no longer serves" in (await answer.json())["error"]
    assert "schema.not_served" in workers[0].log.read_text()
    service = assemble(read(fleet.environment), fleet.database)
    made = [
        (await service.payments.initiate(order(merchant.id, Type.DISBURSEMENT, 1000, channel=Channel.AIRTEL_MONEY)))
        for _ in range(3)
    ]
    await asyncio.sleep(_PHASE_SECONDS)
    statuses = await _statuses(fleet.database)
    assert {statuses[each.transaction.id] for each in made} == {"PENDING"}
    await service.finish()
