"""Public holidays: nothing is sent twice because a bank was closed, and nobody waits for a statement of such a day.

Easter of 2026: Good Friday is 3 April, Easter Monday the 6th, Karume Day the 7th, and then banks book again. The moon
decided which days of March were Eid: two of 19 to 22, of which 19 and 20 are no weekend.
"""

from datetime import date, timedelta

import pytest

from malipo import clock
from malipo.approvals import operator_limits
from malipo.bank.import_statement import write_all_coverage
from malipo.errors import Conflict
from malipo.month_end import checklist
from malipo.month_end.month import Month
from malipo.restore.store import installation
from malipo.settings import Settings
from malipo.settlement import release
from tests.bank.bank_desk import BankDesk
from tests.bank.bank_desk import desk as desk_of_today
from tests.operators.booking_steps import ASHA, JUMA
from tests.reconciliation.close.books import at

__all__ = ["desk_of_today"]

THURSDAY, GOOD_FRIDAY, KARUME = (date(2026, 4, day) for day in (2, 3, 7))
THIRD = date(2026, 4, 10)  # of the banking days after Thursday: 8, 9, 10
DAY = timedelta(days=1)


@pytest.fixture
async def desk(desk_of_today: BankDesk) -> BankDesk:
    """On the Thursday before Easter, with an account of February."""
    async with desk_of_today.database.begin() as tx:
        await tx.execute("UPDATE bank_accounts SET usable_from = created_at - interval '2 years'")
        await tx.execute("UPDATE payer_accounts SET added_at = '2026-02-01'")
    desk_of_today.at = at(THURSDAY, "10:00")
    return desk_of_today


async def bring_each(desk: BankDesk, *days: date) -> None:
    """A statement of each of these days, imported on the next."""
    for day in days:
        desk.at = at(day + DAY, "07:00")
        await desk.bring(day)


async def test_a_file_before_easter_is_void_once_three_days_have_passed_on_which_banks_book(desk: BankDesk) -> None:
    """The bank books it on the 8th. If it was void on the 8th in the morning, its settlements would go out twice."""
    file, _ = await desk.approved(100_000)
    await desk.download(file.id)
    desk.at = at(KARUME + DAY, "07:00")
    await desk.bring(THURSDAY, KARUME)
    with pytest.raises(Conflict, match="payout_file_not_covered"):
        await desk.void(file.id)
    await bring_each(desk, KARUME + DAY, KARUME + 2 * DAY)
    with pytest.raises(Conflict, match="payout_file_not_covered"):
        await desk.void(file.id)
    await bring_each(desk, THIRD)
    await desk.void(file.id)
    await desk.approve(file.id, JUMA)


async def test_daily_statements_that_leave_the_holidays_out_cover_them(desk: BankDesk) -> None:
    file, _ = await desk.approved(100_000)
    await bring_each(desk, THURSDAY, *(KARUME + each * DAY for each in (1, 2, 3)))
    await desk.void(file.id)
    await desk.approve(file.id, JUMA)


async def test_a_day_that_may_have_been_eid_is_covered_by_a_statement_or_once_it_is_declared(desk: BankDesk) -> None:
    """If it was no holiday, a file and the money that was brought for it leave the balance as it was."""
    wednesday, eid, monday = date(2026, 3, 18), date(2026, 3, 20), date(2026, 3, 23)
    desk.at = at(wednesday, "10:00")
    file, _ = await desk.approved(100_000)
    await bring_each(desk, wednesday, eid - DAY, *(monday + each * DAY for each in range(3)))
    with pytest.raises(Conflict, match="payout_file_not_covered"):
        await desk.void(file.id)
    async with desk.database.begin() as tx:
        await operator_limits.note(tx, Settings(bank_holidays=(eid,)), actor=ASHA, now=desk.now)
    await desk.void(file.id)
    await desk.approve(file.id, JUMA)


async def test_a_declared_holiday_lengthens_the_wait(desk: BankDesk) -> None:
    declared = KARUME + DAY
    async with desk.database.begin() as tx:
        await operator_limits.note(tx, Settings(bank_holidays=(declared,)), actor=ASHA, now=desk.now)
    file, _ = await desk.approved(100_000)
    await bring_each(desk, THURSDAY, KARUME + 2 * DAY, THIRD)
    with pytest.raises(Conflict, match="payout_file_not_covered"):
        await desk.void(file.id)
    await bring_each(desk, THIRD + 3 * DAY)
    await desk.void(file.id)


async def _restored(desk: BankDesk, day: date) -> None:
    async with desk.database.begin() as tx:
        await installation.begin_epoch(tx, "a test")
        await installation.end_fence(tx)
        await tx.execute("UPDATE installation SET epoch_began_at = $1", at(day, "10:00"))


async def _is_covered(desk: BankDesk) -> bool:
    async with desk.database.read() as connection:
        return await release.why_not_covered(connection) is None


async def test_after_a_restore_settlements_wait_until_a_lost_file_of_before_easter_is_booked(desk: BankDesk) -> None:
    await _restored(desk, THURSDAY)
    async with desk.database.read() as connection:
        assert (await release.find_lost_time(connection))[1] == THIRD
    desk.at = at(KARUME + DAY, "07:00")
    await desk.bring(date(2026, 2, 1), KARUME)
    assert not await _is_covered(desk)
    await bring_each(desk, KARUME + DAY, KARUME + 2 * DAY)
    assert not await _is_covered(desk)
    await bring_each(desk, THIRD)
    assert await _is_covered(desk), "the statement of the 8th continues the one of before"


async def test_after_a_restore_a_day_that_is_declared_at_the_next_start_is_covered(desk: BankDesk) -> None:
    """Thursday 26 March was a day of mourning."""
    mourning = date(2026, 3, 26)
    await _restored(desk, mourning - 2 * DAY)
    await bring_each(desk, mourning + 4 * DAY)
    desk.at = at(mourning + 5 * DAY, "07:00")
    await desk.bring(date(2026, 2, 1), mourning - DAY)
    await desk.bring(mourning + DAY)
    assert not await _is_covered(desk)
    settings, schema = Settings(bank_holidays=(mourning,)), desk.service.health.monitor.schema
    await desk.service.health.monitor.look()
    await operator_limits.note_at_start(desk.database, settings, schema, write_all_coverage, clock=clock.now)
    assert await _is_covered(desk)


async def test_the_date_of_payment_is_a_day_on_which_banks_book(desk: BankDesk) -> None:
    desk.at = at(GOOD_FRIDAY, "10:00")
    file, _ = await desk.approved(100_000)
    assert file.pays_on == KARUME + DAY
    assert f"<Dt>{KARUME + DAY}</Dt>".encode() in await desk.download(file.id)
    # The bank takes it on the 8th, and has three more days.
    await bring_each(desk, *(KARUME + each * DAY for each in (-5, 1, 2, 3)))
    with pytest.raises(Conflict, match="payout_file_not_covered"):
        await desk.void(file.id)
    await bring_each(desk, date(2026, 4, 13))
    await desk.void(file.id)


async def _asked_for(desk: BankDesk, month: Month) -> str:
    """The days of the month for which statements of the bank are missing."""
    async with desk.database.snapshot() as connection:
        found = await checklist.find(connection, month, now=desk.now)
    return next((str(each.values["days"]) for each in found.missing if each.code == "month_bank_statement"), "")


def _weekdays_from(first: date, last: date) -> list[date]:
    days = [first + nth * DAY for nth in range((last - first).days + 1)]
    return [day for day in days if day.weekday() < 5]


async def test_a_month_with_a_statement_of_each_day_on_which_the_bank_booked_is_complete(desk: BankDesk) -> None:
    """April 2026 has three holidays on weekdays, and May begins with one."""
    holidays = {GOOD_FRIDAY, date(2026, 4, 6), KARUME, date(2026, 5, 1)}
    days = [day for day in _weekdays_from(date(2026, 3, 30), date(2026, 5, 4)) if day not in holidays]
    left_out = date(2026, 4, 15)
    for day in days:
        if day != left_out:
            desk.move(1_000, f"FT{day}", day=day)
            await bring_each(desk, day)
    assert await _asked_for(desk, Month(2026, 4)) == str(left_out)
    await bring_each(desk, left_out)
    assert await _asked_for(desk, Month(2026, 4)) == ""


async def test_days_that_may_have_been_eid_may_be_left_out_but_no_more_than_eid_has(desk: BankDesk) -> None:
    """Thursday 19 and Friday 20 March can both have been Eid, or one of them, or, with the weekend, none."""
    for day in [day for day in _weekdays_from(date(2026, 2, 27), date(2026, 4, 1)) if day.day not in (19, 20)]:
        desk.move(1_000, f"FT{day}", day=day)
        await bring_each(desk, day)
    assert await _asked_for(desk, Month(2026, 3)) == ""


async def test_where_the_balance_does_not_go_on_a_day_that_may_be_a_holiday_is_asked_for(desk: BankDesk) -> None:
    desk.move(-500, "CHARGE", day=date(2026, 3, 20))
    for day in [day for day in _weekdays_from(date(2026, 2, 27), date(2026, 4, 1)) if day.day not in (19, 20)]:
        await bring_each(desk, day)
    assert await _asked_for(desk, Month(2026, 3)) == "2026-03-19 – 2026-03-20"
    await bring_each(desk, date(2026, 3, 20))
    assert await _asked_for(desk, Month(2026, 3)) == ""


async def test_settlements_of_before_easter_are_unanswered_only_after_the_days_on_which_banks_book(
    desk: BankDesk,
) -> None:
    await desk.approved(100_000)

    async def is_asked_for(day: date) -> bool:
        async with desk.database.snapshot() as connection:
            found = await checklist.find(connection, Month(2026, 4), now=at(day))
        return "month_unanswered" in {str(each.code) for each in found.missing}

    assert not await is_asked_for(THIRD)
    assert await is_asked_for(THIRD + DAY)
