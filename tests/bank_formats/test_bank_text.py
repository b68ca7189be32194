"""Texts in the characters that banks take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.bank_formats.bank_text import bank_text, is_bank_text, loses_letters

GRID = [
    # written, in the banks' characters
    ("Duka la Asha", "Duka la Asha"),
    ("Mama N'tilie & Wanawe", "Mama N'tilie + Wanawe"),
    ("Café Zürich Straße", "Cafe Zurich Strasse"),
    ("Ng’ombe — Bei_nafuu!", "Ng'ombe - Bei-nafuu."),
    ("asha@duka.co.tz", "asha(at)duka.co.tz"),
    ("INV//2026///7/", "INV/2026/7"),
    ("/-: /leading", "leading"),
    ('=HYPERLINK("x")', "HYPERLINK( x )"),
    ("+255 754", "255 754"),
    ("A\tB\nC\x00D", "A B C D"),
    ("ＷＩＤＥ", "WIDE"),
    ("中文", "-"),
    ("", "-"),
    ("😀", "-"),
]


@pytest.mark.parametrize(("written", "expected"), GRID)
def test_what_banks_refuse_is_replaced_or_left_out(written: str, expected: str) -> None:
    assert bank_text(written, 140) == expected


def test_a_text_is_cut_and_does_not_end_with_a_slash_or_a_space() -> None:
    assert bank_text("Duka la Asha", 5) == "Duka"
    assert bank_text("ab/cd", 3) == "ab"


@given(st.text(), st.integers(1, 140))
def test_every_text_becomes_one_that_banks_take(text: str, most: int) -> None:
    written = bank_text(text, most)
    assert len(written) <= most
    assert written == "-" or is_bank_text(written)
    assert written[0] not in "=+@:/"
    assert written == "-" or written[0] != "-"


@given(st.text(), st.integers(1, 140))
def test_a_text_in_the_banks_characters_stays_as_it_is(text: str, most: int) -> None:
    once = bank_text(text, most)
    assert bank_text(once, most) == once


@pytest.mark.parametrize(
    ("written", "is_lost"),
    [
        ("Duka la Asha", False),
        ("Café Zürich Straße", False),
        ("Ng’ombe — Bei_nafuu! 2", False),
        ("ＷＩＤＥ", False),
        ("Łódź & Đà Nẵng", False),
        ("Duka 😀", False),  # no letter
        ("Дука", True),
        ("Duka Дука", True),
        ("دكان", True),
        ("中文 Ltd", True),
        ("— !", True),
        ("...", True),
    ],
)
def test_whether_letters_of_a_name_are_lost(written: str, is_lost: bool) -> None:
    assert loses_letters(written) is is_lost
