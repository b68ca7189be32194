"""The days of a statement that somebody has chosen: days of Dar es Salaam. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from urllib.parse import urlencode

from malipo.dashboard.typed_days import begin_of, end_of, first_and_last
from malipo.validation.fields import Fields


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
        return begin_of(self.first), end_of(self.last)

    def link(self, path: str, **more: object) -> str:
        values = dict(self.typed) | more
        return f"{path}?{urlencode(values)}" if values else path


def days_in(query: Mapping[str, str]) -> StatementDays:
    typed = {name: value for name in ("from", "to") if (value := query.get(name, "").strip())}
    fields = Fields(typed)
    return StatementDays(typed, *first_and_last(fields), fields)
