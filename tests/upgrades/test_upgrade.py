"""An upgrade under load, and back: the last released version and this one on one database, and no request is a 500.

In the end a migration comes that no longer serves the released version. Its processes must stop by themselves.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest

from malipo.cli import simulator_setup
from malipo.db import Database
from malipo.networks.connector import Channel
from malipo.payments.transaction import Type
from malipo.service import Service
from malipo.settings.environment import read
from tests.conftest import NO_LIMITS, Running, _create, until_ready
from tests.journeys import database_facts
from tests.journeys.concurrency import order
from tests.journeys.full_stack import HURRY, until
from tests.simulator.processes import Process
from tests.simulator.processes import start as start_simulator
from tests.upgrades.load import Load, loaded
from tests.upgrades.versions import NEXT, Version, released_commit, version_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

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


@dataclass
class Fleet:
    old: Version
    new: Version
    later: Version  # with a migration that no longer serves the others
    database: Database
    database_url: str
    environment: dict[str, str]
    simulator: Process


@pytest.fixture
async def fleet(postgres: str, tmp_path: Path) -> AsyncIterator[Fleet]:
    url = await _create(postgres, f"upgrade_{tmp_path.name[-20:]}")
    simulator = await asyncio.to_thread(start_simulator, "--speed", "10")
    try:
        variables = simulator_setup.environment(simulator.url, await simulator_setup.credentials(simulator.url))
        variables |= {f"MALIPO_{name.upper()}": str(value) for name, value in (HURRY | NO_LIMITS).items()}
        variables |= {"MALIPO_DATABASE_URL": url, "MALIPO_DATABASE_POOL": "6"}
        with ExitStack() as stack:
            old = stack.enter_context(version_of("released", tmp_path, variables, commit=released_commit()))
            new, later = (stack.enter_context(version_of(name, tmp_path, variables)) for name in ("new", "later"))
            for each in (new, later):
                each.add_migration(NEXT, "expands", _EXPANDS.format(serves=old.newest))
            later.add_migration(NEXT + 1, "contracts", _CONTRACTS)
            async with Database.opened(url, size=10) as database:
                yield Fleet(old, new, later, database, url, variables, simulator)
    finally:
        simulator.stop()


async def _name_of(api: Running) -> str:
    async with aiohttp.ClientSession() as http, http.get(f"{api.url}/healthz") as answer:
        return str((await answer.json())["version"])


async def _replace(load: Load, workers: list[Running], version: Version) -> None:
    """One after the other, as a rolling upgrade does it: a new process is ready before an old one ends."""
    for place in range(len(load.apis)):
        coming = await until_ready(version.start("api"), seconds=120)
        assert await _name_of(coming) == version.name
        leaving, load.apis[place] = load.apis[place], coming
        await _until_drained(load, leaving)
        assert await asyncio.to_thread(leaving.stop, seconds=60) == 0
    for place in range(len(workers)):
        coming = version.start("worker")
        assert await asyncio.to_thread(workers[place].stop, seconds=60) == 0
        workers[place] = coming


async def _until_drained(load: Load, leaving: Running) -> None:
    """As a load balancer sees to it."""

    async def is_drained() -> bool:
        return not load.under_way[leaving.url]

    await until(is_drained, what="the last answer of a process that leaves")


async def _statuses(database: Database) -> dict[str, str]:
    async with database.read() as connection:
        return {row["id"]: row["status"] for row in await connection.fetch("SELECT id, status FROM transactions")}


async def _until_all_ended(database: Database) -> None:
    async def have() -> bool:
        return set((await _statuses(database)).values()) <= {"COMPLETED", "FAILED", "CANCELLED"}

    # What was claimed when the schema changed is queried after its lease, which is minutes.
    await until(have, seconds=300, what="the end of every payment")


async def test_versions_are_exchanged_and_changed_back_under_load_without_a_single_500(fleet: Fleet) -> None:
    await asyncio.to_thread(fleet.old.run, "migrate")
    load = Load(await asyncio.to_thread(fleet.old.make_merchant, wallet=100_000_000))
    load.apis += [await until_ready(fleet.old.start("api"), seconds=120) for _ in range(2)]
    assert [await _name_of(api) for api in load.apis] == ["released", "released"]
    workers = [fleet.old.start("worker")]
    await simulator_setup.register_callbacks(fleet.simulator.url, load.apis[0].url, read(fleet.environment))

    async with loaded(load):
        await _go_on(load, "the released version")
        load.phase = "the migration"
        said = await asyncio.to_thread(fleet.new.run, "migrate")
        assert said.strip() == f"The schema is at migration {NEXT}."
        await _go_on(load, "the released version on the new schema")
        load.phase = "the upgrade"
        await _replace(load, workers, fleet.new)
        await _go_on(load, "the new version")
        load.phase = "the way back"
        await _replace(load, workers, fleet.old)
        await _go_on(load, "the released version again")
        print({f"{phase}: {status}": count for (phase, status), count in sorted(load.answers.items())})
        assert {status for _, status in load.answers} == {200, 201}, load.refusals
        load.phase = "the contraction"
        await asyncio.to_thread(fleet.later.run, "migrate")
        await _go_on(load, "the released version on a schema that does not serve it")
        print({f"{phase}: {status}": count for (phase, status), count in sorted(load.answers.items())})
        assert load.of("the contraction") <= {200, 201, 503}
        assert load.of("the released version on a schema that does not serve it") == {503}
    await _assert_old_processes_do_nothing(fleet, load, workers)

    async with fleet.database.begin() as tx:
        await tx.execute(_UNDONE.split(";")[0])
        await tx.execute(_UNDONE.split(";")[1], NEXT + 1)
    await _until_all_ended(fleet.database)
    await _assert_nothing_lost(fleet, load)


async def _go_on(load: Load, phase: str) -> None:
    load.phase = phase
    await asyncio.sleep(_PHASE_SECONDS)

    async def were_enough() -> bool:
        return sum(count for (each, _), count in load.answers.items() if each == phase) >= 50

    await until(were_enough, seconds=60, what=f"50 answers in {phase}")


async def _assert_old_processes_do_nothing(fleet: Fleet, load: Load, workers: list[Running]) -> None:
    """Not ready, and what waits to be sent is not sent."""
    async with aiohttp.ClientSession() as http:
        for api in load.apis:
            async with http.get(f"{api.url}/readyz") as answer:
                assert answer.status == 503
                assert f"at migration {NEXT + 1} and no longer serves" in (await answer.json())["error"]
    assert "schema.not_served" in workers[0].log.read_text()
    service = Service.assemble(read(fleet.environment), fleet.database)
    made = [
        (await service.initiate(order(load.merchant.id, Type.DISBURSEMENT, 1000, channel=Channel.AIRTEL_MONEY)))
        for _ in range(3)
    ]
    await asyncio.sleep(_PHASE_SECONDS)
    statuses = await _statuses(fleet.database)
    assert {statuses[each.transaction.id] for each in made} == {"PENDING"}
    await service.finish()


async def _assert_nothing_lost(fleet: Fleet, load: Load) -> None:
    statuses = await _statuses(fleet.database)
    assert set(load.created.values()) <= set(statuses)
    assert len(set(load.created.values())) == len(load.created), "a key made one payment"
    await database_facts.assert_clean(fleet.database)
    assert "The book is clean" in await asyncio.to_thread(fleet.new.run, "ledger", "check")
    async with fleet.database.read() as connection:
        rows = await connection.fetch("SELECT network_key, amount, status FROM transactions")
    async with aiohttp.ClientSession() as http, http.get(f"{fleet.simulator.url}/api/book") as answer:
        movements = (await answer.json())["movements"]
    moved: dict[str, list[int]] = {}
    for each in movements:
        moved.setdefault(each["reference"], []).append(each["amount"])
    for row in rows:
        assert moved.get(row["network_key"], []) == ([row["amount"]] if row["status"] == "COMPLETED" else []), dict(row)
    print(f"{len(rows)} payments, each moved once: {sum(load.answers.values())} answers")
