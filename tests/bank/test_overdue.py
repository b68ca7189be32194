"""The gauges of what the bank owes an answer to."""

from datetime import timedelta

import pytest

from malipo import clock
from malipo.approvals import operator_limits
from malipo.bank_evidence.banking_days import BankingDays
from malipo.monitoring import gauges_store
from malipo.settings import Settings
from tests.bank.bank_desk import BankDesk
from tests.operators.booking_steps import ASHA

DAY = timedelta(days=1)


async def gauges(desk: BankDesk) -> dict[str, float]:
    async with desk.database.snapshot() as connection:
        return await gauges_store.find_bank(connection)


async def test_what_was_sent_weeks_ago_is_overdue_until_the_statement_comes(desk: BankDesk) -> None:
    monday = desk.today
    file, _ = await desk.approved(100_000)
    await desk.hand_in(file.id)
    assert (await gauges(desk))["settlements_overdue"] == 1
    desk.move(-500, "WHAT")
    desk.at = desk.now + DAY
    await desk.bring(monday)
    found = await gauges(desk)
    assert (found["settlements_overdue"], found["bank_exceptions"]) == (0, 1)
    assert found["bank_exceptions_oldest_seconds"] > 20 * 86_400


@pytest.mark.parametrize("declared", [0, 2])
async def test_it_is_overdue_once_a_bank_has_booked_whatever_it_was_given_that_day(
    desk: BankDesk, declared: int
) -> None:
    await desk.approved(100_000)
    async with desk.database.read() as connection:
        now = await connection.fetchval("SELECT now()")
    today = clock.day_of(now)
    closed = tuple(today - nth * DAY for nth in range(declared))
    async with desk.database.begin() as tx:
        await operator_limits.note(tx, Settings(bank_holidays=closed), actor=ASHA, now=now)
    found, expected = [], []
    for days in range(12):
        async with desk.database.begin() as tx:
            await tx.execute("UPDATE settlements SET sent_at = $1", now - days * DAY)
        found.append((await gauges(desk))["settlements_overdue"] == 1)
        expected.append(BankingDays(closed).booked_by(today - days * DAY) < today)
    assert found == expected
    assert not found[3]


async def test_what_nobody_gathers_is_counted_until_a_file_with_it_is_approved(desk: BankDesk) -> None:
    """Of a bank account that was stopped, or of a wallet that owes, no file is made: nobody else would notice."""
    settlement = await desk.requested(100_000)
    assert (await gauges(desk))["settlements_not_sent"] == 1, "four weeks ago"
    gathered = await desk.gather()
    assert (await gauges(desk))["settlements_not_sent"] == 1
    await desk.approve(gathered.file.id)
    assert (await gauges(desk))["settlements_not_sent"] == 0
    async with desk.database.begin() as tx:
        await tx.execute("UPDATE settlements SET created_at = now()")
    assert (await gauges(desk))["settlements_not_sent"] == 0
    assert await desk.statuses(settlement) == ["SENT"]
    fresh = await desk.requested(1_000)
    async with desk.database.begin() as tx:
        await tx.execute("UPDATE settlements SET created_at = now() WHERE id = $1", fresh.id)
    assert (await gauges(desk))["settlements_not_sent"] == 0
