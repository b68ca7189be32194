"""Reads hashes and proofs of a stored log from a few of its tiles, and stores tiles that are complete."""

from collections.abc import Collection, Iterable

from malipo.db import Conn, Tx
from malipo.errors import Impossible
from malipo.receipts import tiles
from malipo.receipts.merkle_tree import (
    Range,
    consistency_ranges,
    hash_leaf,
    hash_range,
    inclusion_ranges,
    nodes_of_all,
)
from malipo.receipts.store import facts, logs
from malipo.receipts.store.logs import Log
from malipo.receipts.tiles import WIDTH, Tile

_TILES_AT_ONCE = 32


class LogBroken(Impossible):
    """The log lacks leaves: somebody has changed the database."""


async def find_root(connection: Conn, log: Log, size: int) -> bytes:
    """The root of the first `size` leaves."""
    [root] = await find_hashes(connection, log, [Range(0, size)])
    return root


async def find_inclusion_path(connection: Conn, log: Log, index: int, size: int) -> list[bytes]:
    return await find_hashes(connection, log, inclusion_ranges(index, size))


async def find_consistency_path(connection: Conn, log: Log, old: int, new: int) -> list[bytes]:
    return await find_hashes(connection, log, consistency_ranges(old, new))


async def find_hashes(connection: Conn, log: Log, ranges: list[Range]) -> list[bytes]:
    """The hashes of the ranges of a proof."""
    nodes = nodes_of_all(ranges)
    found = await find_tiles(connection, log, tiles.tiles_of(nodes))
    known = tiles.node_hashes(nodes, found)
    return [hash_range(each, known) for each in ranges]


async def find_tiles(connection: Conn, log: Log, wanted: Collection[Tile]) -> dict[Tile, bytes]:
    """Find tiles. Those of leaves that are incomplete or not stored yet are computed from the entries."""
    found = await logs.find_tiles(connection, log.number, wanted)
    for tile in wanted:
        if tile not in found:
            if tile.level:
                raise LogBroken(f"The receipt log {log.origin} lacks the tile {tile.number} of level {tile.level}.")
            found[tile] = await _hash_leaf_tile(connection, log, tile.number)
    return found


async def find_entries(connection: Conn, log: Log, begin: int, end: int) -> list[bytes]:
    """The entries of leaves. All of them must exist."""
    entries = await facts.find_entries(connection, log.number, begin=begin, end=end)
    if begin == 0 and end:
        entries.insert(0, (log.genesis or "").encode())
    if len(entries) != end - begin:
        raise LogBroken(f"The receipt log {log.origin} lacks leaves from {begin} to {end}.")
    return entries


async def _hash_leaf_tile(connection: Conn, log: Log, index: int) -> bytes:
    begin = index * WIDTH
    entries = await find_entries(connection, log, begin, max(begin, min(begin + WIDTH, log.size)))
    return b"".join(map(hash_leaf, entries))


async def store_complete_tiles(tx: Tx, log: Log) -> bool:
    """Store some of the tiles that are complete by now. Returns whether there are more."""
    first = await logs.count_leaf_tiles(tx, log.number)
    end = min(log.size // WIDTH, first + _TILES_AT_ONCE)
    if first >= end:
        return False
    entries = await find_entries(tx, log, first * WIDTH, end * WIDTH)
    hashed = [b"".join(map(hash_leaf, entries[at : at + WIDTH])) for at in range(0, len(entries), WIDTH)]
    last = await logs.find_last_tiles(tx, log.number)
    await logs.write_tiles(tx, log.number, grown_tiles(first, hashed, last))
    return end < log.size // WIDTH


def grown_tiles(first: int, leaf_tiles: Iterable[bytes], last: dict[int, tuple[int, bytes]]) -> dict[Tile, bytes]:
    """The tiles that change when complete tiles of leaves are added; `last` is the last tile of each level. Pure."""
    grown: dict[Tile, bytes] = {}
    for index, tile in enumerate(leaf_tiles, start=first):
        grown[Tile(0, index)] = tile
        level, complete = 0, tile
        while len(complete) == WIDTH * 32:
            level += 1
            place, hashes = last.get(level, (0, b""))
            if len(hashes) == WIDTH * 32:
                place, hashes = place + 1, b""
            complete = hashes + tiles.root_of_hashes(tiles.split(complete))
            last[level] = place, complete
            grown[Tile(level, place)] = complete
    return grown
