"""Months as they are typed."""

from datetime import UTC, date, datetime

import pytest

from malipo.errors import Invalid
from malipo.month_end.checklist import days_to_close, named
from malipo.month_end.month import Month, month_before, parse_month


def test_a_month_has_its_days_and_neighbours() -> None:
    december = parse_month(" 2026-12 ")
    assert (december.first, december.last, str(december)) == (date(2026, 12, 1), date(2026, 12, 31), "2026-12")
    assert (december.next, december.before) == (Month(2027, 1), Month(2026, 11))
    assert parse_month("2028-02").last == date(2028, 2, 29)


@pytest.mark.parametrize("text", ["", "2026", "2026-13", "2026-00", "26-10", "2026-10-01", "2026-1"])
def test_other_texts_are_no_months(text: str) -> None:
    with pytest.raises(Invalid):
        parse_month(text)


def test_the_last_month_is_that_of_dar_es_salaam() -> None:
    assert month_before(datetime(2026, 11, 30, 20, 59, tzinfo=UTC)) == Month(2026, 10)
    assert month_before(datetime(2026, 11, 30, 21, 0, tzinfo=UTC)) == Month(2026, 11)


def test_days_before_the_first_close_of_all_need_none() -> None:
    month = Month(2026, 11)
    closed = [date(2026, 11, 28), date(2026, 11, 29)]
    assert days_to_close(month, closed, closed[0]) == [date(2026, 11, 30)]
    assert len(days_to_close(month, [], None)) == 30
    assert len(days_to_close(month, [], date(2026, 9, 1))) == 30


def test_days_are_named_by_their_stretches() -> None:
    days = [date(2026, 11, day) for day in (1, 2, 3, 7, 9, 10)]
    assert named(days) == "2026-11-01 – 2026-11-03, 2026-11-07, 2026-11-09 – 2026-11-10"
    assert named([date(2026, 11, day) for day in range(1, 16, 2)]).endswith("2026-11-09 …")
