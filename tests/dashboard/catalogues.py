"""Every text of the pages, and the catalogue that has it in Kiswahili.

`python -m tests.dashboard.catalogues` writes the catalogue anew: a new text comes in without a translation, and one that
no page has any more goes.
"""

import pkgutil
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

from malipo import dashboard
from malipo.http.accept_language import Language

ROOM = Path(dashboard.__file__).parent
LOCALE = ROOM / "locale"
KEYWORDS = {"_": None, "words": None, "ngettext": (1, 2), "plural": (1, 2)}


def said() -> set[str]:
    """All of them: in templates and calls as they stand there; in tables of sentences wherever a module has some."""
    return {words for words in (*_in_templates(), *_in_calls(), *_in_tables()) if words}


def _in_templates() -> Iterator[str]:
    for file in sorted(ROOM.rglob("*.html")):
        with file.open("rb") as source:
            for _, _, messages, _ in babel_extract(source, ["_", "ngettext"], [], {"encoding": "utf-8"}):
                yield from _each(messages)


def _in_calls() -> Iterator[str]:
    for file in sorted(ROOM.rglob("*.py")):
        with file.open("rb") as source:
            for _, messages, _, _ in extract("python", source, keywords=KEYWORDS):
                yield from _each(messages)


def _in_tables() -> Iterator[str]:
    """`SENTENCES` and other tables of words, by whatever key, and what a function `sentences` tells."""
    for module in pkgutil.walk_packages([str(ROOM)], "malipo.dashboard."):
        room = import_module(module.name)
        for name in ("SENTENCES", "NOTICES", "ROLES", "WHO"):
            yield from _values(getattr(room, name, ()))
        if callable(tell := getattr(room, "sentences", None)):
            yield from tell()


def _values(table: object) -> Iterator[str]:
    if isinstance(table, str):
        yield table
    elif isinstance(table, dict):
        for each in table.values():
            yield from _values(each)
    elif isinstance(table, Iterable):
        for each in table:
            yield from _values(each)


def _each(messages: object) -> Iterator[str]:
    for message in messages if isinstance(messages, tuple | list) else (messages,):
        if isinstance(message, str):
            yield message


def file_of(language: Language) -> Path:
    return LOCALE / f"{language}.po"


def kept(language: Language) -> dict[str, str]:
    with file_of(language).open("rb") as file:
        return {str(each.id): str(each.string) for each in read_po(file, locale=language) if each.id}


def write(language: Language, more: dict[str, str] | None = None) -> None:
    known = kept(language) | (more or {})
    catalogue = Catalog(locale=language, fuzzy=False, charset="utf-8")
    for words in sorted(said(), key=lambda each: (each.lower(), each)):
        catalogue.add(words, known.get(words, ""))
    with file_of(language).open("wb") as file:
        write_po(file, catalogue, width=0, omit_header=False, no_location=True)
    lines = file_of(language).read_text().splitlines()
    # Dates and tools in the head would change with every run.
    noise = ("# ", "#,", '"POT-Creation', '"PO-Revision', '"Last-Translator', '"Language-Team', '"Report', '"Project')
    file_of(language).write_text(
        "\n".join(line for line in lines if not line.startswith((*noise, '"Generated-By')) and line != "#") + "\n"
    )


if __name__ == "__main__":
    write(Language.KISWAHILI)
