"""Makes the text of an e-mail of a message, in the recipient's language: a subject, a plain text, and HTML that says
the same. No pictures, no addresses of others, nothing that reports whether it was read. Pure.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime, time
from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from malipo import money
from malipo.clock import ZONE
from malipo.http.accept_language import Language
from malipo.http.translator import Translator
from malipo.mail import words as texts
from malipo.messages.kinds import KINDS, PASSWORD_LINK_KINDS, Audience, MessageKind
from malipo.messages.message import Message

PACKAGE = "malipo.mail"
_LONGEST_FACT = 200


@dataclass(frozen=True, slots=True)
class Letter:
    language: Language
    subject: str
    text: str
    html: str


@dataclass(frozen=True, slots=True)
class LetterLink:
    """The single-use link of a message, and when it ends."""

    url: str
    until: datetime


def letter_of(
    message: Message, language: Language, *, service: str, public_url: str, link: LetterLink | None = None
) -> Letter:
    """The e-mail of a message. `service` is the name of the service, `public_url` where its pages are."""
    kind = MessageKind(message.kind)
    words, is_many = Translator(language, PACKAGE), message.count > 1
    parts, shown_words = texts.KIND_WORDS[kind], _shown(message, words, link)
    is_many = is_many and bool(parts.subject_of_many)
    subject = words(parts.subject_of_many if is_many else parts.subject, **shown_words)
    says = parts.says_of_many if is_many else parts.says
    paragraphs = [words(_to(message, each), **shown_words) for each in says]
    rows = (
        [] if is_many else [(words(texts.LABELS[key]), shown_words[key]) for key in parts.shown if shown_words.get(key)]
    )
    url = link.url if link is not None else _page(message, public_url, is_many=is_many)
    name = "" if kind in PASSWORD_LINK_KINDS else _one_line(message.recipient.name)
    return _letter(
        words,
        subject=subject,
        greeting=words(texts.GREETING, name=name) if name else words(texts.PLAIN_GREETING),
        paragraphs=paragraphs,
        rows=rows,
        button=words(parts.button) if parts.button and url else "",
        url=url,
        notes=[words(_to(message, _why(kind))), words(texts.NO_ANSWER)],
        service=service,
    )


def test_letter(language: Language, *, service: str) -> Letter:
    words = Translator(language, PACKAGE)
    return _letter(
        words,
        subject=f"{service}: {words(texts.TEST_SUBJECT)}",
        greeting=words(texts.PLAIN_GREETING),
        paragraphs=[words(texts.TEST_SAYS)],
        rows=[],
        button="",
        url="",
        notes=[words(texts.NO_ANSWER)],
        service=service,
    )


def _to(message: Message, sentence: str) -> str:
    """A sentence as it is for a person of a merchant, or for an operator."""
    return texts.TO_OPERATORS.get(sentence, sentence) if message.merchant_id is None else sentence


def _why(kind: MessageKind) -> str:
    if not KINDS[kind].is_always:
        return texts.WHY_CHOSEN
    return texts.WHY_ALWAYS_MONEY if KINDS[kind].audience is Audience.OPERATORS else texts.WHY_ALWAYS


def _page(message: Message, public_url: str, *, is_many: bool) -> str:
    """Where the button leads: the page of the one thing, or the list of all. Operators' pages may be elsewhere, and
    have no button."""
    if KINDS[MessageKind(message.kind)].audience is Audience.OPERATORS:
        return ""
    path = message.facts.get("path")
    if not isinstance(path, str) or not path.startswith("/dashboard/"):
        return ""
    return public_url + (path.rpartition("/")[0] if is_many else path)


def _shown(message: Message, words: Translator, link: LetterLink | None) -> Mapping[str, str]:
    """The facts as they are written in the recipient's language."""
    shown = {name: _fact(name, value, words) for name, value in message.facts.items()}
    shown |= {"count": f"{message.count:,}", "name": shown.get("name", "")}
    if message.amount:
        shown["amount"] = money.display(message.amount)
    if link is not None:
        shown["until"] = words.moment(link.until)
    return shown


def _fact(name: str, value: str | int, words: Translator) -> str:
    if isinstance(value, int):
        return money.display(value) if name.endswith("amount") else f"{value:,}"
    if name == "day":
        return words.day(datetime.combine(date.fromisoformat(value), time(12), ZONE))
    if name.endswith("_at"):
        return words.moment(datetime.fromisoformat(value))
    return words(value) if value in texts.TRANSLATED else _one_line(value)


def _one_line(text: str) -> str:
    """A text that others have typed, as it may stand in a subject: on one line, without characters that are not
    seen."""
    clean = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    return clean if len(clean) <= _LONGEST_FACT else f"{clean[: _LONGEST_FACT - 1]}…"


def _letter(
    words: Translator,
    *,
    subject: str,
    greeting: str,
    paragraphs: list[str],
    rows: list[tuple[str, str]],
    button: str,
    url: str,
    notes: list[str],
    service: str,
) -> Letter:
    blocks = [greeting, *paragraphs]
    if rows:
        blocks.append("\n".join(f"{label}: {value}" for label, value in rows))
    if button:
        blocks.append(f"{button}:\n{url}")
    text = "\n\n".join([*blocks, f"-- \n{service}", *notes]) + "\n"
    html = _template().render(
        language=words.language,
        subject=subject,
        greeting=greeting,
        paragraphs=paragraphs,
        rows=rows,
        button=button,
        url=url,
        notes=notes,
        service=service,
    )
    return Letter(words.language, subject, text, html)


@cache
def _template() -> Template:
    made = Environment(
        loader=PackageLoader(PACKAGE), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return made.get_template("letter.html")
