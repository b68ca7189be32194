"""A tree of buckets with counts, thirty-two of them in each bucket of the level above. Pure.

A thing is counted under its number: a payment under the millisecond of its creation, a statement line under its line
number. To count a range, take the largest whole buckets that fit into it, and read the things themselves at either end.
To find the thing at an offset, walk down: skip buckets until the offset is inside one, and continue in that one only.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

_FAN_BITS = 5
TOP = 3  # the highest level; the lowest, 0, holds the leaves
_FAR = 2**50  # larger than every number: the end of an open range


@dataclass(frozen=True, slots=True, order=True)
class Bucket:
    """Thirty-two of one level make one of the next."""

    level: int
    number: int


@dataclass(frozen=True, slots=True)
class Range:
    """A range from one number to another, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Cover:
    """A range, cut into rows of whole buckets, each row of one level, and the edges that fill no leaf."""

    rows: Sequence[tuple[int, int, int]]  # level, first bucket, last bucket
    edges: Sequence[Range]


@dataclass(frozen=True, slots=True)
class Tree:
    leaf_bits: int  # how many numbers are in a leaf, as a power of two

    def bits(self, level: int) -> int:
        return self.leaf_bits + _FAN_BITS * level

    def buckets_of(self, number: int) -> Iterator[Bucket]:
        """The buckets that a thing is counted in: one of each level."""
        return (Bucket(level, number >> self.bits(level)) for level in range(TOP + 1))

    def range_of(self, bucket: Bucket) -> Range:
        bits = self.bits(bucket.level)
        return Range(bucket.number << bits, ((bucket.number + 1) << bits) - 1)

    def children_of(self, bucket: Bucket) -> tuple[int, int, int]:
        """The row of buckets that this one is made of."""
        first = bucket.number << _FAN_BITS
        return bucket.level - 1, first, first + (1 << _FAN_BITS) - 1

    def cover(self, first: int | None, last: int | None) -> Cover:
        """The numbers between these two, both included; None: without limit."""
        begin, end = max(first or 0, 0), _FAR if last is None else min(last + 1, _FAR)
        if begin >= end:
            return Cover((), ())
        low, high = -(-begin >> self.leaf_bits), end >> self.leaf_bits
        if low >= high:
            return Cover((), (Range(begin, end - 1),))
        edges = (Range(begin, (low << self.leaf_bits) - 1), Range(high << self.leaf_bits, end - 1))
        return Cover(tuple(_rows(low, high)), tuple(edge for edge in edges if edge.first <= edge.last))


def _rows(low: int, high: int) -> Iterator[tuple[int, int, int]]:
    """Leaves from `low` to below `high`, with the largest buckets in the middle."""
    for level in range(TOP + 1):
        upper_low, upper_high = -(-low >> _FAN_BITS), high >> _FAN_BITS
        if level == TOP or upper_low >= upper_high:
            yield level, low, high - 1
            return
        if low < upper_low << _FAN_BITS:
            yield level, low, (upper_low << _FAN_BITS) - 1
        if upper_high << _FAN_BITS < high:
            yield level, upper_high << _FAN_BITS, high - 1
        low, high = upper_low, upper_high


@dataclass(frozen=True, slots=True)
class Piece:
    """A range, and how many things are in it. Without a bucket the things themselves are read."""

    range: Range
    count: int
    bucket: Bucket | None = None


def pick(pieces: Sequence[Piece], *, skip: int, take: int) -> tuple[list[Piece], int]:
    """The pieces that contain the things after the first `skip`; and how many to skip inside those pieces."""
    picked: list[Piece] = []
    passed = 0
    rest = skip
    for piece in pieces:
        if passed + piece.count <= skip:
            rest -= piece.count
        elif passed < skip + take:
            picked.append(piece)
        else:
            break
        passed += piece.count
    return [piece for piece in picked if piece.count], rest if picked else 0


def cut(pieces: list[Piece], *, skip: int, take: int) -> tuple[list[Piece], int]:
    """The same pieces, narrowed to what is taken, if each number of the first piece is a thing."""
    if not pieces or pieces[0].count != pieces[0].range.last - pieces[0].range.first + 1:
        return pieces, skip
    last = pieces[0].range.last - skip
    first = max(pieces[0].range.first, last - take + 1)
    return [Piece(Range(first, last), last - first + 1), *pieces[1:]], 0


def pieces_of(tree: Tree, row: tuple[int, int, int], counts: Mapping[Bucket, int], apart: Sequence[int]) -> list[Piece]:
    """A row of buckets, the latest first, without the empty ones.

    `apart` are the numbers, in order, of things that are not in the counts.
    """
    level, first, last = row
    numbers = {bucket.number for bucket in counts if bucket.level == level and first <= bucket.number <= last}
    bits = tree.bits(level)
    low, high = bisect_left(apart, first << bits), bisect_left(apart, (last + 1) << bits)
    numbers |= {number >> bits for number in apart[low:high]}
    found = []
    for number in sorted(numbers, reverse=True):
        bucket = Bucket(level, number)
        within = tree.range_of(bucket)
        count = counts.get(bucket, 0) + bisect_right(apart, within.last) - bisect_left(apart, within.first)
        found.append(Piece(within, count, bucket))
    return found


def add_up(tree: Tree, entries: Iterable[tuple[str, int, int]]) -> dict[tuple[str, Bucket], list[int]]:
    """Things as (merchant, number, category from 1 on), counted in every bucket they are in.

    The counts of a bucket end with the last category that it has: a merchant with few payments has nearly a leaf for
    each, and zeros would be half of it.
    """
    counted: dict[tuple[str, Bucket], list[int]] = {}
    for whose, number, category in entries:
        for bucket in tree.buckets_of(number):
            counts = counted.setdefault((whose, bucket), [])
            counts.extend([0] * (category - len(counts)))
            counts[category - 1] += 1
    return counted
