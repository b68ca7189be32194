"""Statements by API: against the simulator's book, with files of the same account, and when a page fails."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import date, timedelta
from pathlib import Path

import aiohttp
import pytest

from malipo import clock
from malipo.cli import simulator_setup
from malipo.db import Database
from malipo.errors import Invalid
from malipo.network_statements.profile import built_in
from malipo.networks import conformance
from malipo.networks.connector import Channel, Type
from malipo.networks.http.client import HttpClient
from malipo.networks.routing import Networks, connect
from malipo.networks.statement_source import CannotFetch
from malipo.reconciliation.imports.fetch_statement import account_of, fetch_file, fetchable_accounts, require_over
from malipo.reconciliation.imports.import_statement import DoesNotAddUp, ImportResult, StatementImport, import_statement
from malipo.settings.environment import read as read_settings
from tests.conftest import NOBODY
from tests.simulator.processes import Process
from tests.simulator.processes import start as start_simulator


def today() -> date:
    return clock.day_of(clock.now())  # Not of the time when tests are collected: midnight may come before they run.


@pytest.fixture(scope="module")
def simulator() -> Iterator[Process]:
    process = start_simulator("--speed", "50")
    yield process
    process.stop()


@asynccontextmanager
async def connected(simulator: Process, **more: str) -> AsyncIterator[Networks]:
    variables = simulator_setup.environment(simulator.url, await simulator_setup.credentials(simulator.url))
    async with HttpClient.opened() as http_client:
        yield connect(read_settings(variables | more), http_client)


async def pay(networks: Networks, name: str, phone: str, *types: Type) -> None:
    checks = conformance.verify(networks.connectors[name], types, phone=phone, amount=1000, patience_seconds=10)
    assert [check async for check in checks if not check.is_good] == []


async def sim(simulator: Process, method: str, path: str, body: object = None) -> object:
    async with aiohttp.ClientSession() as http, http.request(method, simulator.url + path, json=body) as answer:
        return await answer.json(content_type=None) if path.startswith("/api/c") else await answer.text()


async def imported(database: Database, path: Path, channel: Channel, profile: str, account: str = "") -> ImportResult:
    async with database.begin() as tx:
        return await import_statement(
            tx,
            StatementImport(
                path,
                channel=channel,
                account=account,
                profile=built_in()[profile],
                is_new_account=True,
            ),
            actor=NOBODY,
            now=clock.now(),
        )


async def lines(database: Database) -> list[tuple[str, int, str]]:
    async with database.read() as connection:
        rows = await connection.fetch(
            "SELECT receipt, amount, key FROM statement_lines WHERE kind = 'money' ORDER BY receipt"
        )
    return [tuple(row) for row in rows]


@pytest.mark.parametrize("times", ["epoch", "milliseconds", "rfc3339"])
async def test_airtels_summary_and_its_file_are_the_same_lines(
    simulator: Process, database: Database, tmp_path: Path, times: str
) -> None:
    async with connected(simulator) as networks:
        await pay(networks, "airtel_money", "+255784000001", Type.COLLECTION, Type.DISBURSEMENT)
        await pay(networks, "airtel_money", "+255784000001", Type.COLLECTION)
        await sim(simulator, "PATCH", "/api/control", {"channels": {"AIRTEL_MONEY": {"summaryTimes": times}}})
        account = account_of(networks, Channel.AIRTEL_MONEY)
        fetched = await fetch_file(account, today(), tmp_path)
    done = await imported(database, fetched, account.channel, account.profile.name)
    assert (done.file.is_whole, done.file.new_count >= 3, done.file.opening) == (False, True, None)
    (tmp_path / "portal.csv").write_text(
        str(await sim(simulator, "GET", f"/api/statements/AIRTEL_MONEY?day={today()}"))
    )
    before = await lines(database)
    portal = await imported(database, tmp_path / "portal.csv", Channel.AIRTEL_MONEY, "airtel-money")
    # Only what the API does not have is new: the fees.
    assert await lines(database) == before
    assert portal.file.new_count == portal.file.line_count - done.file.new_count > 0


async def test_clickpesas_lines_have_our_references(simulator: Process, database: Database, tmp_path: Path) -> None:
    async with connected(simulator) as networks:
        await pay(networks, "clickpesa", "+255622000001", Type.COLLECTION, Type.DISBURSEMENT)
        account = account_of(networks, Channel.HALOPESA)
        # HaloPesa has an account of its own besides, for collections.
        assert (account.connector, account.channel, account.account) == ("clickpesa", Channel.HALOPESA, "clickpesa")
        fetched = await fetch_file(account, today(), tmp_path)
    await imported(database, fetched, account.channel, account.profile.name, account.account)
    found = await lines(database)
    assert sorted(amount for _, amount, _ in found) == [-1000, 1000]
    assert all(len(key) == 16 for _, _, key in found)


async def test_a_fetch_that_fails_imports_nothing(simulator: Process, tmp_path: Path) -> None:
    async with connected(simulator) as networks:
        await sim(simulator, "PATCH", "/api/control", {"channels": {"AIRTEL_MONEY": {"queryError": "ESB000001"}}})
        try:
            with pytest.raises(CannotFetch):
                await fetch_file(account_of(networks, Channel.AIRTEL_MONEY), today(), tmp_path)
        finally:
            await sim(simulator, "PATCH", "/api/control", {"channels": {"AIRTEL_MONEY": {"queryError": None}}})


async def test_networks_without_such_an_api_say_so(simulator: Process) -> None:
    async with connected(simulator) as networks:
        assert [each.connector for each in fetchable_accounts(networks)] == ["airtel_money", "clickpesa"]
        with pytest.raises(CannotFetch):
            account_of(networks, Channel.TIGO_PESA)


def test_only_a_day_that_is_over_is_fetched() -> None:
    now = clock.now()
    require_over(clock.day_of(now) - timedelta(days=1), now)
    for day in (clock.day_of(now), date(2999, 1, 1)):
        with pytest.raises(Invalid):
            require_over(day, now)


@pytest.mark.parametrize("repeated", [[], ["A"]])
async def test_between_a_file_and_the_api_a_line_is_the_same_if_its_time_is_near(
    database: Database, tmp_path: Path, repeated: list[str]
) -> None:
    """Also where no line is in its file twice, and each looks new."""
    fetched = "from,2026-11-01T00:00:00+03:00,to,2026-11-02T00:00:00+03:00\nreceipt,moved at,amount\n"
    profiles = {"api.csv": "airtel-summary", "portal.csv": "airtel-user"}
    rows = [("A", "10:00:00", 500), *((each, "10:00:00", 500) for each in repeated), ("B", "11:00:00", -70)]
    for order in (["api.csv", "portal.csv"], ["portal.csv", "api.csv"]):
        account = order[0]
        (tmp_path / "api.csv").write_text(
            fetched + "".join(f"{account}{receipt},2026-11-01T{at}+03:00,{amount}\n" for receipt, at, amount in rows)
        )
        (tmp_path / "portal.csv").write_text(
            "Transation ID,Date,Amount\n"
            + "".join(f"{account}{receipt},2026-11-01 {at[:-1]}7,{amount}\n" for receipt, at, amount in rows)
            + "".join(f"{account}{each},2026-11-01 10:00:07,500\n" for each in repeated)
            + f"{account}B,2026-11-03 11:00:00,-70\n"
        )
        counts = [
            (await imported(database, tmp_path / name, Channel.AIRTEL_MONEY, profiles[name], account)).file.new_count
            for name in order
        ]
        # One more A for each that repeats, and B two days later, are in the portal's file alone.
        both, portal = len(rows), len(repeated) + 1
        assert counts == ([both, portal] if order[0] == "api.csv" else [both + portal, 0])


async def test_a_fetched_file_does_not_hide_the_balance_that_a_file_must_follow(
    database: Database, tmp_path: Path
) -> None:
    header = "receipt,time,amount,balance\n"
    (tmp_path / "day1.csv").write_text(f"from,2026-11-01,to,2026-11-02\n{header}A,2026-11-01 10:00,500,500\n")
    (tmp_path / "day2.csv").write_text(f"from,2026-11-02,to,2026-11-03\n{header}B,2026-11-02 10:00,1,499\n")
    (tmp_path / "api.csv").write_text(
        "from,2026-11-01T00:00:00+03:00,to,2026-11-02T00:00:00+03:00\nreceipt,moved at,amount\n"
    )
    await imported(database, tmp_path / "day1.csv", Channel.AIRTEL_MONEY, "generic")
    await imported(database, tmp_path / "api.csv", Channel.AIRTEL_MONEY, "airtel-summary")
    with pytest.raises(DoesNotAddUp):
        await imported(database, tmp_path / "day2.csv", Channel.AIRTEL_MONEY, "generic")
