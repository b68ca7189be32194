"""The days of a statement that somebody has chosen: days of Dar es Salaam. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from urllib.parse import urlencode

from malipo.clock import ZONE
from malipo.validation.fields import Fields

_YEARS = range(2000, 2100)


@dataclass(frozen=True, slots=True)
class StatementDays:
    """As they were typed, as days, and what is wrong with them."""

    typed: Mapping[str, str]
    first: date | None
    last: date | None
    fields: Fields

    @property
    def bounds(self) -> tuple[datetime | None, datetime | None]:
        """The first moment and the last one."""
        return (
            datetime.combine(self.first, time.min, ZONE) if self.first else None,
            datetime.combine(self.last, time.max, ZONE) if self.last else None,
        )

    def link(self, path: str, **more: object) -> str:
        values = dict(self.typed) | more
        return f"{path}?{urlencode(values)}" if values else path


def days_in(query: Mapping[str, str]) -> StatementDays:
    typed = {name: value for name in ("from", "to") if (value := query.get(name, "").strip())}
    fields = Fields(typed)
    first, last = (_day(fields, name) for name in ("from", "to"))
    if first is not None and last is not None and first > last:
        fields.wrong("to", "range_invalid", "from is after to.")
    return StatementDays(typed, first, last, fields)


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
