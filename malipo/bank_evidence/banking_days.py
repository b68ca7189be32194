"""Banking days: the days on which banks book: Monday to Friday. Pure.

Public holidays are not known here. So a day that was a holiday counts as a day that statements must cover, which is the
reading that cannot lose money.
"""

from datetime import date, timedelta

BOOKED_WITHIN = 3  # So many business days after it was approved, a file is booked, or it was not taken.

_SATURDAY = 5
_DAY = timedelta(days=1)


def is_banking_day(day: date) -> bool:
    return day.weekday() < _SATURDAY


def next_banking_day(day: date) -> date:
    """This day, or the first business day after it."""
    while not is_banking_day(day):
        day += _DAY
    return day


def after(day: date, count: int) -> date:
    """The business day that comes so many after this day."""
    for _ in range(count):
        day = next_banking_day(day + _DAY)
    return day


def any_between(first: date, last: date) -> bool:
    """Whether a business day lies in these days, both included."""
    return first <= last and next_banking_day(first) <= last
