"""Says a refusal or a problem in a sentence: in English, or translated by the function that the caller gives. Pure."""

from collections.abc import Sequence
from typing import Protocol

from malipo.errors import Problem, Refusal
from malipo.words import (
    bank,
    books,
    casework,
    exceptions,
    invoices,
    month_end,
    operators,
    people,
    receipts,
    settlements,
    statements,
)

SENTENCES: dict[str, str] = {
    **statements.SENTENCES,
    **exceptions.SENTENCES,
    **operators.SENTENCES,
    **people.SENTENCES,
    **receipts.SENTENCES,
    **bank.SENTENCES,
    **casework.SENTENCES,
    **books.SENTENCES,
    **invoices.SENTENCES,
    **month_end.SENTENCES,
    **settlements.SENTENCES,
}


class Translate(Protocol):
    """Translates an English sentence with its values."""

    def __call__(self, sentence: str, /, **values: object) -> str: ...


def in_english(sentence: str, /, **values: object) -> str:
    return sentence.format(**values)


def say(wrong: Refusal | Problem, translate: Translate = in_english) -> str:
    if isinstance(wrong, Refusal) and wrong.message:
        return wrong.message
    values = {name: _shown(value, translate) for name, value in wrong.values.items()}
    return translate(SENTENCES[wrong.code], **values)


def _shown(value: object, translate: Translate) -> str:
    if isinstance(value, Problem):
        return say(value, translate)
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return ", ".join(map(str, value))
    return str(value)
