"""Schedules on a real database: at most one settlement a merchant and day, whatever happens."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from malipo import clock
from malipo.audit_log.actor import Actor
from malipo.bank_evidence.store import coverage
from malipo.db import Conn, Database, Tx
from malipo.restore.store import installation
from malipo.settlement.run_schedules import RunSchedules, find_due, set_schedule
from malipo.settlement.schedule import Every, RunOutcome, Schedule
from malipo.settlement.settlement import NothingToSettle, Settlement, SettlementStatus
from malipo.settlement.store import releases, schedules, settlements
from malipo.worker.settlement_scheduler import SettlementScheduler
from tests.conftest import make_merchant
from tests.settlement.settlement_steps import SettlementSteps, add_account
from tests.settlement.test_restore import adopted, restore

NINE = datetime.now(clock.ZONE).replace(hour=9, minute=0, second=0, microsecond=0)


async def save(steps: SettlementSteps, **changes: Any) -> Schedule:
    set_: dict[str, Any] = {"every": Every.DAY, "minimum": 10_000, "keep": 0} | changes
    schedule = Schedule(merchant_id=steps.merchant_id, changed_at=NINE - timedelta(days=40), changed_by="asha", **set_)
    async with steps.database.begin() as tx:
        await schedules.save(tx, schedule)
    return schedule


async def run(steps: SettlementSteps, schedule: Schedule, now: datetime = NINE) -> RunOutcome | None:
    runs = RunSchedules(steps.service.settlements.terms)
    async with steps.database.begin() as tx:
        return await runs(tx, schedule, now=now)


async def nine(connection: Conn) -> datetime:
    return NINE


async def made(steps: SettlementSteps) -> list[Settlement]:
    async with steps.database.read() as connection:
        return (await settlements.find_page(connection, steps.merchant_id, page=1, limit=100))[1]


async def test_all_above_what_stays_is_settled_once_a_day(steps: SettlementSteps) -> None:
    schedule = await save(steps, keep=50_000)
    outcomes = await asyncio.gather(*(run(steps, schedule) for _ in range(6)))
    assert [each for each in outcomes if each is not None] == [RunOutcome.SETTLED]
    [settlement] = await made(steps)
    assert (settlement.amount, settlement.scheduled_on, settlement.created_by) == (950_000, NINE.date(), "schedule")
    assert await run(steps, schedule, NINE + timedelta(hours=5)) is None
    assert (await steps.balances())["wallet"] == 50_000


async def test_a_day_without_a_settlement_is_used_up_too(steps: SettlementSteps) -> None:
    schedule = await save(steps, minimum=1_000_001)
    assert await run(steps, schedule) is RunOutcome.TOO_LITTLE
    assert await run(steps, await save(steps), NINE + timedelta(hours=1)) is None
    assert await run(steps, await save(steps), NINE + timedelta(days=1)) is RunOutcome.SETTLED


async def test_what_is_owed_is_not_settled(steps: SettlementSteps) -> None:
    await steps.owe(300_000)
    assert await run(steps, await save(steps, keep=50_000)) is RunOutcome.SETTLED
    assert (await made(steps))[0].amount == 650_000


async def test_a_stopped_account_and_a_deactivated_merchant_settle_nothing(steps: SettlementSteps) -> None:
    schedule = await save(steps)
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = false")
    assert await run(steps, schedule) is RunOutcome.INACTIVE
    async with steps.database.begin() as tx:
        await tx.execute("UPDATE merchants SET is_active = true")
    await steps.stop(steps.account)
    assert await run(steps, schedule, NINE + timedelta(days=1)) is RunOutcome.NO_ACCOUNT
    assert await made(steps) == []


async def _hold(tx: Tx) -> None:
    await installation.set_hold(tx, held_by="neema", reason="")


async def _fence(tx: Tx) -> None:
    await installation.begin_epoch(tx, "a test")


async def _unreleased(tx: Tx) -> None:
    await installation.begin_epoch(tx, "a test")
    await installation.end_fence(tx)


@pytest.mark.parametrize("close", [_hold, _fence, _unreleased])
async def test_nothing_runs_while_it_must_not_and_the_day_is_not_used_up(steps: SettlementSteps, close: Any) -> None:
    schedule = await save(steps)
    async with steps.database.begin() as tx:
        await close(tx)
    assert await run(steps, schedule) is None
    async with steps.database.begin() as tx:
        await installation.end_hold(tx)
        await installation.end_fence(tx)
        await coverage.insert(tx, "pac_1", "bst_1", first=NINE.date(), last=NINE.date() + timedelta(days=9))
        await tx.execute("INSERT INTO settlement_releases SELECT epoch, now() FROM installation ON CONFLICT DO NOTHING")
        assert await releases.is_released(tx)
    assert await run(steps, schedule) is RunOutcome.SETTLED


async def test_after_a_restore_the_day_that_the_bank_has_paid_is_not_settled_again(steps: SettlementSteps) -> None:
    schedule = await save(steps)
    await run(steps, schedule)
    [first] = await made(steps)
    async with steps.database.begin() as tx:
        await tx.execute("DELETE FROM settlement_runs")
        await tx.execute("DELETE FROM moves WHERE cause_id = $1", first.id)
        await tx.execute("DELETE FROM settlements WHERE id = $1", first.id)
        await tx.execute("UPDATE wallets SET available = available + 1000000, statement_lines = statement_lines - 1")
    await restore(steps)
    found = await adopted(steps, first.key, 1_000_000)
    async with steps.database.begin() as tx:
        await releases.insert(tx, now=steps.service.clock())
    assert await run(steps, schedule) is RunOutcome.SETTLED
    assert [(each.id, each.status) for each in await made(steps)] == [(found.id, SettlementStatus.COMPLETED)]
    assert (await steps.balances())["wallet"] == 0


async def test_the_worker_runs_what_is_due_and_nothing_twice(steps: SettlementSteps) -> None:
    await save(steps)
    scheduler = SettlementScheduler(steps.database, steps.service.settings, nine)
    async with steps.database.read() as connection:
        assert len(await find_due(connection, now=NINE)) == 1
    await scheduler.step()
    await scheduler.step()
    assert len(await made(steps)) == 1
    async with steps.database.read() as connection:
        assert await find_due(connection, now=NINE) == []
        [ran] = await schedules.find_runs(connection, steps.merchant_id, limit=9)
    assert (ran.outcome, ran.settlement_id) == (RunOutcome.SETTLED, (await made(steps))[0].id)


async def test_what_stays_by_the_schedule_stays_when_no_amount_is_named(steps: SettlementSteps) -> None:
    await save(steps, keep=300_000)
    assert (await steps.requested(None)).amount == 700_000
    with pytest.raises(NothingToSettle):
        await steps.requested(None)
    assert (await steps.requested(100_000)).amount == 100_000, "an amount that is named may take it"
    await save(steps, keep=150_000, every=Every.OFF)
    assert (await steps.requested(None)).amount == 50_000, "also where nothing is sent by itself"


async def test_an_error_about_one_merchant_does_not_end_the_look_at_those_after_it(steps: SettlementSteps) -> None:
    other = await make_merchant(steps.database, wallet=500_000)
    await add_account(steps.database, other.id, now=NINE - timedelta(days=30))
    first, last = sorted([steps.merchant_id, other.id])
    schedule = await save(steps)
    async with steps.database.begin() as tx:
        await schedules.save(tx, msgspec.structs.replace(schedule, merchant_id=other.id))
        await tx.execute("DELETE FROM wallets WHERE merchant_id = $1", first)  # a damage
    await SettlementScheduler(steps.database, steps.service.settings, nine).step()
    async with steps.database.read() as connection:
        assert len(await schedules.find_runs(connection, last, limit=9)) == 1
        assert await schedules.find_runs(connection, first, limit=9) == [], "it is tried again"


async def test_the_worker_asks_the_database_which_day_it_is(steps: SettlementSteps, database_url: str) -> None:
    """A host whose clock is a day ahead would settle twice. Here the database's clock is ahead of the host's, and the
    host's day was settled."""
    noon = NINE + timedelta(days=1, hours=3)
    await run(steps, await save(steps))
    async with clock_at(noon, steps.database, database_url) as ahead:
        await SettlementScheduler(ahead, steps.service.settings).step()
        async with ahead.read() as connection:
            ran = await schedules.find_runs(connection, steps.merchant_id, limit=9)
    assert {each.day: each.outcome for each in ran} == {
        clock.day_of(NINE): RunOutcome.SETTLED,
        clock.day_of(noon): RunOutcome.TOO_LITTLE,
    }


@asynccontextmanager
async def clock_at(moment: datetime, database: Database, url: str) -> AsyncIterator[Database]:
    """The same database, as if its server's clock said this."""
    async with database.begin() as tx:
        await tx.execute("CREATE SCHEMA ahead")
        await tx.execute(
            f"""
            CREATE FUNCTION ahead.clock_timestamp() RETURNS timestamptz LANGUAGE sql
                AS $$ SELECT '{moment.isoformat()}'::timestamptz $$
            """
        )
    try:
        path = "ahead,pg_catalog,public"
        async with Database.opened(f"{url}{'&' if '?' in url else '?'}search_path={path}", size=2) as ahead:
            yield ahead
    finally:
        async with database.begin() as tx:
            await tx.execute("DROP SCHEMA ahead CASCADE")


async def test_a_schedule_of_before_a_restore_runs_when_its_owner_has_saved_it_again(steps: SettlementSteps) -> None:
    """Perhaps it was switched off since the backup."""
    schedule = await save(steps)
    await restore(steps)
    async with steps.database.begin() as tx:
        await releases.insert(tx, now=steps.service.clock())
        assert (await find_due(tx, now=NINE), await schedules.find_paused(tx)) == ([], [steps.merchant_id])
        owner = Actor("asha@duka.example", "10.0.0.1")
        saved_at = steps.service.clock()
        await set_schedule(tx, msgspec.structs.replace(schedule, changed_at=saved_at), actor=owner)
    async with steps.database.read() as connection:
        assert len(await find_due(connection, now=saved_at + timedelta(days=2))) == 1
        assert await schedules.find_paused(connection) == []
