"""Amounts and times, as people and spreadsheets write them."""

from datetime import UTC, datetime

import pytest

from malipo.network_statements.cell_values import Cell, Unreadable, amount_of, text_of, times

MORNING = datetime(2026, 11, 1, 6, 5, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cell", "amount"),
    [
        ("", None),
        (None, None),
        ("-", None),
        ("0.00", 0),
        ("1,020.00", 1020),
        ("1,020,000", 1_020_000),
        ("-50.00", -50),
        ("(50)", -50),
        ("TZS 1,000", 1000),
        (1020.0, 1020),
        (-7, -7),
    ],
)
def test_an_amount_is_whole_shillings(cell: Cell, amount: int | None) -> None:
    assert amount_of(cell) == amount


@pytest.mark.parametrize(
    "cell", ["12.50", 12.5, "1.020,00", "1,02", "ten", "1 000", "1e5", "--5", MORNING, float("1e-3")]
)
def test_what_is_not_one_is_refused_and_never_rounded(cell: Cell) -> None:
    with pytest.raises(Unreadable):
        amount_of(cell)


@pytest.mark.parametrize(
    ("format_", "cell"),
    [
        ("%d-%m-%Y %H:%M:%S", "01-11-2026 09:05:09"),
        ("%d/%m/%Y %H:%M:%S", "1/11/2026 9:05:09"),
        ("%d-%m-%y %I:%M:%S %p", "01-11-26 09:05:09 AM"),
        ("%Y-%m-%d %H:%M:%S", "2026-11-01 09:05:09"),
        ("iso", "2026-11-01T06:05:09Z"),
        ("iso", "2026-11-01T06:05:09.123+00:00"),
        ("iso", "2026-11-01 09:05:09"),
        ("iso", datetime(2026, 11, 1, 9, 5, 9)),
    ],
)
def test_a_time_without_a_zone_is_that_of_dar_es_salaam(format_: str, cell: Cell) -> None:
    assert times((format_,), "Africa/Dar_es_Salaam")(cell).replace(microsecond=0) == MORNING


@pytest.mark.parametrize(
    ("cell", "hour"), [("01-11-26 12:00 AM", 21), ("01-11-26 12:00 PM", 9), ("01-11-26 1:00 pm", 10)]
)
def test_noon_and_midnight_of_a_twelve_hour_clock(cell: str, hour: int) -> None:
    assert times(("%d-%m-%y %I:%M %p",), "Africa/Dar_es_Salaam")(cell).hour == hour


@pytest.mark.parametrize(
    "cell", ["", "31-02-2026 10:00:00", "11/01/2026 10:00:00", "01-11-2026", "01-11-2026 25:00:00", 45000]
)
def test_a_time_in_another_form_is_refused(cell: Cell) -> None:
    with pytest.raises(Unreadable):
        times(("%d-%m-%Y %H:%M:%S",), "Africa/Dar_es_Salaam")(cell)


def test_a_receipt_that_a_spreadsheet_took_for_a_number_is_text_again() -> None:
    assert [text_of(cell) for cell in (123456789012.0, 7, " A1 ", None)] == ["123456789012", "7", "A1", ""]
