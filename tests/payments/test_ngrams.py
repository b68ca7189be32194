"""A text that contains a term has all n-grams of one of its clues: for every field, alphabet and length."""

import random
import re

import pytest

from malipo.payments.search.ngrams import LEAST, NgramCondition, clues_of, ngrams_of
from malipo.payments.transaction import folded

MERCHANT = "mer_01k9z0000000000000000000ab"


def has(ngrams: list[int], clue: NgramCondition) -> bool:
    return (any if clue.is_any else all)(ngram in ngrams for ngram in clue.ngrams)


def is_worth_a_look(search_text: str, term: str) -> bool:
    ngrams = ngrams_of(MERCHANT, search_text)
    return any(has(ngrams, clue) for clue in clues_of(MERCHANT, term))


TEXTS = [
    folded(text)
    for text in (
        "MLP-1M7FHDVHM3K9TZ02\n+255754123456\nAsha Juma",
        "A-0000000000000000\n+255700000000\nXy",
        "BRAND123-ZZZZZZZZZZZZZZZZ\n+255699999999\nÉmilie ǅ Ñandú ß",
        "MLP-1M7FHDVHM3K9TZ03\n+255754123456\n李小龙 and sons",
        "MLP-1M7FHDVHM3K9TZ04\n+255754123456\n+255754123456",
        "MLP-1M7FHDVHM3K9TZ05\n+255754123456\nMLP-1M7F 12345",
        "MLP-1M7FHDVHM3K9TZ06\n+255754123456\nAsha\x1fA-1042",
        "MLP-1M7FHDVHM3K9TZ07\n+255754123456\nAsha\nna Juma\x1forder-0010423456",
        "MLP-1M7FHDVHM3K9TZ08\n+255754123456\n\x1f2026-11-15/12345-1234.123456x9",
        "MLP-1M7FHDVHM3K9TZ09\n+255754123456\nAsha\x1fñ12345ñ1234567٣٤٥٦٧8",
        "MLP-1M7FHDVHM3K9TZ10\n+255754123456\nAsha\x1f123456789012345678901234",
        "MLP-1M7FHDVHM3K9TZ11\n+255754123456\nAsha\x1f+255754123456",
    )
]


@pytest.mark.parametrize("search_text", TEXTS)
def test_every_part_of_every_field_is_worth_a_look(search_text: str) -> None:
    for line in re.split("[\n\x1f]", search_text):
        for first in range(len(line)):
            for last in range(first + LEAST, len(line) + 1):
                assert is_worth_a_look(search_text, line[first:last]), line[first:last]


def test_hardly_anything_else_is() -> None:
    """N-grams are useful only if few payments share them."""
    chance = random.Random(3)
    letters = "0123456789abcdefghjkmnpqrstvwxyz"

    def one() -> str:
        suffix = "1m7fhdv" + "".join(chance.choices(letters, k=9))
        name = f"{chance.choice(('asha', 'neema'))} juma"
        return f"mlp-{suffix}\n+2557{chance.randrange(10**8):08}\n{name}\x1forder-{chance.randrange(10**8):08}"

    texts = [one() for _ in range(2000)]
    looked_at = {
        "reference": sum(is_worth_a_look(text, texts[0].split("\n")[0]) for text in texts),
        "its end": sum(is_worth_a_look(text, texts[0].split("\n")[0][-6:]) for text in texts),
        "phone": sum(is_worth_a_look(text, texts[0].split("\n")[1]) for text in texts),
        "its end, of a phone": sum(is_worth_a_look(text, texts[0].split("\n")[1][-6:]) for text in texts),
        "order": sum(is_worth_a_look(text, texts[0].split("\x1f")[1]) for text in texts),
        "its end, of an order": sum(is_worth_a_look(text, texts[0][-6:]) for text in texts),
    }
    assert {what: count for what, count in looked_at.items() if count > 3} == {}


@pytest.mark.parametrize(
    ("term", "fields"),
    [
        ("asha j", 1),  # a space is in no reference
        ("asha", 2),
        ("754", 4),
        ("+255", 3),
        ("7541234", 4),
        ("+255754123456", 3),
        ("٣٤٥٦٧", 1),  # digits, but not ours
    ],
)
def test_only_fields_that_may_hold_a_term_have_a_clue(term: str, fields: int) -> None:
    assert len(clues_of(MERCHANT, term)) == fields


def test_stored_n_grams_keep_their_meaning() -> None:
    """By hand: scope 56 of the merchant, then kind and characters. A change of this needs a new search index for all payments."""
    scope = ((ord("b") << 3 ^ ord("a")) & 63) << 23
    assert ngrams_of(MERCHANT, "m-1\n+255754\nabc") == [
        scope + (109 << 14 ^ 45 << 7 ^ 49),
        scope + (1 << 22) + 25575,
        scope + (1 << 22) + 55754,
        scope + (1 << 21) + (97 << 14 ^ 98 << 7 ^ 99),
    ]
    assert ngrams_of(MERCHANT, "m\n+2\n\x1fa123456") == [
        scope + (1 << 21) + (97 << 14 ^ 49 << 7 ^ 50),
        scope + (1 << 22) + 100_000 + 12345,
        scope + (1 << 22) + 100_000 + 23456,
    ]
    assert max(ngrams_of(MERCHANT, "zzz\n+99999\nzzz")) < 2**31


def test_merchants_have_lists_of_their_own() -> None:
    other = MERCHANT[:-1] + "c"
    assert not set(ngrams_of(MERCHANT, TEXTS[0])) & set(ngrams_of(other, TEXTS[0]))
