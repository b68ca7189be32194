"""Which days the bank's statements cover: a movement of such a day that no statement has did not happen."""

from datetime import date

from malipo.bank_evidence.banking_days import BankingDays
from malipo.bank_evidence.coverage import Covering, Days, Follows, covering, is_covered, stretches
from malipo.bank_evidence.coverage import days_of as _days_of
from tests.bank.samples import FRIDAY, MONDAY, THURSDAY, TUESDAY, WEDNESDAY

SATURDAY, SUNDAY = date(2026, 11, 21), date(2026, 11, 22)
NEXT_MONDAY, NEXT_TUESDAY = date(2026, 11, 23), date(2026, 11, 24)


CALENDAR = BankingDays()


def days_of(statements: list[Covering], follows: Follows = CALENDAR.follows) -> list[Days]:
    return _days_of(statements, follows)


def span(first: date, last: date, opening: int = 0, closing: int = 0) -> Covering:
    return Covering(begins_on=first, ends_on=last, opening=opening, closing=closing)


def test_days_without_business_are_covered_by_the_statements_around_them() -> None:
    week, after = span(MONDAY, FRIDAY, 0, 70), span(NEXT_MONDAY, NEXT_TUESDAY, 70, 90)
    assert days_of([after, week]) == [(MONDAY, NEXT_TUESDAY)]
    assert days_of([week, span(NEXT_MONDAY, NEXT_TUESDAY, 71, 90)]) == [(MONDAY, FRIDAY), (NEXT_MONDAY, NEXT_TUESDAY)]


def test_a_business_day_without_a_statement_is_not_covered_although_the_balance_is_the_same() -> None:
    """A debit and its return leave the balance as it was."""
    found = days_of([span(MONDAY, TUESDAY, 0, 70), span(THURSDAY, FRIDAY, 70, 90)])
    assert found == [(MONDAY, TUESDAY), (THURSDAY, FRIDAY)]
    assert not is_covered(found, TUESDAY, THURSDAY)
    assert is_covered(found, THURSDAY, FRIDAY)


def test_holidays_are_covered_by_the_statements_around_them() -> None:
    thursday, wednesday = date(2026, 4, 2), date(2026, 4, 8)
    before, after = span(thursday, thursday, 0, 70), span(wednesday, wednesday, 70, 90)
    assert days_of([before, after]) == [(thursday, wednesday)]
    assert days_of([before, span(wednesday, wednesday, 71, 90)]) == [(thursday, thursday), (wednesday, wednesday)]


def test_a_day_that_may_have_been_a_holiday_is_not_covered_although_the_balance_is_the_same() -> None:
    """Of a banking day, a file and the money that was brought for it leave the balance as it was. Who only looks for
    missing statements may take it for a holiday."""
    before, after = date(2026, 5, 26), date(2026, 5, 28)
    statements = [span(before, before, 0, 70), span(after, after, 70, 90)]
    assert days_of(statements) == [(before, before), (after, after)]
    assert days_of(statements, BankingDays([date(2026, 5, 27)]).follows) == [(before, after)]
    assert days_of(statements, CALENDAR.may_follow) == [(before, after)]


def test_a_short_statement_within_a_longer_one_ends_nothing() -> None:
    assert days_of([span(MONDAY, FRIDAY, 0, 70), span(TUESDAY, TUESDAY, 10, 20), span(SATURDAY, SUNDAY, 70, 70)]) == [
        (MONDAY, SUNDAY)
    ]


def test_a_day_that_is_not_over_is_not_covered() -> None:
    values = {"opening": 0, "closing": 1}
    assert covering(begins_on=MONDAY, ends_on=TUESDAY, imported_on=TUESDAY, **values) == span(MONDAY, MONDAY, 0, 1)
    assert covering(begins_on=TUESDAY, ends_on=TUESDAY, imported_on=TUESDAY, **values) is None
    assert covering(begins_on=MONDAY, ends_on=TUESDAY, imported_on=WEDNESDAY, **values) == span(MONDAY, TUESDAY, 0, 1)


def test_spans_that_touch_or_overlap_cover_the_days_of_all() -> None:
    spans = [(THURSDAY, FRIDAY), (MONDAY, TUESDAY), (TUESDAY, WEDNESDAY)]
    assert stretches(spans) == [(MONDAY, FRIDAY)]
    assert stretches([(THURSDAY, FRIDAY), (MONDAY, TUESDAY)]) == [(MONDAY, TUESDAY), (THURSDAY, FRIDAY)]
    assert stretches([(MONDAY, FRIDAY), (TUESDAY, WEDNESDAY)]) == [(MONDAY, FRIDAY)]
    assert not is_covered([(MONDAY, TUESDAY), (THURSDAY, FRIDAY)], MONDAY, FRIDAY)
    assert not is_covered([], MONDAY, MONDAY)
