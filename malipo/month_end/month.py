"""A month of the business calendar, in Dar es Salaam. Pure."""

import re
from datetime import date, datetime, timedelta

import msgspec

from malipo import clock
from malipo.errors import Code, Invalid
from malipo.reconciliation.close.business_day import begin_of, end_of

_TYPED = re.compile(r"(20\d\d)-(0[1-9]|1[0-2])")


class MonthRefusal(Code):
    NO_MONTH = "month_invalid"


class Month(msgspec.Struct, frozen=True, order=True):
    year: int
    number: int  # from 1

    def __str__(self) -> str:
        return f"{self.year}-{self.number:02}"

    @property
    def first(self) -> date:
        return date(self.year, self.number, 1)

    @property
    def last(self) -> date:
        return self.next.first - timedelta(days=1)

    @property
    def next(self) -> "Month":
        return Month(self.year + self.number // 12, self.number % 12 + 1)

    @property
    def before(self) -> "Month":
        return month_of(self.first - timedelta(days=1))

    @property
    def days(self) -> list[date]:
        return [self.first + timedelta(days=each) for each in range((self.last - self.first).days + 1)]

    @property
    def begins(self) -> datetime:
        return begin_of(self.first)

    @property
    def ends(self) -> datetime:
        return end_of(self.last)


def month_of(day: date) -> Month:
    return Month(day.year, day.month)


def month_before(now: datetime) -> Month:
    """The last month that is over."""
    return month_of(clock.day_of(now)).before


def parse_month(text: str) -> Month:
    """`2026-10`."""
    if (typed := _TYPED.fullmatch(text.strip())) is None:
        raise Invalid(code=MonthRefusal.NO_MONTH, text=text)
    return Month(int(typed[1]), int(typed[2]))
