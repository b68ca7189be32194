"""What an e-mail says: the same in text and HTML, in one language, and nothing that others typed is more than text."""

import re
from html import unescape
from typing import Any

import pytest

from malipo.http.accept_language import Language
from malipo.mail.envelope import email_of
from malipo.mail.letter import Letter, LetterLink, letter_of
from malipo.messages.kinds import KINDS, MessageKind
from malipo.messages.message import Facts, Message, MessageRecipient
from tests.mail.mail_server import read
from tests.mail.mail_steps import NOON, SENDER

FACTS: Facts = {
    "name": "Wages & <b>bonus</b>",
    "business": "Duka la Juma",
    "by": "juma@duka.example.com",
    "path": "/dashboard/batches/bat_1",
    "happened_at": NOON.isoformat(),
    "usable_at": NOON.isoformat(),
    "restored_at": NOON.isoformat(),
    "address": "10.0.0.1",
    "browser": "Firefox",
    "system": "Android",
    "permissions": "payments.create",
    "last4": "abcd",
    "bank": "CRDB Bank",
    "account": "…9100",
    "holder": "DUKA LTD",
    "reference": "CP9KQ2",
    "reason": "AC04",
    "url": "https://duka.example.com/hooks",
    "why": "The receiver answered 410 Gone.",
    "failed": 3,
    "of": 40,
    "available_amount": 12_500,
    "limit_amount": 50_000,
    "collected": 12,
    "collected_amount": 1_200_000,
    "collections_failed": 1,
    "paid_out": 3,
    "paid_out_amount": 90_000,
    "payouts_failed": 0,
    "day": "2026-11-17",
    "number": "INV-2026-000123",
    "month": "2026-10",
    "amount": 59_000,
    "merchant": "Duka la Juma",
    "sent_amount": 70_000,
    "paid_amount": 80_000,
    "files": "pfl_1, pfl_2",
}
EVERY = [(kind, language, count) for kind in MessageKind for language in Language for count in (1, 3)]


def letter(kind: MessageKind, language: Language = Language.ENGLISH, *, count: int = 1, **facts: Any) -> Letter:
    person = MessageRecipient("per_1", "neema@duka.example.com", "Neema", language)
    message = Message(
        "msg_1", kind, "mer_1", person, FACTS | facts, count, 2_500_000, NOON, NOON, "msg_1@duka.example", 0
    )
    link = LetterLink("https://pay.example.com/dashboard/x?token=abc", NOON) if KINDS[kind].link is not None else None
    return letter_of(message, language, service="Duka Pay", public_url="https://pay.example.com", link=link)


def words_of(html: str) -> str:
    body = html.split("<body", 1)[1].split(">", 1)[1]
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", body)).split())


@pytest.mark.parametrize(("kind", "language", "count"), EVERY)
def test_text_and_html_say_the_same(kind: MessageKind, language: Language, count: int) -> None:
    made = letter(kind, language, count=count)

    assert "{" not in made.subject + made.text
    shown = words_of(made.html)
    for line in made.text.splitlines():
        for part in line.split(": ") if ": " in line and not line.startswith("http") else [line.rstrip(":")]:
            assert " ".join(part.removeprefix("-- ").split()) in shown, part
    assert not re.search(r"<(img|script|link|iframe|form)\b|url\(|@import|src=", made.html)
    assert set(re.findall(r'href="([^"]*)"', made.html)) <= set(re.findall(r"https://\S+", made.text))


@pytest.mark.parametrize("language", Language)
def test_labels_break_lines_so_that_values_have_room_on_a_phone(language: Language) -> None:
    """A label on one line left the values a column as wide as a letter."""
    html = letter(MessageKind.STOPPED_ACCOUNT_IN_FILE, language).html
    assert "table-layout:fixed" in html
    assert "nowrap" not in html


@pytest.mark.parametrize("kind", MessageKind)
def test_each_kind_is_translated(kind: MessageKind) -> None:
    assert letter(kind).subject != letter(kind, Language.KISWAHILI).subject


HOSTILE = {
    "a second header": "x\r\nBcc: thief@example.com",
    "a line end of Unicode": "x\u2028Bcc: thief@example.com",
    "markup": "<script>alert(1)</script><img src=x>",
    "a text that turns around": "abc\u202etxt.exe",
    "a placeholder": "{by} {0} %s",
    "very long": "x" * 100_000,
}


@pytest.mark.parametrize("typed", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("field", ["name", "by", "url"])
def test_what_others_typed_is_text_on_one_line(typed: str, field: str) -> None:
    kind = MessageKind.ENDPOINT_DISABLED if field == "url" else MessageKind.BATCH_WAITING
    typed_in: dict[str, Any] = {field: typed}
    made = letter(kind, **typed_in)
    email = read(
        email_of(
            made,
            sender=SENDER,
            address="neema@duka.example.com",
            name="Neema",
            message_id="msg_1@duka.example",
            sent_at=NOON,
        ).as_bytes()
    )

    assert email["Bcc"] is None
    assert not re.search("<script|<img", made.html)
    assert made.text.isascii() or not re.search("[\u2028\u202e]", made.text)
    assert len(made.text) < 3000


def test_a_fact_that_is_like_a_word_of_ours_is_not_translated() -> None:
    assert "Failed" in letter(MessageKind.BATCH_WAITING, Language.KISWAHILI, name="Failed").subject


def test_a_path_that_leads_elsewhere_is_no_button() -> None:
    for path in ("https://evil.example", "//evil.example", "/operator", "@evil.example"):
        assert "evil" not in letter(MessageKind.BATCH_WAITING, path=path).text


def test_headers_say_that_a_program_has_written_it() -> None:
    made = letter(MessageKind.KEY_CREATED, Language.KISWAHILI)
    email = email_of(
        made, sender=SENDER, address="n@duka.example.com", name="Neema", message_id="msg_1@d.example", sent_at=NOON
    )
    assert (email["Auto-Submitted"], email["Message-ID"]) == ("auto-generated", "<msg_1@d.example>")
    assert (email["Content-Language"], email["From"]) == ("sw", "Duka Pay <no-reply@duka.example.co.tz>")
    assert email.as_bytes().isascii()
