"""On which days a schedule runs, by a calendar that was written by hand."""

from datetime import date, datetime, timedelta

import pytest

from malipo import clock
from malipo.settlement.schedule import Every, Schedule, is_due, last_due, schedule_of
from malipo.validation.fields import Fields

LONG_AGO = datetime(2026, 1, 1, 12, tzinfo=clock.ZONE)


def schedule(every: Every, on_day: int | None = None, *, changed_at: datetime = LONG_AGO) -> Schedule:
    return Schedule(
        merchant_id="mer_1",
        every=every,
        on_day=on_day,
        minimum=1000,
        keep=0,
        changed_at=changed_at,
        changed_by="asha@duka.example",
    )


# 2026-11-19 is a Thursday.
DUE = [
    (Every.DAY, None, "2026-11-19", "2026-11-19"),
    (Every.WEEK, 4, "2026-11-19", "2026-11-19"),
    (Every.WEEK, 5, "2026-11-19", "2026-11-13"),
    (Every.WEEK, 1, "2026-11-19", "2026-11-16"),
    (Every.WEEK, 7, "2026-11-22", "2026-11-22"),
    (Every.MONTH, 19, "2026-11-19", "2026-11-19"),
    (Every.MONTH, 20, "2026-11-19", "2026-10-20"),
    (Every.MONTH, 31, "2026-11-29", "2026-10-31"),
    (Every.MONTH, 31, "2026-11-30", "2026-11-30"),
    (Every.MONTH, 30, "2027-02-28", "2027-02-28"),
    (Every.MONTH, 29, "2028-02-28", "2028-01-29"),
    (Every.MONTH, 29, "2028-02-29", "2028-02-29"),
    (Every.MONTH, 31, "2027-01-01", "2026-12-31"),
    (Every.OFF, None, "2026-11-19", None),
]


@pytest.mark.parametrize(("every", "on_day", "day", "expected"), DUE)
def test_a_schedule_runs_on_its_days(every: Every, on_day: int | None, day: str, expected: str | None) -> None:
    found = last_due(schedule(every, on_day), date.fromisoformat(day))
    assert found == (None if expected is None else date.fromisoformat(expected))


NOW = datetime(2026, 11, 19, 9, tzinfo=clock.ZONE)
RUNS = [
    # at, the last run, when it was set, whether it runs
    (NOW, None, LONG_AGO, True),
    (NOW, date(2026, 11, 18), LONG_AGO, True),
    (NOW, date(2026, 11, 19), LONG_AGO, False),
    (NOW.replace(hour=5, minute=59), date(2026, 11, 18), LONG_AGO, False),
    (NOW.replace(hour=6, minute=0), date(2026, 11, 18), LONG_AGO, True),
    (NOW, None, NOW.replace(hour=1), False),
    (NOW, None, NOW - timedelta(days=1), True),
]


@pytest.mark.parametrize(("now", "last_run", "changed_at", "expected"), RUNS)
def test_it_runs_in_the_morning_once_and_not_on_the_day_on_which_it_was_set(
    now: datetime, last_run: date | None, changed_at: datetime, expected: bool
) -> None:
    assert is_due(schedule(Every.DAY, changed_at=changed_at), last_run, now) is expected


def test_a_day_that_was_missed_is_made_up_for_once() -> None:
    weekly = schedule(Every.WEEK, 1)  # on Monday, the 16th
    assert is_due(weekly, date(2026, 11, 9), NOW)
    assert not is_due(weekly, date(2026, 11, 19), NOW + timedelta(days=1))
    assert is_due(weekly, date(2026, 11, 19), NOW + timedelta(days=4))


@pytest.mark.parametrize("name", ["minimum", "keep"])
def test_amounts_that_nobody_has_are_mistakes(name: str) -> None:
    """The database could not store them."""
    fields = Fields({"every": "day", name: 10**30})
    schedule_of(fields, "mer_1", least=1000, by="asha@duka.example", now=LONG_AGO)
    assert [each.code for each in fields.mistakes] == ["amount_too_large"]
