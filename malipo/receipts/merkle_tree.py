"""The Merkle tree of RFC 9162: its hashes, inclusion proofs and consistency proofs. Pure.

A proof is a list of hashes of ranges of leaves. Each range is a row of complete subtrees, largest first, so everything
can be computed from the hashes of complete subtrees, which never change while the tree grows.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

HASH_BYTES = 32
EMPTY_ROOT = hashlib.sha256(b"").digest()


class Node(NamedTuple):
    """A complete subtree of 2**level leaves, and its index among those of its level, from the left."""

    level: int
    number: int


class Range(NamedTuple):
    """The leaves from `begin` to `end`, without `end` itself."""

    begin: int
    end: int


Nodes = Mapping[Node, bytes]


def hash_leaf(entry: bytes) -> bytes:
    return hashlib.sha256(b"\x00" + entry).digest()


def hash_children(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def inclusion_ranges(index: int, size: int) -> list[Range]:
    """The ranges whose hashes prove that the tree of `size` leaves has this one, from the leaf's sibling upwards."""
    assert 0 <= index < size
    begin, end = 0, size
    found = []
    while end - begin > 1:
        middle = begin + _left_part(end - begin)
        if index < middle:
            found.append(Range(middle, end))
            end = middle
        else:
            found.append(Range(begin, middle))
            begin = middle
    return found[::-1]


def consistency_ranges(old: int, new: int) -> list[Range]:
    """The ranges whose hashes prove that the tree of `new` leaves begins with the tree of `old` leaves."""
    assert 0 <= old <= new
    if old == 0:
        return []  # Every tree begins with the empty one.
    begin, end = 0, new
    found = []
    while old != end:
        middle = begin + _left_part(end - begin)
        if old <= middle:
            found.append(Range(middle, end))
            end = middle
        else:
            found.append(Range(begin, middle))
            begin = middle
    if begin:
        found.append(Range(begin, end))
    return found[::-1]


def nodes_of(leaves: Range) -> list[Node]:
    """The complete subtrees that a range of a proof consists of, from left to right."""
    begin, found = leaves.begin, []
    while begin < leaves.end:
        level = (leaves.end - begin).bit_length() - 1
        assert begin % (1 << level) == 0, "no range of a proof begins inside a subtree"
        found.append(Node(level, begin >> level))
        begin += 1 << level
    return found


def nodes_of_all(ranges: Sequence[Range]) -> set[Node]:
    return {node for each in ranges for node in nodes_of(each)}


def hash_range(leaves: Range, known: Nodes) -> bytes:
    nodes = nodes_of(leaves)
    if not nodes:
        return EMPTY_ROOT
    hashed = known[nodes[-1]]
    for node in reversed(nodes[:-1]):
        hashed = hash_children(known[node], hashed)
    return hashed


def root_of(leaf_hashes: Sequence[bytes]) -> bytes:
    """The root of a whole tree, from its leaves."""
    if not leaf_hashes:
        return EMPTY_ROOT
    if len(leaf_hashes) == 1:
        return leaf_hashes[0]
    middle = _left_part(len(leaf_hashes))
    return hash_children(root_of(leaf_hashes[:middle]), root_of(leaf_hashes[middle:]))


def includes(leaf_hash: bytes, index: int, size: int, path: Sequence[bytes], root: bytes) -> bool:
    """Whether the path proves that the leaf is at this place of the tree (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, hashed = index, size - 1, leaf_hash
    for sibling in path:
        if last == 0:
            return False
        if place & 1 or place == last:
            hashed = hash_children(sibling, hashed)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            hashed = hash_children(hashed, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and hashed == root


def extends(old: int, old_root: bytes, new: int, new_root: bytes, path: Sequence[bytes]) -> bool:
    """Whether the path proves that the new tree begins with the old one (RFC 9162, 2.1.4.2)."""
    if not 0 <= old <= new:
        return False
    if old == 0:
        return not path and old_root == EMPTY_ROOT
    if old == new:
        return not path and old_root == new_root
    hashes = list(path) if old & (old - 1) else [old_root, *path]
    if not hashes:
        return False
    place, last = old - 1, new - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    of_old = of_new = hashes[0]
    for sibling in hashes[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            of_old, of_new = hash_children(sibling, of_old), hash_children(sibling, of_new)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            of_new = hash_children(of_new, sibling)
        place, last = place >> 1, last >> 1
    return last == 0 and of_old == old_root and of_new == new_root


def _left_part(count: int) -> int:
    """The number of leaves in the left subtree: the largest power of two below `size`."""
    return 1 << (count - 1).bit_length() - 1
