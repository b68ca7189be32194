import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.networks.text import cleaned


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Order 17", "Order 17"),
        ("  Order   17  ", "Order 17"),
        ("Order #17/B (rush!)", "Order 17 B rush"),
        ("Zoë's café, Mbezi – Nº 5", "Zoe s cafe Mbezi No 5"),
        ("Tunda_la-mama@shop.co.tz", "Tunda la mama shop co tz"),
        ("line one\nline two\ttab\x00nul", "line one line two tab nul"),
        ("  two  spaces\tand a tab\r\nand lines ", "two spaces and a tab and lines"),
        ("a_b-c.d/e", "a b c d e"),
        ('","input_Amount":"1', "input Amount 1"),
        ("\x00\x1f", "Payment"),
        ("7", "7"),
        ("Order 5–6…7", "Order 5 6 7"),
        ("Juma’s “duka”", "Juma s duka"),
        ("ﬁne ①", "fine 1"),
        ("", "Payment"),
        ("   ", "Payment"),
        ("!!! ??? ---", "Payment"),
        ("市场", "Payment"),
        ("сумма 5", "5"),
        ("\ud800 half", "half"),
    ],
)
def test_what_a_merchant_wrote_becomes_what_every_network_takes(text: str, expected: str) -> None:
    assert cleaned(text, least=1, most=256) == expected


def test_too_little_becomes_a_plain_word_and_too_much_is_cut_between_letters() -> None:
    assert cleaned("abc", least=4, most=20) == "Payment"
    assert cleaned("abcd", least=4, most=20) == "abcd"
    assert cleaned("a" * 30, least=4, most=20) == "a" * 20
    assert cleaned("abcd efgh", least=1, most=5) == "abcd", "no space is left at the end"
    assert cleaned("!" * 30 + "z", least=1, most=20) == "z", "it is cut when it is clean"
    assert cleaned("ab!", least=3, most=20) == "Payment", "and counted when it is clean"


@given(st.text(), st.integers(1, 7), st.integers(7, 64))
def test_whatever_is_written_the_network_gets_letters_digits_and_single_spaces(
    text: str, least: int, most: int
) -> None:
    words = cleaned(text, least=least, most=most)
    assert least <= len(words) <= most
    assert words.isascii()
    assert all(word.isalnum() for word in words.split(" "))
    assert cleaned(words, least=least, most=most) == words, "cleaning again changes nothing"
