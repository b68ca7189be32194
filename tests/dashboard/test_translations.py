"""Every text of a page is in the catalogue, and every text of the catalogue is on a page."""

import re

from malipo.http.accept_language import Language
from tests.dashboard.catalogues import kept, said

VALUE = r"\{\w*(?:!r)?\}"


def test_the_catalogue_has_every_word_and_no_other() -> None:
    known = kept(Language.KISWAHILI)
    assert sorted(said() - set(known)) == [], "run: python -m tests.dashboard.catalogues"
    assert sorted(set(known) - said()) == [], "run: python -m tests.dashboard.catalogues"
    assert [words for words, meaning in known.items() if not meaning] == []


def test_a_translation_has_the_same_values_in_it() -> None:
    for words, meaning in kept(Language.KISWAHILI).items():
        assert sorted(set(re.findall(VALUE, words))) == sorted(set(re.findall(VALUE, meaning))), words


def test_kiswahili_is_not_english() -> None:
    """Names and the like may be the same; sentences may not."""
    same = [words for words, meaning in kept(Language.KISWAHILI).items() if words == meaning and words.count(" ") > 2]
    assert same == []
