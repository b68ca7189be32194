"""The Merkle tree of RFC 9162, as sections 2.1.1, 2.1.3.1 and 2.1.4.1 define it: word for word, and not as malipo
computes it. Pure."""

import hashlib
from collections.abc import Sequence


def root_of(entries: Sequence[bytes]) -> bytes:
    """MTH(D[n])."""
    if not entries:
        return hashlib.sha256(b"").digest()
    if len(entries) == 1:
        return hashlib.sha256(b"\x00" + entries[0]).digest()
    k = _split(len(entries))
    return hashlib.sha256(b"\x01" + root_of(entries[:k]) + root_of(entries[k:])).digest()


def inclusion_path(m: int, entries: Sequence[bytes]) -> list[bytes]:
    """PATH(m, D[n])."""
    if len(entries) == 1:
        return []
    k = _split(len(entries))
    if m < k:
        return [*inclusion_path(m, entries[:k]), root_of(entries[k:])]
    return [*inclusion_path(m - k, entries[k:]), root_of(entries[:k])]


def consistency_path(m: int, entries: Sequence[bytes]) -> list[bytes]:
    """PROOF(m, D[n])."""
    return _subproof(m, entries, is_whole=True)


def _subproof(m: int, entries: Sequence[bytes], *, is_whole: bool) -> list[bytes]:
    if m == len(entries):
        return [] if is_whole else [root_of(entries)]
    k = _split(len(entries))
    if m <= k:
        return [*_subproof(m, entries[:k], is_whole=is_whole), root_of(entries[k:])]
    return [*_subproof(m - k, entries[k:], is_whole=False), root_of(entries[:k])]


def _split(n: int) -> int:
    """The largest power of two smaller than n."""
    k = 1
    while k * 2 < n:
        k *= 2
    return k
