"""The public files of a public log: checkpoints, tiles and keys, in the format of C2SP tlog-tiles."""

from typing import Any

from malipo.db import Conn
from malipo.receipts import log_keys, tree_store
from malipo.receipts.store import logs
from malipo.receipts.tiles import WIDTH, Tile, bundle, parse_path, width_at


async def find_checkpoint(connection: Conn, number: int | None) -> str | None:
    """The last checkpoint of a log, or of the latest log that has one."""
    found = await logs.find_published(connection, log=number)
    return None if found is None else found.note


async def find_tile(connection: Conn, number: int | None, path: str) -> bytes | None:
    """A tile of hashes, or a bundle of entries; None if the published tree has no such tile."""
    wanted, published = parse_path(path), await logs.find_published(connection, log=number)
    log = None if published is None else await logs.find(connection, published.log)
    if wanted is None or published is None or log is None:
        return None
    if wanted.width > width_at(wanted.level or 0, wanted.number, published.size):
        return None
    if wanted.level is None:
        begin = wanted.number * WIDTH
        return bundle(await tree_store.find_entries(connection, log, begin, begin + wanted.width))
    tile = Tile(wanted.level, wanted.number)
    found = await tree_store.find_tiles(connection, log, {tile})
    return found[tile][: wanted.width * 32]


async def find_keys(connection: Conn) -> dict[str, Any]:
    """The keys that have signed, the current one last, and the handovers between them."""
    found = await logs.find_keys(connection)
    keys = await log_keys.find_verifier_keys(connection)
    return {
        "keys": [str(each) for each in keys],
        "handovers": [each.handover for each in found if each.handover is not None],
    }
