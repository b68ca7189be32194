"""The tree of buckets, compared with counting one by one."""

import random
from itertools import pairwise

import pytest

from malipo.rollups.bucket_tree import TOP, Bucket, Piece, Range, Tree, add_up, cut, pick, pieces_of

SMALL = Tree(leaf_bits=2)
END = 2 ** (2 + 5 * TOP) * 3


def test_a_number_is_in_one_bucket_of_each_level() -> None:
    assert [*SMALL.buckets_of(0b1_00001_00010_00011_11)] == [
        Bucket(0, 0b1_00001_00010_00011),
        Bucket(1, 0b1_00001_00010),
        Bucket(2, 0b1_00001),
        Bucket(3, 0b1),
    ]


def test_a_bucket_ends_where_the_next_begins() -> None:
    assert SMALL.range_of(Bucket(0, 3)) == Range(12, 15)
    assert SMALL.range_of(Bucket(1, 1)) == Range(128, 255)
    assert SMALL.children_of(Bucket(1, 1)) == (0, 32, 63)


@pytest.mark.parametrize(
    ("first", "last", "rows", "edges"),
    [
        (0, 3, [(0, 0, 0)], []),
        (0, 2, [], [Range(0, 2)]),
        (1, 3, [], [Range(1, 3)]),
        (1, 8, [(0, 1, 1)], [Range(1, 3), Range(8, 8)]),
        (0, 127, [(1, 0, 0)], []),
        (4, 127, [(0, 1, 31)], []),
        (4, 260, [(0, 1, 31), (0, 64, 64), (1, 1, 1)], [Range(260, 260)]),
        (5, 4, [], []),
        (-9, 3, [(0, 0, 0)], []),
        (None, None, [(3, 0, 2**33 - 1)], []),
    ],
)
def test_a_range_is_cut_into_the_largest_whole_buckets(
    first: int | None, last: int | None, rows: list[tuple[int, int, int]], edges: list[Range]
) -> None:
    cover = SMALL.cover(first, last)
    assert (list(cover.rows), list(cover.edges)) == (rows, edges)


def test_any_range_is_covered_once_by_few_buckets() -> None:
    chance = random.Random(1)
    for _ in range(300):
        first, last = sorted(chance.choices(range(END), k=2))
        cover = SMALL.cover(first, last)
        ranges = [*cover.edges]
        for level, low, high in cover.rows:
            ranges.append(Range(SMALL.range_of(Bucket(level, low)).first, SMALL.range_of(Bucket(level, high)).last))
            assert high - low < 2 * 32 - 1 or level == TOP
        ranges.sort(key=lambda each: each.first)
        assert (ranges[0].first, ranges[-1].last) == (first, last)
        assert all(before.last + 1 == after.first for before, after in pairwise(ranges))
        assert all(edge.last - edge.first < 2 * 4 for edge in cover.edges)


@pytest.mark.parametrize("seed", range(5))
def test_walking_down_finds_the_same_as_counting(seed: int) -> None:
    """Counted and uncounted things, and every offset from the latest on."""
    chance = random.Random(seed)
    numbers = sorted(chance.choices(range(END), k=60) + [7] * 5)
    is_apart = [chance.random() < 0.3 for _ in numbers]
    apart = [number for number, each in zip(numbers, is_apart, strict=True) if each]
    things = [("m", number, 1) for number, each in zip(numbers, is_apart, strict=True) if not each]
    counts = {bucket: counted[0] for (_, bucket), counted in add_up(SMALL, things).items()}
    (top,) = SMALL.cover(None, None).rows
    expected = numbers[::-1]
    for skip in range(0, len(numbers), 3):
        pieces, rest = pick(pieces_of(SMALL, top, counts, apart), skip=skip, take=4)
        for _ in range(TOP):
            inner = [
                child
                for piece in pieces
                if piece.bucket
                for child in pieces_of(SMALL, SMALL.children_of(piece.bucket), counts, apart)
            ]
            pieces, rest = pick(inner, skip=rest, take=4)
        assert sum(piece.count for piece in pieces) <= rest + 4 + 8, "no more is read than is needed"
        inside = [each for piece in pieces for each in expected if piece.range.first <= each <= piece.range.last]
        assert inside[rest : rest + 4] == expected[skip : skip + 4]


def test_nothing_is_picked_beyond_the_end() -> None:
    pieces = [Piece(Range(10, 19), 3), Piece(Range(0, 9), 2)]
    assert pick(pieces, skip=5, take=2) == ([], 0)
    assert pick(pieces, skip=4, take=2) == ([pieces[1]], 1)
    assert pick(pieces, skip=2, take=2) == (pieces, 2)


def test_things_are_added_up_for_each_owner_and_sort() -> None:
    counted = add_up(SMALL, [("a", 0, 1), ("a", 1, 3), ("b", 0, 1), ("a", 128, 1)])
    assert counted["a", Bucket(0, 0)] == [1, 0, 1]
    assert counted["b", Bucket(0, 0)] == [1], "and nothing after the last sort that it has"
    assert counted["a", Bucket(1, 1)] == [1]
    assert counted["a", Bucket(2, 0)] == [2, 0, 1]
    assert counted["a", Bucket(TOP, 0)] == [2, 0, 1]


def test_a_full_piece_is_cut_to_what_is_wanted_of_it() -> None:
    full, sparse = Piece(Range(100, 199), 100), Piece(Range(0, 99), 7)
    assert cut([full, sparse], skip=10, take=5) == ([Piece(Range(185, 189), 5), sparse], 0)
    assert cut([full, sparse], skip=97, take=5) == ([Piece(Range(100, 102), 3), sparse], 0)
    assert cut([sparse, full], skip=3, take=5) == ([sparse, full], 3)
    assert cut([], skip=0, take=5) == ([], 0)
