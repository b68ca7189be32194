"""Names and emails that people give are printable, on one line: they are shown beside those of others."""

import pytest

from malipo.email_address import email_of
from malipo.validation.fields import Fields

_NOT_A_LINE = ("a\n2026-11-16 operator juma", "a\rb", "a\x1b[2Jb", "a\x9b2Jb", "a\u202eb", "a\u200bb", "a\u2028b")


@pytest.mark.parametrize("text", _NOT_A_LINE, ids=ascii)
def test_a_name_that_is_not_one_printable_line_is_refused(text: str) -> None:
    fields = Fields({"name": text, "other": text})
    fields.required_text("name", most=100, is_line=True)
    fields.text("other", most=100, is_line=True)
    assert [(each.field, each.code) for each in fields.mistakes] == [
        ("name", "text_invalid"),
        ("other", "text_invalid"),
    ]


@pytest.mark.parametrize("text", ["Duka la Mama", "Zawadi Ng'ombe-Ærø", "مريم", "  Asha\n"])
def test_a_name_of_any_language_is_taken(text: str) -> None:
    fields = Fields({"name": text})
    assert fields.required_text("name", most=100, is_line=True) == text.strip()
    assert fields.mistakes == []


@pytest.mark.parametrize(
    "character", ["\u200b", "\u200d", "\u202e", "\u2066", "\ufeff", "\xad", "\x85", "\x9b"], ids=ascii
)
def test_an_email_has_no_character_that_cannot_be_seen(character: str) -> None:
    assert email_of(f"ash{character}a@example.com") is None
    assert email_of("Asha@example.com") == "asha@example.com"
