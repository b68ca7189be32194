"""The days on which banks book, by a calendar of 2026 and 2027 that was written by hand."""

from datetime import date, timedelta

import pytest

from malipo.bank_evidence.banking_days import BankingDays, DayKind
from malipo.bank_evidence.public_holidays import easter_sunday, possible_festivals

CALENDAR = BankingDays()
DAY = timedelta(days=1)

# Weekdays that are no banking days; others in `UNCERTAIN`. Month: days.
HOLIDAYS = {
    2026: {1: (1, 12), 4: (3, 6, 7), 5: (1,), 7: (7,), 10: (14,), 12: (9, 25)},
    2027: {1: (1, 12), 3: (26, 29), 4: (7, 26), 7: (7,), 10: (14,), 12: (9,)},
}
# Weekdays around Eid al-Fitr (20 and 21 March 2026, 10 and 11 March 2027), Eid al-Adha (27 May, 17 May) and Maulid
# (26 August, 15 August).
UNCERTAIN = {
    2026: {3: (19, 20), 5: (26, 27, 28), 8: (25, 26, 27)},
    2027: {3: (9, 10, 11, 12), 5: (17, 18), 8: (16,)},
}


@pytest.mark.parametrize("year", [2026, 2027])
def test_each_weekday_of_a_year_is_what_the_calendar_by_hand_says(year: int) -> None:
    wrong = []
    for day in (date(year, 1, 1) + nth * DAY for nth in range(365)):
        expected = DayKind.BANKING
        if day.isoweekday() > 5 or day.day in HOLIDAYS[year].get(day.month, ()):
            expected = DayKind.NONE
        elif day.day in UNCERTAIN[year].get(day.month, ()):
            expected = DayKind.UNCERTAIN
        if CALENDAR.kind_of(day) is not expected:
            wrong.append(f"{day} {CALENDAR.kind_of(day)}")
    assert wrong == []


@pytest.mark.parametrize(
    "sunday",
    [
        date(2000, 4, 23), date(2008, 3, 23), date(2011, 4, 24), date(2018, 4, 1), date(2024, 3, 31), date(2025, 4, 20),
        date(2026, 4, 5), date(2027, 3, 28), date(2028, 4, 16), date(2029, 4, 1), date(2035, 3, 25), date(2038, 4, 25),
    ],
)  # fmt: skip
def test_easter_is_when_the_church_says(sunday: date) -> None:
    assert easter_sunday(sunday.year) == sunday
    assert [CALENDAR.kind_of(sunday + each * DAY) for each in (-2, 1)] == [DayKind.NONE, DayKind.NONE]


@pytest.mark.parametrize(
    "first",
    [
        # Eid al-Fitr, Eid al-Adha and Maulid, as Tanzania had them.
        date(2018, 6, 15), date(2020, 5, 24), date(2024, 4, 10),
        date(2013, 10, 15), date(2015, 9, 23), date(2016, 9, 13), date(2019, 8, 13), date(2020, 7, 31),
        date(2013, 1, 24), date(2015, 1, 3), date(2015, 12, 24), date(2020, 10, 29), date(2025, 9, 4),
    ],
)  # fmt: skip
def test_the_festivals_of_past_years_are_within_the_days_that_may_be_one(first: date) -> None:
    assert any(first in days for days in possible_festivals(first))


# A Friday; the days after it are written by hand.
FRIDAY, SATURDAY, SUNDAY, MONDAY, WEDNESDAY = (date(2027, 1, day) for day in (15, 16, 17, 18, 20))
BEFORE_EASTER = date(2026, 4, 2)


@pytest.mark.parametrize(
    ("day", "count", "expected"),
    [
        (FRIDAY, 0, FRIDAY),
        (FRIDAY, 1, MONDAY),
        (FRIDAY, 3, WEDNESDAY),
        (SATURDAY, 1, MONDAY),
        (SUNDAY, 3, WEDNESDAY),
        (MONDAY, 2, WEDNESDAY),
        (BEFORE_EASTER, 1, date(2026, 4, 8)),
        (BEFORE_EASTER, 3, date(2026, 4, 10)),
        (date(2026, 12, 24), 1, date(2026, 12, 28)),
        (date(2026, 3, 18), 1, date(2026, 3, 23)),  # Eid
        (date(2027, 3, 8), 3, date(2027, 3, 17)),  # Eid takes four days of the week, none of them certainly
    ],
)
def test_so_many_banking_days_after_a_day(day: date, count: int, expected: date) -> None:
    assert CALENDAR.after(day, count) == expected


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (FRIDAY, FRIDAY),
        (SATURDAY, MONDAY),
        (SUNDAY, MONDAY),
        (MONDAY, MONDAY),
        (date(2026, 4, 3), date(2026, 4, 8)),
        (date(2026, 5, 26), date(2026, 5, 29)),  # Eid al-Adha, perhaps
        (date(2027, 12, 25), date(2027, 12, 27)),
    ],
)
def test_the_next_banking_day_is_this_one_or_the_first_after_it(day: date, expected: date) -> None:
    assert CALENDAR.next(day) == expected


@pytest.mark.parametrize(
    ("given", "booked"),
    [
        (FRIDAY, WEDNESDAY),
        (SATURDAY, date(2027, 1, 21)),  # The bank takes it on Monday.
        (MONDAY, date(2027, 1, 21)),
        (BEFORE_EASTER, date(2026, 4, 10)),
        (date(2026, 4, 3), date(2026, 4, 13)),
    ],
)
def test_a_file_is_booked_within_three_days_from_when_the_bank_takes_it(given: date, booked: date) -> None:
    assert CALENDAR.booked_by(given) == booked
    assert CALENDAR.last_booked(booked) >= given > CALENDAR.last_booked(booked - DAY)


@pytest.mark.parametrize(
    ("last", "first", "certainly", "perhaps"),
    [
        (FRIDAY, SATURDAY, True, True),
        (FRIDAY, MONDAY, True, True),
        (FRIDAY, date(2027, 1, 19), False, False),
        (FRIDAY, FRIDAY, False, False),  # They overlap.
        (MONDAY, FRIDAY, False, False),
        (BEFORE_EASTER, date(2026, 4, 8), True, True),
        (BEFORE_EASTER, date(2026, 4, 9), False, False),
        (date(2026, 12, 24), date(2026, 12, 28), True, True),
        # Eid al-Adha is one of the three days.
        (date(2026, 5, 25), date(2026, 5, 27), False, True),
        (date(2026, 5, 26), date(2026, 5, 28), False, True),
        (date(2026, 5, 25), date(2026, 5, 28), False, False),
        # Eid al-Fitr is two days in a row of the four.
        (date(2027, 3, 8), date(2027, 3, 11), False, True),
        (date(2027, 3, 10), date(2027, 3, 15), False, True),
        (date(2027, 3, 8), date(2027, 3, 12), False, False),
    ],
)
def test_whether_a_statement_is_the_next_after_another(last: date, first: date, certainly: bool, perhaps: bool) -> None:
    assert CALENDAR.follows(last, first) is certainly
    assert CALENDAR.may_follow(last, first) is perhaps


def test_a_day_that_the_government_has_declared_is_none() -> None:
    """The general election of 2025 was on a Wednesday."""
    election = date(2025, 10, 29)
    assert CALENDAR.kind_of(election) is DayKind.BANKING
    declared = BankingDays([election])
    assert declared.kind_of(election) is DayKind.NONE
    assert CALENDAR.booked_by(election - DAY) == date(2025, 10, 31)
    assert declared.booked_by(election - DAY) == date(2025, 11, 3)
    assert declared.follows(election - DAY, election + DAY)
    assert not CALENDAR.follows(election - DAY, election + DAY)


def test_who_knows_when_eid_was_declares_it() -> None:
    friday = date(2026, 3, 20)
    declared = BankingDays([friday])
    assert not CALENDAR.follows(friday - DAY, friday + 3 * DAY)
    assert declared.follows(friday - DAY, friday + 3 * DAY)
    assert not declared.follows(friday - 2 * DAY, friday + 3 * DAY), "nobody says that Thursday was one"
