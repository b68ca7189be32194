"""A day in Dar es Salaam: when it begins and ends, and when it can be closed. Pure."""

from datetime import UTC, date, datetime, time, timedelta

from malipo import clock
from malipo.errors import Code, Invalid

# A payment that ends a moment before midnight is written a moment after it, and waits while the database is away.
SETTLING_TIME = timedelta(minutes=15)


class DayRefusal(Code):
    NO_DAY = "day_invalid"


def begin_of(day: date) -> datetime:
    return datetime.combine(day, time(), clock.ZONE).astimezone(UTC)


def end_of(day: date) -> datetime:
    return begin_of(day + timedelta(days=1))


def can_be_closed_at(day: date) -> datetime:
    return end_of(day) + SETTLING_TIME


def parse_day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise Invalid(code=DayRefusal.NO_DAY, text=text) from None
