"""Banking days: the days on which banks book. Pure.

A day is certainly a banking day, is certainly none (a weekend, a public holiday, one that the government has declared),
or may be one (a festival whose day the moon decides). Each is read in the way that loses no money. A wait counts only
days that are certain: on a holiday nothing is booked, so a file would be void, and its settlements in the next one,
before the bank has booked it. What is to show that the bank has not paid needs statements of every day that may be one.
"""

from collections.abc import Iterable, Iterator
from datetime import date, timedelta
from enum import StrEnum

from malipo.bank_evidence import public_holidays

BOOKED_WITHIN = 3  # So many banking days after it was handed in, a file is booked, or it was not taken.

_SATURDAY = 5
_DAY = timedelta(days=1)


class DayKind(StrEnum):
    BANKING = "banking"  # certainly
    UNCERTAIN = "uncertain"
    NONE = "none"  # certainly


class BankingDays:
    """The calendar of banks: ours, and the holidays that the government has declared."""

    def __init__(self, declared: Iterable[date] = ()) -> None:
        self._declared = frozenset(declared)

    def kind_of(self, day: date) -> DayKind:
        if day.weekday() >= _SATURDAY or day in self._declared or public_holidays.is_fixed(day):
            return DayKind.NONE
        return DayKind.UNCERTAIN if public_holidays.possible_festivals(day) else DayKind.BANKING

    def next(self, day: date) -> date:
        """This day, or the first certain banking day after it."""
        while self.kind_of(day) is not DayKind.BANKING:
            day += _DAY
        return day

    def after(self, day: date, count: int) -> date:
        """The certain banking day that comes so many after this day."""
        for _ in range(count):
            day = self.next(day + _DAY)
        return day

    def booked_by(self, day: date) -> date:
        """When what the bank was given on this day is booked at the latest. It takes nothing before its next banking
        day."""
        return self.after(self.next(day), BOOKED_WITHIN)

    def last_booked(self, day: date) -> date:
        """The last day of which the bank has booked by this day whatever it was given."""
        given = day
        while self.booked_by(given) > day:
            given -= _DAY
        return given

    def follows(self, last: date, first: date) -> bool:
        """Whether certainly no banking day lies between the two."""
        return last < first and all(self.kind_of(day) is DayKind.NONE for day in _between(last, first))

    def may_follow(self, last: date, first: date) -> bool:
        """Whether perhaps no banking day lies between the two. A festival lasts no longer than its days, so a day that
        is left over was a banking day."""
        uncertain = []
        for day in _between(last, first):
            kind = self.kind_of(day)
            if kind is DayKind.BANKING:
                return False
            if kind is DayKind.UNCERTAIN:
                uncertain.append(day)
        beginnings = public_holidays.possible_festivals(uncertain[0]) if uncertain else ()
        return last < first and (not uncertain or any(days.issuperset(uncertain) for days in beginnings))


def _between(last: date, first: date) -> Iterator[date]:
    """The days after the one and before the other."""
    day = last + _DAY
    while day < first:
        yield day
        day += _DAY
