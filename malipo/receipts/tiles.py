"""Tiles: 256 hashes of the tree in a row, as C2SP tlog-tiles stores and names them. Pure.

A tile of level 0 has hashes of leaves; a hash of a tile of level n is the root of a complete tile of level n - 1. So
every complete subtree can be computed from one tile.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from malipo.receipts.merkle_tree import HASH_BYTES, Node, hash_children

WIDTH = 256
_HEIGHT = 8
_PATH = re.compile(r"(entries|[0-9]|[1-5][0-9]|6[0-3])/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?")


class Tile(NamedTuple):
    level: int
    number: int


class TilePath(NamedTuple):
    """The tile that a path below `tile/` names; a bundle of entries has no level."""

    level: int | None
    number: int
    width: int


def parse_path(path: str) -> TilePath | None:
    """Parse `0/x001/x234/067` or `entries/000.p/17`; None if the path is malformed."""
    match = _PATH.fullmatch(path)
    if match is None:
        return None
    level, digits, width = match.groups()
    parts = digits.split("/")
    if len(parts) > 1 and parts[0] == "x000":
        return None
    number = int("".join(part[-3:] for part in parts))
    if width is not None and int(width) >= WIDTH:
        return None
    return TilePath(None if level == "entries" else int(level), number, WIDTH if width is None else int(width))


def path_of(tile: TilePath) -> str:
    digits = f"{tile.number:d}"
    digits = digits.rjust(-(-len(digits) // 3) * 3, "0")
    parts = [digits[at : at + 3] for at in range(0, len(digits), 3)]
    named = "/".join([*(f"x{part}" for part in parts[:-1]), parts[-1]])
    level = "entries" if tile.level is None else str(tile.level)
    return f"{level}/{named}" + ("" if tile.width == WIDTH else f".p/{tile.width}")


def width_at(tile_level: int, number: int, size: int) -> int:
    """The number of hashes of the tile in a tree of this size."""
    hashes = size >> _HEIGHT * tile_level
    return min(max(hashes - number * WIDTH, 0), WIDTH)


def tile_of(node: Node) -> Tile:
    """The tile from which the hash of a complete subtree is computed."""
    level, below = divmod(node.level, _HEIGHT)
    return Tile(level, (node.number << below) // WIDTH)


def tiles_of(nodes: Iterable[Node]) -> set[Tile]:
    return {tile_of(node) for node in nodes}


def node_hashes(nodes: Iterable[Node], tiles: Mapping[Tile, bytes]) -> dict[Node, bytes]:
    """The hashes of complete subtrees, from their tiles."""
    return {node: _hash_node(node, tiles[tile_of(node)]) for node in nodes}


def _hash_node(node: Node, tile: bytes) -> bytes:
    below = node.level % _HEIGHT
    begin = (node.number << below) % WIDTH
    return root_of_hashes(split(tile)[begin : begin + (1 << below)])


def split(tile: bytes) -> list[bytes]:
    return [tile[at : at + HASH_BYTES] for at in range(0, len(tile), HASH_BYTES)]


def root_of_hashes(row: Sequence[bytes]) -> bytes:
    """The root of a power of two of hashes."""
    assert row, "the tile has these hashes"
    assert len(row) & (len(row) - 1) == 0
    while len(row) > 1:
        row = [hash_children(row[at], row[at + 1]) for at in range(0, len(row), 2)]
    return row[0]


def bundle(entries: Iterable[bytes]) -> bytes:
    """The entries in one file: each after its length, two bytes, big-endian."""
    return b"".join(len(entry).to_bytes(2, "big") + entry for entry in entries)
