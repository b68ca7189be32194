"""The public holidays of Tanzania. Pure.

Those of the calendar and of Easter are certain. Those of Islam begin when the moon has been seen: the arithmetic
calendar says the day, give or take one. What the government declares besides (elections, mourning) is a setting.
`docs/decisions/0061-a-table-of-holidays.md` says why this is no library.
"""

from datetime import date, timedelta
from functools import lru_cache

_DAY = timedelta(days=1)

# Month and day, by the Public Holidays Act. Since 2022 none moves to the Monday after a weekend.
_FIXED = frozenset(
    [
        (1, 1),  # New Year
        (1, 12),  # Zanzibar Revolution
        (4, 7),  # Karume
        (4, 26),  # Union
        (5, 1),  # Workers
        (7, 7),  # Saba Saba
        (8, 8),  # Nane Nane
        (10, 14),  # Nyerere
        (12, 9),  # Independence
        (12, 25),  # Christmas
        (12, 26),  # Boxing Day
    ]
)
# Month and day of the Islamic calendar, and how many days it lasts.
_BY_THE_MOON = ((3, 12, 1), (10, 1, 2), (12, 10, 1))  # Maulid, Eid al-Fitr, Eid al-Adha
_FROM_ESTIMATE = (-1, 0, 1)  # The days on which it may begin, from the day that was calculated.
_ISLAMIC_EPOCH = date(622, 7, 19).toordinal()  # 1 Muharram of the year 1, in the calendar of today


def is_fixed(day: date) -> bool:
    """Whether the day is a public holiday that everybody knows years before."""
    return (day.month, day.day) in _FIXED or day - easter_sunday(day.year) in (-2 * _DAY, _DAY)


def possible_festivals(day: date) -> tuple[frozenset[date], ...]:
    """Of the festival of Islam that may be on this day: all the days that it has, for each day on which it may begin.
    Nothing: none is near."""
    year = (day.toordinal() - _ISLAMIC_EPOCH) * 30 // 10_631 + 1
    for each in (year - 1, year, year + 1):
        for beginnings in _festivals(each):
            if any(day in days for days in beginnings):
                return beginnings
    return ()


@lru_cache(maxsize=64)
def _festivals(islamic_year: int) -> tuple[tuple[frozenset[date], ...], ...]:
    return tuple(
        tuple(
            frozenset(_gregorian(islamic_year, month, day) + (late + nth) * _DAY for nth in range(count))
            for late in _FROM_ESTIMATE
        )
        for month, day, count in _BY_THE_MOON
    )


def _gregorian(year: int, month: int, day: int) -> date:
    """A day of the arithmetic Islamic calendar, in which months have 30 and 29 days in turn, and 11 years of 30 one
    day more."""
    days = (year - 1) * 354 + (3 + 11 * year) // 30 + (59 * (month - 1) + 1) // 2 + day - 1
    return date.fromordinal(_ISLAMIC_EPOCH + days)


@lru_cache(maxsize=64)
def easter_sunday(year: int) -> date:
    """By the rule of Meeus, Jones and Butcher."""
    golden, century, rest = year % 19, year // 100, year % 100
    leap = (century - (century + 8) // 25 + 1) // 3
    moon = (19 * golden + century - century // 4 - leap + 15) % 30
    to_sunday = (32 + 2 * (century % 4) + 2 * (rest // 4) - moon - rest % 4) % 7
    late = (golden + 11 * moon + 22 * to_sunday) // 451
    month, day = divmod(moon + to_sunday - 7 * late + 114, 31)
    return date(year, month, day + 1)
