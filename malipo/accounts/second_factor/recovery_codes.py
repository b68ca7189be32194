"""Recovery codes: ten in a set, each valid once, for a person who has lost the phone with the authenticator app. Pure.

A code has 80 random bits, so a fast hash is enough to keep it: nobody can try them all.
"""

import hashlib

from malipo import randomness

COUNT = 10

# Without i, l, o and u, which are easily misread on paper.
_LETTERS = "0123456789abcdefghjkmnpqrstvwxyz"
_LENGTH = 16
_GROUP = 4
_MISREAD = str.maketrans({"o": "0", "i": "1", "l": "1"})


def new_codes() -> list[str]:
    return [_new_code() for _ in range(COUNT)]


def hash_of(account_id: str, code: str) -> bytes:
    """The hash of an entered code. It includes the account, so that a hash is useless in another row."""
    return hashlib.sha256(f"{account_id} {_plain(code)}".encode()).digest()


def _new_code() -> str:
    letters = "".join(_LETTERS[randomness.below(len(_LETTERS))] for _ in range(_LENGTH))
    return "-".join(letters[start : start + _GROUP] for start in range(0, _LENGTH, _GROUP))


def _plain(code: str) -> str:
    """Ignores case, spaces and dashes, and treats similar characters as equal."""
    return "".join(each for each in code.lower() if each.isalnum()).translate(_MISREAD)
