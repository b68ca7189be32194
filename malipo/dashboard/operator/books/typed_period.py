"""The days that an operator has asked for; without any, the last month that is over. Pure."""

from collections.abc import Mapping
from datetime import datetime

from malipo.books.read_journal import Period
from malipo.dashboard.typed_days import first_and_last
from malipo.month_end.month import month_before
from malipo.validation.fields import Fields


class TypedPeriod:
    """What was typed, the days that it means, and what is wrong with it."""

    def __init__(self, query: Mapping[str, str], now: datetime) -> None:
        typed = {name: value for name in ("from", "to") if (value := query.get(name, "").strip())}
        self.fields = Fields(typed)
        first, last = first_and_last(self.fields)
        month = month_before(now)
        first = first or (month.first if last is None else last.replace(day=1))
        last = last or max(first, month.last)
        self.is_right = self.fields.problem is None
        self.period = Period(first, last)
        self.typed = {"from": typed.get("from", first.isoformat()), "to": typed.get("to", last.isoformat())}

    @property
    def query(self) -> str:
        return f"from={self.period.first}&to={self.period.last}"
