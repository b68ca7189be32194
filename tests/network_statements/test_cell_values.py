"""Amounts and times, as people and spreadsheets write them."""

from datetime import UTC, datetime

import pytest

from malipo.network_statements.cell_values import TIME_FORMATS, CellUnreadable, cents_of, text_of, times
from malipo.table_files.rows import Cell

MORNING = datetime(2026, 11, 1, 6, 5, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    ("cell", "amount"),
    [
        ("", None),
        (None, None),
        ("-", None),
        ("0.00", 0),
        ("0.000", 0),
        ("1,020.00", 1020_00),
        ("1,020.000", 1020_00),
        ("1,020,000", 1_020_000_00),
        ("-50.00", -50_00),
        ("(50)", -50_00),
        ("TZS 1,000", 1000_00),
        ("TZS -1,000", -1000_00),
        ("-59.40", -59_40),
        ("(1,059.4)", -1059_40),
        ("1,059.400", 1059_40),
        (1020.0, 1020_00),
        (-7, -7_00),
        (-59.4, -59_40),
        (59.400000000000006, 59_40),
    ],
)
def test_an_amount_is_read_to_the_cent(cell: Cell, amount: int | None) -> None:
    assert cents_of(cell) == amount


@pytest.mark.parametrize(
    "cell",
    [
        *("12.505", "12.3456", "1,059.405", "0.005", 12.505, "1.020,00", "1,02", "ten", "1 000", "1e5", "--5"),
        *("-TZS -5", MORNING, float("1e-3")),
    ],
)
def test_what_is_not_one_is_refused_and_never_rounded(cell: Cell) -> None:
    with pytest.raises(CellUnreadable):
        cents_of(cell)


@pytest.mark.parametrize("cell", ["1.000", "-25.000", "(25.000)", "TZS 250.000", "1.000.000"])
def test_a_thousand_that_may_be_one_is_refused_unless_the_layout_says_which_mark_is_before_cents(cell: str) -> None:
    with pytest.raises(CellUnreadable):
        cents_of(cell)
    read = cents_of(cell, ",")
    assert read is not None
    assert abs(read) >= 1000_00


@pytest.mark.parametrize(
    ("cell", "amount"), [("1.020,00", 1020_00), ("-59,40", -59_40), ("1 020,5", 1020_50), ("7", 7_00), (7.5, 7_50)]
)
def test_a_layout_may_say_that_a_comma_is_before_the_cents(cell: Cell, amount: int) -> None:
    assert cents_of(cell, ",") == amount


@pytest.mark.parametrize("cell", ["1,000", "1,020.00", "59.40"])
def test_a_layout_with_commas_before_cents_does_not_take_a_thousand_for_one(cell: str) -> None:
    with pytest.raises(CellUnreadable):
        cents_of(cell, ",")


@pytest.mark.parametrize(
    ("format_", "cell"),
    [
        ("%d-%m-%Y %H:%M:%S", "01-11-2026 09:05:09"),
        ("%d/%m/%Y %H:%M:%S", "1/11/2026 9:05:09"),
        ("%d-%m-%y %I:%M:%S %p", "01-11-26 09:05:09 AM"),
        ("%d/%m/%Y %I:%M:%S %p", "1/11/2026 9:05:09 am"),
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
    ("format_", "cell"), [("%d/%m/%Y %I:%M %p", "15/11/2026 02:05 PM"), ("%d-%m-%Y %I:%M %p", "15-11-2026 2:05 pm")]
)
def test_a_twelve_hour_clock_without_seconds_beside_a_whole_year_is_one_of_the_known_forms(
    format_: str, cell: str
) -> None:
    read = [each for each in TIME_FORMATS if is_in_form(each, cell)]
    assert read == [format_]
    assert times((format_,), "UTC")(cell) == datetime(2026, 11, 15, 14, 5, tzinfo=UTC)


def is_in_form(format_: str, cell: str) -> bool:
    try:
        times((format_,), "UTC")(cell)
    except CellUnreadable:
        return False
    return True


@pytest.mark.parametrize(
    "cell", ["", "31-02-2026 10:00:00", "11/01/2026 10:00:00", "01-11-2026", "01-11-2026 25:00:00", 4500]
)
def test_a_time_in_another_form_is_refused(cell: Cell) -> None:
    with pytest.raises(CellUnreadable):
        times(("%d-%m-%Y %H:%M:%S",), "Africa/Dar_es_Salaam")(cell)


@pytest.mark.parametrize("cell", [46327.378576388888, "46327.378576388888", "46327,37857639"])
def test_a_time_that_a_spreadsheet_kept_as_a_number_of_days_is_read(cell: Cell) -> None:
    assert times(("%d-%m-%Y %H:%M:%S",), "Africa/Dar_es_Salaam")(cell) == MORNING


MUCH = 999_999_999_999_999


@pytest.mark.parametrize("cell", [str(MUCH), f"{MUCH:,}", f"-{MUCH}.00", f"TZS {MUCH:,}", f"000{MUCH}", MUCH])
def test_the_largest_amount_is_read(cell: Cell) -> None:
    read = cents_of(cell)
    assert read is not None
    assert abs(read) == MUCH * 100


@pytest.mark.parametrize(
    "cell", [str(MUCH + 1), f"{MUCH + 1:,}", f"(TZS {MUCH + 1})", MUCH + 1, 1e300, "9" * 5000, "9" * 5000 + ".50"]
)
def test_an_amount_that_no_account_holds_is_refused_in_short_words(cell: Cell) -> None:
    """The database would not take it, and of thousands of digits Python makes no number."""
    with pytest.raises(CellUnreadable, match="cell_too_much") as refused:
        cents_of(cell)
    assert len(str(refused.value.problem)) < 400


@pytest.mark.parametrize(
    "cell",
    [
        "1999-12-31 23:59",
        "2100-01-01 00:00",
        "9999-12-31 23:59",
        "9999-12-31T23:59-11:00",
        "2026-13-01T10:00Z",
        "2026-02-30 10:00",
        datetime(9999, 12, 31, 23, 59),
        datetime(1900, 1, 1),
    ],
)
def test_a_time_of_another_century_or_of_no_day_is_refused(cell: Cell) -> None:
    """Some ended the import with an error of ours; as the end of a file they covered all the years to come."""
    with pytest.raises(CellUnreadable):
        times(("iso",), "Africa/Dar_es_Salaam")(cell)


def test_a_receipt_that_a_spreadsheet_took_for_a_number_is_text_again() -> None:
    assert [text_of(cell) for cell in (123456789012.0, 7, " A1 ", None)] == ["123456789012", "7", "A1", ""]
