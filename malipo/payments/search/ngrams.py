"""N-grams for the search: every few characters in a row of a reference, a phone, a name and an order reference. Pure.

A text that contains a term contains each of the term's n-grams. So the index finds candidates, and each candidate is
then compared with the term. The index intersects the lists of payments of several n-grams, so these lists should be
short:

- a phone's n-grams have five digits, because one phone in a hundred has the same three digits in a row;
- a reference is searched by its end, where its characters are random;
- an order reference is treated like a name, but five or more digits in a row in it are treated like a phone: otherwise
  all order numbers of a merchant would be on the same lists;
- a merchant shares lists with one in 64 others only, so a name that is common elsewhere does not slow down a search in
  few payments.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product

from malipo.payments.transaction import BEFORE_ORDER

LEAST = 3  # characters; a shorter term has no n-gram
_DIGITS = 5
_REFERENCE, _NAME = 0, 1 << 21
_CHARACTERS = (1 << 21) - 1
_PHONE = 1 << 22
_ORDER = _PHONE + 10**_DIGITS  # digits of an order reference
_SCOPE_BITS = 23  # the bits above these depend on the merchant
_LONG_NUMBER = re.compile(rf"[0-9]{{{_DIGITS},}}")
_NUMBER = re.compile(rf"[0-9]{{{LEAST},}}")
_IN_A_REFERENCE = frozenset("0123456789abcdefghijklmnopqrstuvwxyz-")


@dataclass(frozen=True, slots=True)
class NgramCondition:
    """A field that contains the term has all of these n-grams or, if `is_any`, at least one of them."""

    ngrams: Sequence[int]
    is_any: bool = False


def ngrams_of(merchant_id: str, search_text: str) -> list[int]:
    """The n-grams of a payment's fields: its reference, its phone, its name and its order reference."""
    reference, phone, rest = search_text.split("\n", 2)
    name, _, order = rest.partition(BEFORE_ORDER)
    scope = _scope_of(merchant_id)
    ngrams = _threes(reference, _REFERENCE) + _fives(phone[1:]) + _threes(name, _NAME) + _of_order(order)
    return [scope + ngram for ngram in ngrams]


def clues_of(merchant_id: str, term: str) -> list[NgramCondition]:
    """One clue for each field that may contain the term, which has at least LEAST characters."""
    scope = _scope_of(merchant_id)
    return [NgramCondition([scope + ngram for ngram in clue.ngrams], clue.is_any) for clue in _clues_of(term)]


def _scope_of(merchant_id: str) -> int:
    """The part of the index that a merchant has: by the last characters of its id, which are random."""
    return ((ord(merchant_id[-1]) << 3 ^ ord(merchant_id[-2])) & 63) << _SCOPE_BITS


def _clues_of(term: str) -> list[NgramCondition]:
    names = _threes(term, _NAME)
    clues = [NgramCondition((names[0], names[len(names) // 2], names[-1]))]
    if _IN_A_REFERENCE.issuperset(term):
        clues.append(NgramCondition(_threes(term, _REFERENCE)[:-7:-3]))
    digits = term.removeprefix("+")
    if digits.isascii() and digits.isdigit():
        clues.append(_number_clue(digits, _PHONE))
    if _NUMBER.search(term):  # Without one, the clue of a name is that of an order reference as well.
        clues.append(_order_clue(term))
    return clues


def _of_order(order: str) -> list[int]:
    """The n-grams of an order reference. Digits of a long number have n-grams of five only."""
    numbers = [match[0] for match in _LONG_NUMBER.finditer(order)]
    others = [each for part in _LONG_NUMBER.sub(_without_threes, order).split("\0") for each in _threes(part, _NAME)]
    return others + [ngram for number in numbers for ngram in _fives(number, _ORDER)]


def _without_threes(number: re.Match[str]) -> str:
    """A long number cut to its first two and last two digits, which form n-grams of three with the text beside it."""
    return f"{number[0][:2]}\0{number[0][-2:]}"


def _order_clue(term: str) -> NgramCondition:
    if numbers := _LONG_NUMBER.findall(term):
        return _number_clue(max(numbers, key=len), _ORDER)
    if term.isascii() and term.isdigit():
        return _number_clue(term, _ORDER)  # If the number is short, the clue of a name has it.
    mixed = [three for place, three in enumerate(_threes(term, _NAME)) if not _NUMBER.fullmatch(term, place, place + 3)]
    return NgramCondition((mixed[0], mixed[len(mixed) // 2], mixed[-1]))


def _number_clue(digits: str, field: int) -> NgramCondition:
    missing = _DIGITS - len(digits)
    if missing <= 0:
        return NgramCondition(_fives(digits, field)[:-11:-5])
    # Shorter than an n-gram: one begins with these digits or, at the end of the number, one ends with them.
    rest = ["".join(each) for each in product("0123456789", repeat=missing)]
    return NgramCondition(
        [field + int(ngram) for each in rest for ngram in (digits + each, each + digits)], is_any=True
    )


def _fives(digits: str, field: int = _PHONE) -> list[int]:
    return [field + int(digits[place : place + _DIGITS]) for place in range(len(digits) - _DIGITS + 1)]


def _threes(text: str, field: int) -> list[int]:
    """Characters beyond ASCII may share a number with others: that adds candidates, and hides no match."""
    return [field + ((a << 14 ^ b << 7 ^ c) & _CHARACTERS) for a, b, c in _in_threes([*map(ord, text)])]


def _in_threes(codes: list[int]) -> Iterable[tuple[int, int, int]]:
    return zip(codes, codes[1:], codes[2:], strict=False)
