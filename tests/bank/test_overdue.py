"""The gauges of what the bank owes an answer to."""

from datetime import timedelta

from malipo.monitoring import gauges_store
from tests.bank.bank_desk import BankDesk

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


async def test_three_business_days_are_not_overdue_and_four_are(desk: BankDesk) -> None:
    await desk.approved(100_000)
    found = []
    for days in range(9):
        async with desk.database.begin() as tx:
            await tx.execute("UPDATE settlements SET sent_at = now() - make_interval(days => $1)", days)
        found.append(int((await gauges(desk))["settlements_overdue"]))
    # A weekend lies somewhere in it: after three days at the earliest, and after six at the latest.
    assert found == sorted(found)
    assert found.index(1) in (4, 5, 6)
