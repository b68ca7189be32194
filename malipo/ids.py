"""Names for things: a prefix, then the time, then chance. Sorted by name is sorted by age.

The time leads so that indexes stay warm at one end, and so that a range of time is a range of ids: the list of
transactions needs no index but the primary key. Secrets are not ids; they come from `secrets` where they are made.
"""

import secrets
from datetime import datetime

from malipo import clock

# Crockford's base 32: no I, L, O or U, so a reference can be read out on the telephone.
_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]

_TIME_CHARACTERS = 10  # 50 bits of milliseconds: enough until the year 37,648.
_CHANCE_CHARACTERS = 16  # 80 bits.
_SUFFIX_TIME_CHARACTERS = 9  # 45 bits of milliseconds: enough until the year 3084.
_SUFFIX_CHANCE_CHARACTERS = 7  # 35 bits.

SUFFIX_LENGTH = _SUFFIX_TIME_CHARACTERS + _SUFFIX_CHANCE_CHARACTERS


def _base32(number: int, length: int) -> str:
    pairs = []
    for _ in range((length + 1) // 2):
        pairs.append(_PAIRS[number & 1023])
        number >>= 10
    return "".join(reversed(pairs))[-length:]


def mint(prefix: str, now: datetime) -> str:
    """`txn_01k9z…`: unique without asking anybody."""
    number = clock.milliseconds(now) << 80 | secrets.randbits(80)
    return prefix + _base32(number, _TIME_CHARACTERS + _CHANCE_CHARACTERS).lower()


def first_of(prefix: str, milliseconds: int) -> str:
    """The smallest id that can be minted in this millisecond."""
    return prefix + _base32(max(milliseconds, 0), _TIME_CHARACTERS).lower() + "0" * _CHANCE_CHARACTERS


def last_of(prefix: str, milliseconds: int) -> str:
    """The largest id that can be minted in this millisecond; before 1970, less than any id."""
    if milliseconds < 0:
        return prefix
    return prefix + _base32(milliseconds, _TIME_CHARACTERS).lower() + "z" * _CHANCE_CHARACTERS


def suffix(now: datetime) -> str:
    """The 16 characters of a reference: short enough for every network, and unique in practice.

    Two in the same millisecond meet once in 34 thousand million; the database's constraint decides, and the
    act that made it draws again.
    """
    number = clock.milliseconds(now) << 35 | secrets.randbits(35)
    return _base32(number, SUFFIX_LENGTH)
