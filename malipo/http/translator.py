"""Translates texts: English in the code and the templates, Kiswahili in `locale/sw.po` of the package that says them.

A catalogue is read as it is: there is no build step. A test compares each with every text in use.
"""

from datetime import datetime
from functools import cache
from importlib import resources

from babel import dates
from babel.messages.pofile import read_po

from malipo import clock
from malipo.http.accept_language import Language


@cache
def catalogue(language: Language, package: str) -> dict[str, str]:
    """The catalogue of a language, by the English text. English needs none."""
    if language is Language.ENGLISH:
        return {}
    with resources.files(package).joinpath("locale", f"{language}.po").open("rb") as file:
        return {str(each.id): str(each.string) for each in read_po(file, locale=language) if each.id and each.string}


class Translator:
    """The texts of one language."""

    def __init__(self, language: Language, package: str) -> None:
        self.language = language
        self._catalogue = catalogue(language, package)

    def __call__(self, words: str, /, **values: object) -> str:
        text = self._catalogue.get(words, words)
        return text.format(**values) if values else text

    def plural(self, one: str, many: str, count: int) -> str:
        return self(one if count == 1 else many, count=f"{count:,}")

    def moment(self, at: datetime) -> str:
        """`15 Nov 2026, 12:26:30`, in Dar es Salaam."""
        return f"{self.day(at)}, {at.astimezone(clock.ZONE):%H:%M:%S}"

    def day(self, at: datetime) -> str:
        return str(dates.format_date(at.astimezone(clock.ZONE), "d MMM y", locale=self.language))
