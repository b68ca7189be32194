"""Every text of a page is in the catalogue of its package, and every text of a catalogue is on a page."""

import re

import pytest

from malipo.http.accept_language import Language
from tests.dashboard.catalogues import PACKAGES, kept, said

VALUE = r"\{\w*(?:!r)?\}"

pytestmark = pytest.mark.parametrize("package", PACKAGES)


def test_the_catalogue_has_every_word_and_no_other(package: str) -> None:
    known = kept(package, Language.KISWAHILI)
    assert sorted(said(package) - set(known)) == [], "run: python -m tests.dashboard.catalogues"
    assert sorted(set(known) - said(package)) == [], "run: python -m tests.dashboard.catalogues"
    assert [words for words, meaning in known.items() if not meaning] == []


def test_a_translation_has_the_same_values_in_it(package: str) -> None:
    for words, meaning in kept(package, Language.KISWAHILI).items():
        assert sorted(set(re.findall(VALUE, words))) == sorted(set(re.findall(VALUE, meaning))), words


def test_kiswahili_is_not_english(package: str) -> None:
    """Names and the like may be the same; sentences may not."""
    same = [
        words
        for words, meaning in kept(package, Language.KISWAHILI).items()
        if words == meaning and words.count(" ") > 2
    ]
    assert same == []
