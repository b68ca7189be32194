"""Amounts and phone numbers are read as people type them, or not at all."""

import pytest

from malipo.validation.typed_values import amount_of, phone_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("25000", 25000),
        ("25,000", 25000),
        ("25 000", 25000),
        (" 1,250,000 ", 1250000),
        ("TZS 25,000", 25000),
        ("tsh25000", 25000),
        ("Tshs. 25,000", 25000),
        ("25,000/=", 25000),
        ("25,000/-", 25000),
        ("25,000.00", 25000),
        ("0500", 500),
        ("", ""),
        ("0", 0),
        ("25,00", "25,00"),
        ("25.000", "25.000"),
        ("2,5000", "2,5000"),
        ("25,000.50", "25,000.50"),
        ("-500", "-500"),
        ("1e5", "1e5"),
        ("elfu tano", "elfu tano"),
        ("٢٥٠٠٠", "٢٥٠٠٠"),
        ("9" * 16, "9" * 16),
    ],
)
def test_an_amount_is_read_as_it_is_meant_or_not_at_all(text: str, expected: int | str) -> None:
    assert amount_of(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0754 000 100", "+255754000100"),
        ("0754000100", "+255754000100"),
        ("754000100", "+255754000100"),
        ("255754000100", "+255754000100"),
        ("+255 754 000 100", "+255754000100"),
        ("00255 754-000-100", "+255754000100"),
        ("(0621) 000.100", "+255621000100"),
        ("", ""),
        ("123", "123"),
        ("0854000100", "0854000100"),
        ("07540001000", "07540001000"),
        ("+254754000100", "+254754000100"),
        ("0754 000 10a", "0754 000 10a"),
        ("+255854000100", "+255854000100"),  # of the right length: the rule says that it is wrong
    ],
)
def test_a_number_is_read_however_it_is_typed(text: str, expected: str) -> None:
    assert phone_of(text) == expected
