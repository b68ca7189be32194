"""The statement fetcher: yesterday's statements, once, by any of several workers."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path

import aiohttp
import pytest

from malipo import clock
from malipo.app.assemble import Service, assemble
from malipo.audit_log import store as audit_log
from malipo.audit_log.actor import Actor
from malipo.cli import simulator_setup
from malipo.db import Database
from malipo.networks import conformance
from malipo.networks.connector import Channel, Type
from malipo.reconciliation.imports.fetch_statement import fetch_file, fetchable_accounts
from malipo.reconciliation.imports.import_statement import import_statement
from malipo.reconciliation.statements.store import statements
from malipo.settings.environment import read as read_settings
from malipo.worker.statement_fetcher import StatementFetcher
from tests.simulator.processes import Process
from tests.simulator.processes import start as start_simulator


@pytest.fixture(scope="module")
def simulator() -> Iterator[Process]:
    process = start_simulator("--speed", "50")
    yield process
    process.stop()


@asynccontextmanager
async def served(
    simulator: Process, database: Database, *, hour: int = 9, fetch: str = "true"
) -> AsyncIterator[Service]:
    variables = simulator_setup.environment(simulator.url, await simulator_setup.credentials(simulator.url))
    settings = read_settings(variables | {"MALIPO_STATEMENT_FETCH": fetch, "MALIPO_STATE_DIR": "none"})
    # Tomorrow at nine in the morning: what is done now is of the day before.
    tomorrow = datetime.combine(clock.day_of(clock.now()) + timedelta(days=1), datetime.min.time(), clock.ZONE)
    service = assemble(settings, database, clock=lambda: tomorrow + timedelta(hours=hour))
    try:
        yield service
    finally:
        await service.finish()


async def files(database: Database) -> list[tuple[str, str, str]]:
    async with database.read() as connection:
        found = await statements.find_files(connection, limit=10)
    return sorted((file.channel, file.account, file.profile) for file in found)


EACH = [("AIRTEL_MONEY", "", "airtel-summary"), ("HALOPESA", "clickpesa", "clickpesa-api")]


async def test_yesterdays_statements_are_fetched_once_however_many_workers_there_are(
    simulator: Process, database: Database
) -> None:
    async with served(simulator, database) as service:
        connector = service.networks.connectors["airtel_money"]
        checks = conformance.verify(connector, list(Type), phone="+255784000001", amount=1000, patience_seconds=10)
        assert [check async for check in checks if not check.is_good] == []
        for _ in range(2):
            await StatementFetcher(database, service.networks, service.settings, service.clock).step()
        assert await files(database) == EACH
    async with database.read() as connection:
        assert await connection.fetchval("SELECT sum(amount) FROM statement_lines") == 0
        # Nobody asked malipo for these payments: the statement is matched, and finds them.
        kinds = await connection.fetch("SELECT DISTINCT kind FROM reconciliation_exceptions")
        [noted] = [each for each in await audit_log.find(connection, limit=100) if each.action == "statement.matched"]
        found = await connection.fetchval("SELECT count(*) FROM reconciliation_exceptions")
    assert (noted.actor, noted.details["matched"], noted.details["exceptionKinds"]) == (
        "malipo",
        0,
        {"theirs_only": found},
    )
    assert len(noted.details["files"]) == len(EACH)
    assert [row["kind"] for row in kinds] == ["theirs_only"]


async def test_an_operators_file_of_the_day_keeps_nobody_from_fetching_it(
    simulator: Process, database: Database, tmp_path: Path
) -> None:
    """The operator's file has the layout and the day of the network's own, and an invented line beside the real ones."""
    async with served(simulator, database) as service:
        connector = service.networks.connectors["airtel_money"]
        checks = conformance.verify(connector, list(Type), phone="+255784000001", amount=1000, patience_seconds=10)
        assert [check async for check in checks if not check.is_good] == []
        [account] = [each for each in fetchable_accounts(service.networks) if each.channel == "AIRTEL_MONEY"]
        day = clock.day_of(service.clock()) - timedelta(days=1)
        path = await fetch_file(account, day, tmp_path)
        real = len(path.read_text().splitlines()) - 2
        line = path.read_text().splitlines()[-1].split(",")
        with path.open("a") as file:
            file.write(",".join(["INVENTED1", line[1], "7777", *line[3:4], "", "", ""]) + "\n")
        async with database.begin() as tx:
            await import_statement(
                tx,
                path,
                channel=account.channel,
                account=account.account,
                profile=account.profile,
                accepts_problems=True,
                is_new_account=True,
                actor=Actor("operator asha", "till"),
                now=service.clock(),
            )
        await StatementFetcher(database, service.networks, service.settings, service.clock).step()
    async with database.read() as connection:
        found = await statements.find_files(connection, channel=Channel.AIRTEL_MONEY, limit=10)
        sql = "SELECT receipt, count(*) FROM statement_lines WHERE channel = 'AIRTEL_MONEY' GROUP BY 1"
        receipts = await connection.fetch(sql)
        booked = await connection.fetchval("SELECT count(*) FROM house_bookings")
    assert sorted(each.imported_by for each in found) == ["malipo", "operator asha"]
    assert {row["count"] for row in receipts} == {1}, "a line that both have is one line"
    assert (len(receipts), booked) == (real + 1, 0)


async def test_what_fails_is_tried_again_an_hour_later(simulator: Process, database: Database) -> None:
    now = 1000.0
    async with served(simulator, database) as service, aiohttp.ClientSession() as http:
        fetcher = StatementFetcher(database, service.networks, service.settings, service.clock, monotonic=lambda: now)
        for error, expected in (("ESB000001", EACH[1:]), (None, EACH[1:])):
            body = {"channels": {"AIRTEL_MONEY": {"queryError": error}}}
            async with http.patch(f"{simulator.url}/api/control", json=body) as answer:
                answer.raise_for_status()
            await fetcher.step()  # The second time it is too soon.
            assert await files(database) == expected
        now += 3601
        await fetcher.step()
        assert await files(database) == EACH


async def test_nothing_is_fetched_shortly_after_midnight(simulator: Process, database: Database) -> None:
    async with served(simulator, database, hour=1) as service:
        await StatementFetcher(database, service.networks, service.settings, service.clock).step()
    assert await files(database) == []
