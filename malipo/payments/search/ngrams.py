"""N-grams for the search: every few characters in a row of a reference, a phone and a name, as numbers. Pure.

A text that contains a term contains each of the term's n-grams. So the index finds candidates, and each candidate is
then compared with the term. The index intersects the lists of payments of several n-grams, so these lists should be
short. A phone's n-grams are five digits long, since three digits in a row are in one of a hundred phones. A reference
is searched by its end, where its characters are random. And a merchant shares lists with only one in 64 others, so that
a name which is common elsewhere does not slow down a search in few payments.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

LEAST = 3  # characters; a shorter term has no n-gram
_DIGITS = 5
_REFERENCE, _NAME = 0, 1 << 21
_CHARACTERS = (1 << 21) - 1
_PHONE = 1 << 22
_SCOPE_BITS = 23  # the bits above these depend on the merchant
_IN_A_REFERENCE = frozenset("0123456789abcdefghijklmnopqrstuvwxyz-")


@dataclass(frozen=True, slots=True)
class Clue:
    """A field that contains the term has all of these n-grams or, if `is_any`, at least one of them."""

    ngrams: Sequence[int]
    is_any: bool = False


def ngrams_of(merchant_id: str, search_text: str) -> list[int]:
    """The n-grams of a payment's reference, phone and name, each in a line."""
    reference, phone, name = search_text.split("\n", 2)
    scope = _scope_of(merchant_id)
    ngrams = _threes(reference, _REFERENCE) + _fives(phone[1:]) + _threes(name, _NAME)
    return [scope + ngram for ngram in ngrams]


def clues_of(merchant_id: str, term: str) -> list[Clue]:
    """One clue for each field that may contain the term, which has at least LEAST characters."""
    scope = _scope_of(merchant_id)
    return [Clue([scope + ngram for ngram in clue.ngrams], clue.is_any) for clue in _clues_of(term)]


def _scope_of(merchant_id: str) -> int:
    """By the last characters of the id, which are random."""
    return ((ord(merchant_id[-1]) << 3 ^ ord(merchant_id[-2])) & 63) << _SCOPE_BITS


def _clues_of(term: str) -> list[Clue]:
    names = _threes(term, _NAME)
    clues = [Clue((names[0], names[len(names) // 2], names[-1]))]
    if _IN_A_REFERENCE.issuperset(term):
        clues.append(Clue(_threes(term, _REFERENCE)[:-7:-3]))
    digits = term.removeprefix("+")
    if digits.isascii() and digits.isdigit():
        clues.append(_phone_clue(digits))
    return clues


def _phone_clue(digits: str) -> Clue:
    missing = _DIGITS - len(digits)
    if missing <= 0:
        return Clue(_fives(digits)[:-11:-5])
    # Shorter than an n-gram: one begins with these digits or, at the end of the phone, one ends with them.
    rest = ["".join(each) for each in product("0123456789", repeat=missing)]
    return Clue([_PHONE + int(ngram) for each in rest for ngram in (digits + each, each + digits)], is_any=True)


def _fives(digits: str) -> list[int]:
    return [_PHONE + int(digits[place : place + _DIGITS]) for place in range(len(digits) - _DIGITS + 1)]


def _threes(text: str, field: int) -> list[int]:
    """Characters beyond ASCII may share a number with others: that adds candidates, and hides no match."""
    return [field + ((a << 14 ^ b << 7 ^ c) & _CHARACTERS) for a, b, c in _in_threes([*map(ord, text)])]


def _in_threes(codes: list[int]) -> Iterable[tuple[int, int, int]]:
    return zip(codes, codes[1:], codes[2:], strict=False)
