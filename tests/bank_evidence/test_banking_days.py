"""The days on which banks book."""

from datetime import date

import pytest

from malipo.bank_evidence import banking_days

# A Friday; the days after it are written by hand.
FRIDAY, SATURDAY, SUNDAY, MONDAY, WEDNESDAY = (date(2027, 1, day) for day in (15, 16, 17, 18, 20))


@pytest.mark.parametrize(
    ("day", "count", "expected"),
    [
        (FRIDAY, 0, FRIDAY),
        (FRIDAY, 1, MONDAY),
        (FRIDAY, 3, WEDNESDAY),
        (SATURDAY, 1, MONDAY),
        (SATURDAY, 3, WEDNESDAY),
        (SUNDAY, 3, WEDNESDAY),
        (MONDAY, 2, WEDNESDAY),
    ],
)
def test_so_many_business_days_after_a_day(day: date, count: int, expected: date) -> None:
    assert banking_days.after(day, count) == expected


@pytest.mark.parametrize(
    ("day", "expected"), [(FRIDAY, FRIDAY), (SATURDAY, MONDAY), (SUNDAY, MONDAY), (MONDAY, MONDAY)]
)
def test_the_next_business_day_is_this_one_or_the_first_after_it(day: date, expected: date) -> None:
    assert banking_days.next_banking_day(day) == expected


def test_whether_a_business_day_lies_in_some_days() -> None:
    assert banking_days.any_between(FRIDAY, SUNDAY)
    assert not banking_days.any_between(SATURDAY, SUNDAY)
    assert banking_days.any_between(SATURDAY, MONDAY)
    assert not banking_days.any_between(MONDAY, SUNDAY)
