"""The filters of a list of transactions, as SQL conditions."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from malipo import clock, ids
from malipo.db.where_clause import Conditions
from malipo.networks.connector import Channel
from malipo.payments.transaction import Status, Type, folded
from malipo.validation.fields import Fields


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    status: Status | None = None
    type: Type | None = None
    channel: Channel | None = None
    first: datetime | None = None
    last: datetime | None = None
    search: str | None = None

    @property
    def first_millisecond(self) -> int | None:
        """The first whole one that is not before `first`."""
        if self.first is None:
            return None
        return clock.milliseconds(self.first) + (self.first.microsecond % 1000 != 0)

    @property
    def last_millisecond(self) -> int | None:
        return None if self.last is None else clock.milliseconds(self.last)

    @property
    def term(self) -> str | None:
        return None if self.search is None else folded(self.search)


def filter_in(fields: Fields, *, search_of: Callable[[str], str] = str.strip) -> Filter:
    """From the query of the API or a page. `search_of` turns what was typed into the search term."""
    return Filter(
        status=fields.choice("status", Status),
        type=fields.choice("type", Type),
        channel=fields.choice("channel", Channel),
        first=fields.moment("from"),
        last=fields.moment("to", is_end=True),
        search=search_of(fields.text("search", most=255)) or None,
    )


def where_of(merchant_id: str, wanted: Filter) -> Conditions:
    """Conditions on the table `transactions`, as `t`."""
    where = Conditions("t.merchant_id = {}", merchant_id)
    add_sort(where, wanted)
    add_span(where, wanted)
    where.add("strpos(t.search_text, {}) > 0", wanted.term)
    return where


def add_sort(where: Conditions, wanted: Filter) -> None:
    where.add("t.status = {}", wanted.status)
    where.add("t.type = {}", wanted.type)
    where.add("t.channel = {}", wanted.channel)


def is_sorted(wanted: Filter) -> bool:
    return any((wanted.status, wanted.type, wanted.channel))


def add_span(where: Conditions, wanted: Filter) -> None:
    """An id begins with the time of its creation in milliseconds, so a range of time is a range of ids."""
    first, last = wanted.first_millisecond, wanted.last_millisecond
    where.add("t.id >= {}", None if first is None else ids.first_of("txn_", first))
    where.add("t.id <= {}", None if last is None else ids.last_of("txn_", last))
