"""Ids: a prefix, then the time, then random characters. Sorted by id is sorted by age.

The time comes first so that inserts touch one end of an index, and so that a range of time is a range of ids: the list
of transactions needs no index but the primary key. Of two that a process mints in one millisecond the later one is
higher, by a step that nobody can guess. Secrets are not ids; they are drawn where they are made.
"""

import os
from datetime import datetime
from functools import lru_cache

from malipo import clock, randomness

# Crockford's base 32: no I, L, O or U, so a reference can be read out on the telephone.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_CHARACTERS = bytes(ord(_ALPHABET[byte % 32]) for byte in range(256))
# The digits that Python reads numbers of base 32 with.
_DIGITS = str.maketrans(_ALPHABET.lower(), "0123456789abcdefghijklmnopqrstuv")
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]

_TIME_CHARACTERS = 10  # 50 bits of milliseconds: enough until the year 37,648.
_RANDOM_CHARACTERS = 16  # 80 bits.
_SERIES_CHARACTERS = 4  # of those: where ids follow one another, 60 random bits are left.
_SERIES = 32**_SERIES_CHARACTERS
_STEP_SHIFT = 20  # 60 bits of a step: half a million of one millisecond fit into 80 bits.
_BEYOND = 1 << 80
_DRAWS = 256  # at once
_SUFFIX_TIME_CHARACTERS = 9  # 45 bits of milliseconds: enough until the year 3084.
_SUFFIX_RANDOM_CHARACTERS = 7  # 35 bits.


@lru_cache(maxsize=64)  # Many are made in the same millisecond.
def _base32(number: int, length: int) -> str:
    pairs = []
    for _ in range((length + 1) // 2):
        pairs.append(_PAIRS[number & 1023])
        number >>= 10
    return "".join(reversed(pairs))[-length:]


def base32_of_80_bits(number: int) -> str:
    """16 characters. Without a loop it takes half as long, and each payment has such a key."""
    pairs = _PAIRS
    return (
        pairs[number >> 70]
        + pairs[number >> 60 & 1023]
        + pairs[number >> 50 & 1023]
        + pairs[number >> 40 & 1023]
        + pairs[number >> 30 & 1023]
        + pairs[number >> 20 & 1023]
        + pairs[number >> 10 & 1023]
        + pairs[number & 1023]
    )


# Random characters and numbers in reserve: asking the system for each id would take longer than all the rest.
_drawn: list[str] = []
_drawn_numbers: list[int] = []
# The last millisecond, and the random part of the last id in it.
_last = (-1, 0)


def _forget() -> None:
    _drawn.clear()
    _drawn_numbers.clear()


os.register_at_fork(after_in_child=_forget)  # or parent and child would make the same ids


def _random_characters(length: int) -> str:
    """Five random bits a character: a byte has eight, and the three above are left out."""
    while True:
        try:
            return _drawn.pop()[:length]
        except IndexError:
            text = randomness.token_bytes(_DRAWS * _RANDOM_CHARACTERS).translate(_CHARACTERS).decode()
            _drawn.extend(text[at : at + _RANDOM_CHARACTERS] for at in range(0, len(text), _RANDOM_CHARACTERS))


def _random_part(milliseconds: int) -> int:
    """79 random bits; after an id of the same millisecond, more than that one and than a series that begins with it."""
    global _last
    try:
        number = _drawn_numbers.pop()
    except IndexError:
        drawn = randomness.token_bytes((_DRAWS + 1) * 10)
        _drawn_numbers.extend(int.from_bytes(drawn[at : at + 10], "big") for at in range(10, len(drawn), 10))
        number = int.from_bytes(drawn[:10], "big")
    before, last = _last
    following = last + _SERIES + (number >> _STEP_SHIFT)
    # After millions of one moment there is no room for more, and a new row of ids begins.
    number = following if before == milliseconds and following < _BEYOND else number >> 1
    _last = milliseconds, number
    return number


def mint(prefix: str, now: datetime) -> str:
    """`txn_01k9z…`: unique, without a query."""
    milliseconds = clock.milliseconds(now)
    return prefix + (_base32(milliseconds, _TIME_CHARACTERS) + base32_of_80_bits(_random_part(milliseconds))).lower()


def first_of_series(prefix: str, now: datetime) -> str:
    """The first of many ids that follow one another, such as those of a batch. Up to a million."""
    return mint(prefix, now)[:-_SERIES_CHARACTERS] + "0" * _SERIES_CHARACTERS


def in_series(first: str, index: int) -> str:
    """The id that comes so many after the first."""
    assert 0 <= index < _SERIES
    return first[:-_SERIES_CHARACTERS] + _base32(index, _SERIES_CHARACTERS).lower()


def first_of(prefix: str, milliseconds: int) -> str:
    """The smallest id that can be minted in this millisecond."""
    return prefix + _base32(max(milliseconds, 0), _TIME_CHARACTERS).lower() + "0" * _RANDOM_CHARACTERS


def last_of(prefix: str, milliseconds: int) -> str:
    """The largest id that can be minted in this millisecond; before 1970, less than any id."""
    if milliseconds < 0:
        return prefix
    return prefix + _base32(milliseconds, _TIME_CHARACTERS).lower() + "z" * _RANDOM_CHARACTERS


def milliseconds_of(id_: str) -> int:
    """When an id was minted."""
    start = id_.index("_") + 1
    return int(id_[start : start + _TIME_CHARACTERS].translate(_DIGITS), 32)


def suffix(now: datetime) -> str:
    """The 16 characters of a reference: short enough for every network, and unique in practice.

    Two of the same millisecond are equal once in 34 thousand million. Then the database's constraint refuses the
    second, and another suffix is tried.
    """
    return _base32(clock.milliseconds(now), _SUFFIX_TIME_CHARACTERS) + _random_characters(_SUFFIX_RANDOM_CHARACTERS)


def random(prefix: str) -> str:
    """An id without a time."""
    return prefix + _random_characters(_RANDOM_CHARACTERS).lower()
