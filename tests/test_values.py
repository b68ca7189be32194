"""Ids, money, phone numbers, times."""

import re
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo import clock, ids, money, phone

MOMENTS = st.datetimes(min_value=datetime(1970, 1, 1), max_value=datetime(2999, 1, 1), timezones=st.just(UTC)).map(
    lambda moment: moment.replace(microsecond=moment.microsecond // 1000 * 1000)
)


@given(MOMENTS, MOMENTS)
def test_ids_sort_by_age(one: datetime, other: datetime) -> None:
    if one != other:
        assert (ids.mint("txn_", one) < ids.mint("txn_", other)) == (one < other)


@given(MOMENTS)
def test_a_range_of_time_is_a_range_of_ids(moment: datetime) -> None:
    now_ms = clock.milliseconds(moment)
    id_ = ids.mint("txn_", moment)
    assert ids.first_of("txn_", now_ms) <= id_ <= ids.last_of("txn_", now_ms)
    assert ids.last_of("txn_", now_ms - 1) < id_ < ids.first_of("txn_", now_ms + 1)


def test_before_1970_there_is_nothing() -> None:
    assert ids.last_of("txn_", -1) < ids.mint("txn_", clock.now())
    assert ids.first_of("txn_", -1) < ids.mint("txn_", datetime(1970, 1, 1, tzinfo=UTC))


def test_ids_and_references_have_their_form_and_do_not_repeat() -> None:
    now = clock.now()
    assert re.fullmatch("txn_[0-9a-z]{26}", ids.mint("txn_", now))
    assert re.fullmatch("[0-9A-Z]{16}", ids.suffix(now))
    assert len({ids.mint("txn_", now) for _ in range(10_000)}) == 10_000
    assert len({ids.suffix(now) for _ in range(1_000)}) == 1_000


@pytest.mark.parametrize(
    ("moment", "text"),
    [
        (datetime(2026, 11, 15, 8, 30, 0, 123_999, tzinfo=UTC), "2026-11-15T08:30:00.123Z"),
        (datetime(2026, 11, 15, 8, 30, tzinfo=UTC), "2026-11-15T08:30:00.000Z"),
        (datetime(2026, 11, 15, 2, 0, tzinfo=timezone(timedelta(hours=3))), "2026-11-14T23:00:00.000Z"),
    ],
)
def test_times_are_utc_with_three_digits(moment: datetime, text: str) -> None:
    assert clock.iso(moment) == text


@pytest.mark.parametrize("number", ["+255600000000", "+255799999999"])
def test_a_tanzanian_mobile_number_is_valid(number: str) -> None:
    assert phone.is_valid(number)


@pytest.mark.parametrize(
    "number",
    ["", "+255", "0754000001", "255754000001", "+255854000001", "+25575400000", "+2557540000011", "+254754000001",
     "+255 754000001", "+255754000001\n", " +255754000001", "+25575400000a", "+२५५७५४००००००"],
)  # fmt: skip
def test_anything_else_is_not(number: str) -> None:
    assert not phone.is_valid(number)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("to +255754000123, now", "to +2557*****123, now"),
        ("255684000999", "2556*****999"),
        ("nothing here 12345", "nothing here 12345"),
    ],
)
def test_numbers_in_text_are_masked(text: str, masked: str) -> None:
    assert phone.mask_all(text) == masked


def test_amounts_are_shown_with_thousands() -> None:
    assert money.display(1_250_000) == "TZS 1,250,000"
    assert money.display(-500) == "-TZS 500"
