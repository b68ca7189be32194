"""Every text of the pages, and the catalogues that have it in Kiswahili: one of each package of pages.

`python -m tests.dashboard.catalogues` writes them anew: a new text comes in without a translation, and one that no page
has any more goes.
"""

import pkgutil
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract
from babel.messages.pofile import read_po, write_po
from jinja2.ext import babel_extract

from malipo.http.accept_language import Language

PACKAGES = ("malipo.dashboard", "malipo.pay_pages", "malipo.mail")
KEYWORDS = {"_": None, "words": None, "ngettext": (1, 2), "plural": (1, 2)}


def folder_of(package: str) -> Path:
    file = import_module(package).__file__
    assert file is not None
    return Path(file).parent


def said(package: str) -> set[str]:
    """All of them: in templates and calls as they stand there; in tables of sentences wherever a module has some."""
    return {words for words in (*_in_templates(package), *_in_calls(package), *_in_tables(package)) if words}


def _in_templates(package: str) -> Iterator[str]:
    for file in sorted(folder_of(package).rglob("*.html")):
        with file.open("rb") as source:
            for _, _, messages, _ in babel_extract(source, ["_", "ngettext", "words"], [], {"encoding": "utf-8"}):
                yield from _each(messages)


def _in_calls(package: str) -> Iterator[str]:
    for file in sorted(folder_of(package).rglob("*.py")):
        with file.open("rb") as source:
            for _, messages, _, _ in extract("python", source, keywords=KEYWORDS):
                yield from _each(messages)


def _in_tables(package: str) -> Iterator[str]:
    """`SENTENCES` and other tables of words, by whatever key, and what a function `sentences` tells."""
    for module in pkgutil.walk_packages([str(folder_of(package))], f"{package}."):
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


def file_of(package: str, language: Language) -> Path:
    return folder_of(package) / "locale" / f"{language}.po"


def kept(package: str, language: Language) -> dict[str, str]:
    with file_of(package, language).open("rb") as file:
        return {str(each.id): str(each.string) for each in read_po(file, locale=language) if each.id}


def write(package: str, language: Language, more: dict[str, str] | None = None) -> None:
    known = kept(package, language) | (more or {})
    catalogue = Catalog(locale=language, fuzzy=False, charset="utf-8")
    for words in sorted(said(package), key=lambda each: (each.lower(), each)):
        catalogue.add(words, known.get(words, ""))
    path = file_of(package, language)
    with path.open("wb") as file:
        write_po(file, catalogue, width=0, omit_header=False, no_location=True)
    lines = path.read_text().splitlines()
    # Dates and tools in the head would change with every run.
    noise = ("# ", "#,", '"POT-Creation', '"PO-Revision', '"Last-Translator', '"Language-Team', '"Report', '"Project')
    path.write_text(
        "\n".join(line for line in lines if not line.startswith((*noise, '"Generated-By')) and line != "#") + "\n"
    )


if __name__ == "__main__":
    for each in PACKAGES:
        write(each, Language.KISWAHILI)
