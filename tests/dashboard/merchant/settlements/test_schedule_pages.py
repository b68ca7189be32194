"""/dashboard/settlements/schedule: an owner has the balance sent by itself."""

import pytest

from malipo.settlement.schedule import Every, Schedule
from malipo.settlement.store import schedules
from tests.dashboard.merchant.settlements.settlement_pages import PATH, SettlementPages
from tests.dashboard.merchant.settlements.settlement_pages import desk as desk

SCHEDULE = f"{PATH}/schedule"


async def stored(desk: SettlementPages) -> Schedule | None:
    async with desk.database.read() as connection:
        return await schedules.find(connection, desk.merchant_id)


async def set_(desk: SettlementPages, **fields: str) -> int:
    typed = {"every": "off", "weekDay": "1", "monthDay": "", "minimum": "", "keep": ""}
    return (await desk.surfer.post(SCHEDULE, typed | fields)).status


async def test_every_week_with_a_minimum_and_what_stays(desk: SettlementPages) -> None:
    assert await set_(desk, every="week", weekDay="5", minimum="50,000", keep="20,000") == 303

    found = await stored(desk)
    assert found is not None
    assert (found.every, found.on_day, found.minimum, found.keep) == (Every.WEEK, 5, 50_000, 20_000)
    seen = await desk.surfer.get(PATH)
    assert "Every week, on Friday" in seen.words
    assert "If it is at least TZS 50,000. TZS 20,000 stays in the wallet." in seen.words
    form = (await desk.surfer.get(SCHEDULE)).text
    assert 'value="week" checked' in form
    assert '<option value="5" selected>' in form


@pytest.mark.parametrize(("every", "day", "on_day"), [("day", "", None), ("month", "31", 31), ("off", "", None)])
async def test_each_kind_is_stored_with_its_day(
    desk: SettlementPages, every: str, day: str, on_day: int | None
) -> None:
    assert await set_(desk, every=every, monthDay=day) == 303

    found = await stored(desk)
    assert found is not None
    assert (found.every, found.on_day) == (every, on_day)


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"every": "hour"}, "Choose how often."),
        ({"every": ""}, "Please fill this in."),
        ({"every": "month"}, "Type a day of the month, from 1 to 31."),
        ({"every": "month", "monthDay": "32"}, "Type a day of the month, from 1 to 31."),
        ({"every": "day", "minimum": "499"}, "The least is TZS 500."),
        ({"every": "day", "keep": "some"}, "Type a whole number of shillings"),
    ],
)
async def test_a_mistake_is_said_at_its_field(desk: SettlementPages, fields: dict[str, str], said: str) -> None:
    typed = {"every": "off", "weekDay": "1", "monthDay": "", "minimum": "", "keep": ""}
    seen = await desk.surfer.post(SCHEDULE, typed | fields)

    assert (seen.status, said in seen.words) == (400, True), seen.words
    assert await stored(desk) is None


async def test_an_owner_who_was_just_reset_by_another_sets_none(desk: SettlementPages) -> None:
    async with desk.database.begin() as tx:
        await tx.execute(
            """
            INSERT INTO credential_resets (id, merchant_id, email, credential, reset_by, reset_at)
            VALUES ('crs_' || $1, $1, $2, 'password', 'juma@example.com', now())
            """,
            desk.merchant_id,
            desk.owner.email,
        )
    assert await set_(desk, every="day") == 403
    assert await stored(desk) is None
