"""Which days the statements of one of our bank accounts cover. Pure.

Only complete statements count: they add up, and say their days and balances. Two of them are one stretch without a gap
if they overlap, or if the later one opens with what the earlier one closed with and no banking day lies between them:
weekends and holidays have no statements. Equal balances alone do not bridge a banking day, nor one that may have been
one: a debit and its return leave the balance as it was, and so do a file and the money that was brought for it.

A statement that was imported on its own last day cannot show the rest of that day.
"""

from collections.abc import Callable, Iterable
from datetime import date, timedelta

import msgspec

_DAY = timedelta(days=1)

Days = tuple[date, date]  # both included
# Whether a statement that begins with one day is the next after one that ends with another.
Follows = Callable[[date, date], bool]


class Covering(msgspec.Struct, frozen=True, kw_only=True):
    """What a complete statement says of its days."""

    begins_on: date
    ends_on: date
    opening: int  # in cents
    closing: int


def covering(*, begins_on: date, ends_on: date, opening: int, closing: int, imported_on: date) -> Covering | None:
    """The days of a statement that were over when it was imported; None if none was."""
    last = min(ends_on, imported_on - _DAY)
    if last < begins_on:
        return None
    return Covering(begins_on=begins_on, ends_on=last, opening=opening, closing=closing)


def days_of(statements: Iterable[Covering], follows: Follows) -> list[Days]:
    """The stretches of days in which a movement that no statement has did not happen."""
    found: list[Days] = []
    for _, first, last in coverage_rows([("", each) for each in statements], follows):
        if found and first <= found[-1][1] + _DAY:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def coverage_rows(statements: Iterable[tuple[str, Covering]], follows: Follows) -> list[tuple[str, date, date]]:
    """The days that each statement covers, with the days between it and the one that it continues.

    If it does not continue the one of the day before, its first day is not one of them, so that there is a gap.
    """
    found: list[tuple[str, date, date]] = []
    before: Covering | None = None  # of those until now, the one that ends last
    for id_, each in sorted(statements, key=lambda each: (each[1].begins_on, each[1].ends_on)):
        if before is None or each.begins_on <= before.ends_on:
            found.append((id_, each.begins_on, each.ends_on))
        elif before.closing == each.opening and follows(before.ends_on, each.begins_on):
            found.append((id_, before.ends_on + _DAY, each.ends_on))
        else:
            begins_on = max(each.begins_on, before.ends_on + 2 * _DAY)
            if begins_on <= each.ends_on:
                found.append((id_, begins_on, each.ends_on))
        if before is None or each.ends_on >= before.ends_on:
            before = each
    return found


def stretches(days: Iterable[Days]) -> list[Days]:
    """Days that touch are one stretch."""
    found: list[Days] = []
    for first, last in sorted(days):
        if found and first <= found[-1][1] + _DAY:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found


def is_covered(joined: Iterable[Days], first: date, last: date) -> bool:
    """Whether one of the stretches, as `days_of` or `stretches` joins them, has all of these days."""
    return any(begins <= first and last <= ends for begins, ends in joined)
