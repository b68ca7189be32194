"""The scheduled ledger check: one worker at a time, piece by piece, continued by others after a kill."""

import asyncio
from collections.abc import Callable
from dataclasses import replace

import pytest

from malipo import clock
from malipo.app.assemble import Service
from malipo.bank.balance import find_seen
from malipo.db import Database
from malipo.db.schema_monitor import SchemaMonitor
from malipo.ledger.check import LedgerFinding
from malipo.ledger.store import checks
from malipo.ledger.store.checks import LedgerCheck
from malipo.metrics.process_metrics import Metrics
from malipo.monitoring.collector import Collector
from malipo.payments.check.check_in_pieces import CheckSubject
from malipo.payments.transaction import Type
from malipo.settings import Settings
from malipo.worker.ledger_checker import LedgerChecker
from tests.conftest import NO_LIMITS, Merchant, Running
from tests.journeys.concurrency import order
from tests.journeys.operator_commands import malipo

WRONG = "UPDATE wallets SET available = available + 1"
RIGHT = "UPDATE wallets SET available = available - 1"


@pytest.fixture
def settings() -> Settings:
    return replace(Settings(**NO_LIMITS), ledger_check_seconds=3600)


@pytest.fixture
async def payment(service: Service, merchant: Merchant) -> str:
    return (await service.payments.initiate(order(merchant.id, Type.DISBURSEMENT, 1000, key="a"))).transaction.id


async def execute(database: Database, statement: str) -> None:
    async with database.begin() as tx:
        await tx.execute(statement)


async def last(database: Database) -> LedgerCheck | None:
    async with database.read() as connection:
        return await checks.find_last(connection)


async def run_whole(checker: LedgerChecker) -> None:
    while await checker.step():
        pass


async def gauge(database: Database, settings: Settings, name: str) -> float:
    metrics = Metrics()
    await Collector(database, metrics.money, settings, clock.now, SchemaMonitor(database), find_seen).look()
    [line] = [line for line in metrics.exposition().decode().splitlines() if line.startswith(f"malipo_{name} ")]
    return float(line.split()[1])


async def test_a_check_reads_every_subject_and_is_kept(database: Database, settings: Settings, payment: str) -> None:
    await run_whole(LedgerChecker(database, settings))

    done = await last(database)
    assert done is not None
    assert (done.finding_count, done.findings, done.piece_count) == (0, [], len(CheckSubject))
    assert await gauge(database, settings, "ledger_check_clean_timestamp_seconds") == pytest.approx(
        done.finished_at.timestamp() if done.finished_at else 0
    )


async def test_nothing_is_checked_again_before_it_is_due(database: Database, settings: Settings, payment: str) -> None:
    checker = LedgerChecker(database, settings)
    await run_whole(checker)
    first = await last(database)
    assert not await checker.step()
    await execute(database, "UPDATE ledger_checks SET finished_at = finished_at - interval '3599 s'")
    assert not await checker.step()
    await execute(database, "UPDATE ledger_checks SET finished_at = finished_at - interval '2 s'")
    await run_whole(checker)
    second = await last(database)
    assert first is not None and second is not None and first.id != second.id  # noqa: PT018


async def test_a_wrong_row_is_found_shown_and_checked_again_soon(
    database: Database, database_url: str, settings: Settings, merchant: Merchant, payment: str
) -> None:
    await execute(database, WRONG)
    checker = LedgerChecker(database, settings)
    await run_whole(checker)

    done = await last(database)
    assert done is not None
    assert [(each.what, each.where) for each in done.findings] == [("wallet", merchant.id)]
    assert await gauge(database, settings, "ledger_check_findings") == 1
    assert await gauge(database, settings, "ledger_check_clean_timestamp_seconds") == 0
    shown = await malipo("ledger", "check", "--last", database_url=database_url)
    assert (shown.code, merchant.id in shown.err) == (1, True)

    await execute(database, RIGHT)
    await execute(database, "UPDATE ledger_checks SET finished_at = finished_at - interval '601 s'")
    await run_whole(checker)
    assert await gauge(database, settings, "ledger_check_findings") == 0
    shown = await malipo("ledger", "check", "--last", "--json", database_url=database_url)
    assert (shown.code, shown.json["isClean"]) == (0, True)


async def test_a_difference_rings_before_the_check_has_ended(
    database: Database, settings: Settings, payment: str
) -> None:
    await execute(database, "UPDATE moves SET balance_after = balance_after + 1 WHERE statement_line = 1")
    assert await LedgerChecker(database, settings).step(), "the first piece is not the last"
    assert await last(database) is None
    assert await gauge(database, settings, "ledger_check_findings") > 0


async def test_two_workers_make_one_check(database: Database, settings: Settings, payment: str) -> None:
    workers = [LedgerChecker(database, settings) for _ in range(4)]
    while await last(database) is None:
        await asyncio.gather(*(each.step() for each in workers))

    async with database.read() as connection:
        rows = await connection.fetch("SELECT piece_count FROM ledger_checks")
    assert [row["piece_count"] for row in rows] == [len(CheckSubject)]


async def test_another_worker_continues_where_a_killed_one_stood(
    database: Database, settings: Settings, payment: str
) -> None:
    killed, other = (LedgerChecker(database, settings) for _ in range(2))
    assert await killed.step()
    assert await killed.step()
    assert not await other.step(), "its lease has not ended"
    await execute(database, "UPDATE ledger_checks SET leased_until = now() - interval '1 s'")
    await run_whole(other)

    done = await last(database)
    assert done is not None
    assert done.piece_count == len(CheckSubject), "no piece was made twice"


async def test_a_worker_that_lost_its_claim_records_nothing(database: Database, payment: str) -> None:
    found = [LedgerFinding("wallet", "mer_1", 1, 2)]
    async with database.begin() as tx:
        slow = await checks.claim(tx, "chk_1", "clm_slow", every_seconds=3600, again_seconds=600, lease_seconds=-1)
        quick = await checks.claim(tx, "chk_2", "clm_quick", every_seconds=3600, again_seconds=600, lease_seconds=60)
        assert slow is not None
        assert slow == quick, "it takes over the check that runs"
        assert await checks.record_piece(tx, "chk_1", "clm_slow", found, None, seconds=1.0) is None
        running = await checks.find_running(tx)
    assert running is not None
    assert (running.piece_count, running.finding_count) == (0, 0)


async def test_a_place_of_another_version_begins_anew(database: Database, settings: Settings, payment: str) -> None:
    checker = LedgerChecker(database, settings)
    await checker.step()
    await execute(database, """UPDATE ledger_checks SET next_piece = '["dreams", ["a"]]'""")
    await run_whole(checker)
    done = await last(database)
    assert done is not None
    assert done.piece_count == 1 + len(CheckSubject)


async def test_a_worker_process_finds_a_wrong_row_and_says_so(
    start: Callable[..., Running], database: Database, database_url: str, merchant: Merchant, payment: str
) -> None:
    await execute(database, WRONG)
    running = start("worker", database_url=database_url, **NO_LIMITS)
    async with asyncio.timeout(240):
        while "ledger_check.not_clean" not in running.log.read_text():
            assert running.process.poll() is None, running.log.read_text()
            await asyncio.sleep(0.1)
    assert '"event":"ledger_check.difference"' in running.log.read_text()
    assert running.stop() == 0
