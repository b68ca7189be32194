"""The statement fetcher: yesterday's statements, once, by any of several workers."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

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
from malipo.networks.statement_source import CannotFetch, FetchedLine
from malipo.reconciliation.imports.fetch_statement import day_bounds, fetch_file, fetchable_accounts, missing_days
from malipo.reconciliation.imports.import_statement import StatementImport, import_statement
from malipo.reconciliation.statements.store import statements
from malipo.settings.environment import read as read_settings
from malipo.worker.statement_fetcher import StatementFetcher
from tests.simulator.processes import Process
from tests.simulator.processes import start as start_simulator
from tests.table_files.test_rows import children_of


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


async def fetch(fetcher: StatementFetcher) -> None:
    """All that is missing."""
    while await fetcher.step():
        pass


EACH = [("AIRTEL_MONEY", "", "airtel-summary"), ("HALOPESA", "clickpesa", "clickpesa-api")]


async def test_yesterdays_statements_are_fetched_once_however_many_workers_there_are(
    simulator: Process, database: Database
) -> None:
    async with served(simulator, database) as service:
        connector = service.networks.connectors["airtel_money"]
        checks = conformance.verify(connector, list(Type), phone="+255784000001", amount=1000, patience_seconds=10)
        assert [check async for check in checks if not check.is_good] == []
        for _ in range(2):
            await fetch(StatementFetcher(database, service.networks, service.settings, service.clock))
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
                StatementImport(
                    path,
                    channel=account.channel,
                    account=account.account,
                    profile=account.profile,
                    accepts_problems=True,
                    is_new_account=True,
                ),
                actor=Actor("operator asha", "till"),
                now=service.clock(),
            )
        await fetch(StatementFetcher(database, service.networks, service.settings, service.clock))
    async with database.read() as connection:
        found = await statements.find_files(connection, channel=Channel.AIRTEL_MONEY, limit=10)
        sql = "SELECT receipt, count(*) FROM statement_lines WHERE channel = 'AIRTEL_MONEY' GROUP BY 1"
        receipts = await connection.fetch(sql)
        booked = await connection.fetchval("SELECT count(*) FROM house_bookings")
    assert sorted(each.imported_by for each in found) == ["malipo", "operator asha"]
    assert {row["count"] for row in receipts} == {1}, "a line that both have is one line"
    assert (len(receipts), booked) == (real + 1, 0)


def forker_of_readers() -> int:
    [found] = children_of(os.getpid())
    return found


async def test_payments_are_sent_while_a_statement_is_read(simulator: Process, database: Database) -> None:
    """The process that forks readers stands still until the event loop, which also sends payments, lets it go on."""
    async with served(simulator, database) as service:
        fetcher = StatementFetcher(database, service.networks, service.settings, service.clock)
        assert await fetcher.step(), "the first of two"
        forker = forker_of_readers()
        os.kill(forker, signal.SIGSTOP)
        try:
            reading = asyncio.create_task(fetcher.step())
            async with database.read() as connection:
                while not reading.done() and not await connection.fetchval(  # noqa: ASYNC110
                    """
                    SELECT count(*) FROM pg_stat_activity
                    WHERE datname = current_database() AND state = 'idle in transaction' AND query LIKE 'SAVEPOINT %'
                    """
                ):
                    await asyncio.sleep(0.01)
            assert forker_of_readers() == forker, "nobody has given it up"
        finally:
            with suppress(ProcessLookupError):
                os.kill(forker, signal.SIGCONT)
        await reading
        assert forker_of_readers() == forker
        assert await files(database) == EACH


async def test_what_fails_is_tried_again_an_hour_later(simulator: Process, database: Database) -> None:
    now = 1000.0
    async with served(simulator, database) as service, aiohttp.ClientSession() as http:
        fetcher = StatementFetcher(database, service.networks, service.settings, service.clock, monotonic=lambda: now)
        for error, expected in (("ESB000001", EACH[1:]), (None, EACH[1:])):
            body = {"channels": {"AIRTEL_MONEY": {"queryError": error}}}
            async with http.patch(f"{simulator.url}/api/control", json=body) as answer:
                answer.raise_for_status()
            await fetch(fetcher)  # The second time it is too soon.
            assert await files(database) == expected
        now += 3601
        await fetch(fetcher)
        assert await files(database) == EACH


async def fetched_days(database: Database) -> dict[str, list[int]]:
    """Of each channel: how many days before the last one each was."""
    async with database.read() as connection:
        rows = await connection.fetch("SELECT channel, begins_at FROM statement_files ORDER BY begins_at")
    last = max(row["begins_at"] for row in rows)
    return {
        channel: [(last - row["begins_at"]).days for row in rows if row["channel"] == channel]
        for channel in sorted({row["channel"] for row in rows})
    }


async def test_days_on_which_nothing_could_be_fetched_are_fetched_later(simulator: Process, database: Database) -> None:
    """The first day all is well. On the second Airtel Money is away, then no worker runs for a day."""
    async with served(simulator, database) as service, aiohttp.ClientSession() as http:
        first = service.clock()
        for days, error in ((0, None), (1, "ESB000001"), (3, None)):
            body = {"channels": {"AIRTEL_MONEY": {"queryError": error}}}
            async with http.patch(f"{simulator.url}/api/control", json=body) as answer:
                answer.raise_for_status()
            now = first + timedelta(days=days)
            await fetch(StatementFetcher(database, service.networks, service.settings, lambda now=now: now))  # type: ignore[misc]
    assert await fetched_days(database) == {"AIRTEL_MONEY": [3, 2, 1, 0], "HALOPESA": [3, 2, 1, 0]}


class BadDay:
    """Airtel Money, whose statement of one day is refused, or breaks what reads it."""

    statement_profile = "airtel-summary"

    def __init__(self, day: date, error: Exception) -> None:
        self._begins, _ = day_bounds(day)
        self._error = error

    async def fetch_statement(self, begins: datetime, ends: datetime) -> AsyncIterator[FetchedLine]:
        if begins == self._begins:
            raise self._error
        for _ in ():
            yield FetchedLine(receipt="", moved_at=begins, amount=0)


@pytest.mark.parametrize("error", [CannotFetch("A page did not come."), ZeroDivisionError()], ids=["refused", "breaks"])
async def test_a_day_that_cannot_be_fetched_keeps_no_other_from_being_fetched(
    simulator: Process, database: Database, error: Exception
) -> None:
    async with served(simulator, database) as service:
        first = service.clock()
        bad: Any = BadDay(clock.day_of(first), error)
        networks = replace(service.networks, connectors={"airtel_money": bad})
        for days in (0, 2):
            now = first + timedelta(days=days)
            fetcher = StatementFetcher(database, networks, service.settings, lambda now=now: now)  # type: ignore[misc]
            for _ in range(5):  # As its loop does, also after a step that broke.
                with suppress(ZeroDivisionError):
                    await fetcher.step()
    assert await fetched_days(database) == {"AIRTEL_MONEY": [2, 0]}


YESTERDAY = date(2026, 11, 15)


def days(*ago: int) -> list[date]:
    return [YESTERDAY - timedelta(days=each) for each in ago]


# How many days before yesterday: the first that was ever fetched, those that were fetched; what is fetched now.
MISSING = [
    (None, [], [0]),
    (0, [0], []),
    (1, [1], [0]),
    (2, [2], [1, 0]),
    (2, [2, 1], [0]),
    (3, [3, 1, 0], [2]),
    (5, [5, 3, 1], [4, 2, 0]),
    (6, [6], [5, 4, 3, 2, 1, 0]),
    (7, [7], [6, 5, 4, 3, 2, 1, 0]),
    (40, [], [6, 5, 4, 3, 2, 1, 0]),
    (40, [6, 5, 4, 3, 2, 1, 0], []),
    (2, [1, 0], [2]),
]


@pytest.mark.parametrize(("first", "fetched", "missing"), MISSING)
def test_the_days_since_the_first_fetched_one_that_are_missing_of_the_last_seven(
    first: int | None, fetched: list[int], missing: list[int]
) -> None:
    begun = None if first is None else YESTERDAY - timedelta(days=first)
    assert missing_days(YESTERDAY, days(*fetched), first=begun) == days(*missing)


async def test_nothing_is_fetched_shortly_after_midnight(simulator: Process, database: Database) -> None:
    async with served(simulator, database, hour=1) as service:
        await fetch(StatementFetcher(database, service.networks, service.settings, service.clock))
    assert await files(database) == []
