"""Days that somebody has typed into a form or an address: days of Dar es Salaam. Pure."""

from datetime import date, datetime, time

from malipo.clock import ZONE
from malipo.validation.fields import Fields

_YEARS = range(2000, 2100)


def first_and_last(fields: Fields) -> tuple[date | None, date | None]:
    """The fields `from` and `to`. None: left empty, or wrong, which the fields say."""
    first, last = _day(fields, "from"), _day(fields, "to")
    if first is not None and last is not None and first > last:
        fields.wrong("to", "range_invalid", "from is after to.")
    return first, last


def begin_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time.min, ZONE) if day is not None else None


def end_of(day: date | None) -> datetime | None:
    return datetime.combine(day, time.max, ZONE) if day is not None else None


def _day(fields: Fields, name: str) -> date | None:
    text = fields.text(name, most=10)
    try:
        day = date.fromisoformat(text) if text else None
    except ValueError:
        day = date.min
    if day is not None and day.year not in _YEARS:
        fields.wrong(name, "date_invalid", f"{name} must be a date, such as 2026-11-15.")
        return None
    return day
