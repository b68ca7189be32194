"""Files without a layout: the kind of each column is guessed as far as possible."""

import csv
from pathlib import Path

import pytest

from malipo.network_statements.guess_profile import Guess, guess
from malipo.network_statements.profile import SignRule, StatementField
from malipo.table_files.rows import Cell, rows_of

FILES = Path(__file__).parent / "files"


def guessed(text: str) -> Guess:
    rows: list[list[Cell]] = [list(row) for row in csv.reader(text.strip().splitlines())]
    found = guess(rows)
    assert found is not None
    return found


def names(found: Guess) -> dict[StatementField, str]:
    return {field: found.header[number] for field, number in found.columns.items()}


@pytest.mark.parametrize("profile", ["mpesa-account", "mpesa-shortcode", "clickpesa"])
def test_what_is_known_would_be_guessed_as_well(profile: str) -> None:
    from malipo.network_statements.profile import built_in, folded

    known = built_in()[profile]
    found = guess(list(rows_of(FILES / f"{profile}.csv"))[:60])
    assert found is not None
    assert (found.sign, found.missing) == (known.sign, [])
    for field in known.needed:
        assert folded(names(found)[field]) in {folded(each) for each in known.columns[field]}


def test_a_statement_with_credit_and_debit_in_a_column() -> None:
    found = guessed(
        """
AIRTEL MONEY STATEMENT,,,,,
Date,Transaction ID,Description,Status,Transaction Amount,Credit/Debit,Balance
01-11-26 09:05 AM,AA261101.0905.A12345,Sale,Success,"5,000",Credit,"5,000"
01-11-26 01:15 PM,AA261101.1315.A12346,Payout,Success,"1,000",Debit,"4,000"
"""
    )
    assert found.sign is SignRule.DIRECTION
    assert (found.money_in, found.money_out, found.time_format) == (("Credit",), ("Debit",), "%d-%m-%y %I:%M %p")
    assert names(found)[StatementField.RECEIPT] == "Transaction ID"


def test_a_signed_amount() -> None:
    found = guessed(
        """
Transation ID,Transaction Type,Amount,Time,Status
100000000001,MERCHPAY,5000,2026-11-01 09:05:09,SUCCESS
100000000002,CASHOUT,-5000,2026-11-01 10:05:09,SUCCESS
"""
    )
    assert (found.sign, found.time_format, found.missing) == (SignRule.SIGNED, "iso", [])


def test_a_column_whose_content_does_not_fit_its_name_is_left_to_a_person() -> None:
    found = guessed(
        """
Receipt,Date,Amount
R1,yesterday,5000
R2,today,much
"""
    )
    assert found.missing == [StatementField.AT, StatementField.AMOUNT]


@pytest.mark.parametrize(
    ("at", "format_"),
    [("15/11/2026 02:05 PM", "%d/%m/%Y %I:%M %p"), ("15-11-2026 02:05 PM", "%d-%m-%Y %I:%M %p")],
)
def test_times_of_a_twelve_hour_clock_are_guessed(at: str, format_: str) -> None:
    assert guessed(f"Receipt,Date,Amount\nR1,{at},5000").time_format == format_


def test_a_date_that_could_be_read_both_ways_begins_with_the_day() -> None:
    found = guessed(
        """
Receipt,Date,Amount
R1,02/11/2026 10:00,5000
"""
    )
    assert found.time_format == "%d/%m/%Y %H:%M"


def test_text_is_no_table() -> None:
    assert guess([["Dear customer"], ["your statement is attached"]]) is None
    assert guess([]) is None
