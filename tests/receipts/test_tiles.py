"""Tiles: their names, and that every hash of a tree can be computed from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.receipts.merkle_tree import Range, consistency_ranges, hash_range, inclusion_ranges, nodes_of_all, root_of
from malipo.receipts.tiles import Tile, TilePath, bundle, node_hashes, parse_path, path_of, split, tiles_of, width_at
from malipo.receipts.tree_store import grown_tiles
from tests.receipts.test_merkle_tree import tree

PATHS = {
    "0/000": TilePath(0, 0, 256),
    "0/x001/x234/067": TilePath(0, 1234067, 256),
    "1/005.p/17": TilePath(1, 5, 17),
    "entries/x001/000.p/255": TilePath(None, 1000, 255),
    "63/999": TilePath(63, 999, 256),
}
WRONG = [
    "",
    "0",
    "0/",
    "0/00",
    "0/0000",
    "0/1000",
    "00/000",
    "64/000",
    "0/x000/000",
    "0/001/002",
    "0/x001",
    "0/000.p/0",
    "0/000.p/256",
    "0/000.p/01",
    "entries/-01",
    "0/٠٠٠",
    "0/000\n",
]


@pytest.mark.parametrize("path", PATHS)
def test_a_path_names_a_tile(path: str) -> None:
    assert parse_path(path) == PATHS[path]
    assert path_of(PATHS[path]) == path


@pytest.mark.parametrize("path", WRONG)
def test_other_paths_name_none(path: str) -> None:
    assert parse_path(path) is None


@given(st.integers(0, 63), st.integers(0, 10**12), st.integers(1, 256))
def test_every_tile_has_one_path(level: int, index: int, width: int) -> None:
    tile = TilePath(level, index, width)
    assert parse_path(path_of(tile)) == tile


def test_a_bundle_has_each_entry_after_its_length() -> None:
    assert bundle([b"ab", b"", b"c" * 300]) == b"\0\2ab" + b"\0\0" + b"\1\x2c" + b"c" * 300


@pytest.mark.parametrize(
    ("level", "index", "size", "width"),
    [
        (0, 0, 0, 0),
        (0, 0, 5, 5),
        (0, 0, 256, 256),
        (0, 1, 256, 0),
        (0, 1, 300, 44),
        (1, 0, 255, 0),
        (1, 0, 256, 1),
        (1, 0, 70_000, 256),
        (1, 1, 70_000, 17),
        (2, 0, 70_000, 1),
    ],
)
def test_how_many_hashes_a_tile_has(level: int, index: int, size: int, width: int) -> None:
    assert width_at(level, index, size) == width


def test_proofs_of_a_tree_of_three_levels_come_from_few_tiles() -> None:
    hashes = tree(66_000)
    stored: dict[Tile, bytes] = {}
    last: dict[int, tuple[int, bytes]] = {}
    first, width = 0, 256
    for count in (1, 200, 56, 0):  # in pieces, as they are stored
        some = [b"".join(hashes[at * width : (at + 1) * width]) for at in range(first, first + count)]
        stored |= grown_tiles(first, some, last)
        first += count
    stored[Tile(0, 257)] = b"".join(hashes[257 * width :])
    stored[Tile(0, 257)] = stored[Tile(0, 257)][: 32 * (66_000 - 257 * width)]
    assert len(split(stored[Tile(1, 0)])) == 256
    assert len(split(stored[Tile(1, 1)])) == 1
    assert len(split(stored[Tile(2, 0)])) == 1

    for size in (66_000, 65_793, 65_536, 300, 256, 1):
        [root] = _hashes([Range(0, size)], stored)
        assert root == root_of(hashes[:size])
        for index in {0, size - 1, size // 3}:
            assert len(tiles_of(nodes_of_all(inclusion_ranges(index, size)))) <= 6
            expected = [root_of(hashes[each.begin : each.end]) for each in inclusion_ranges(index, size)]
            assert _hashes(inclusion_ranges(index, size), stored) == expected
    expected = [root_of(hashes[each.begin : each.end]) for each in consistency_ranges(65_537, 66_000)]
    assert _hashes(consistency_ranges(65_537, 66_000), stored) == expected


def _hashes(ranges: list[Range], stored: dict[Tile, bytes]) -> list[bytes]:
    nodes = nodes_of_all(ranges)
    known = node_hashes(nodes, {each: stored[each] for each in tiles_of(nodes)})
    return [hash_range(each, known) for each in ranges]
