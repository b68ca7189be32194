"""How long the proofs of a receipt log of ten million leaves take: `python -m benchmarks.receipt_proofs`.

The tiles are those of ten million entries, in a PostgreSQL of its own. The rows of facts, of which a proof reads 256 at
most, are there for the last tile only.
"""

import argparse
import asyncio
import hashlib
import random
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

from malipo.db import Conn, Database
from malipo.db.embedded import server
from malipo.db.migrate import migrate
from malipo.receipts import tree_store
from malipo.receipts.merkle_tree import hash_leaf, includes
from malipo.receipts.store import logs
from malipo.receipts.store.logs import Log
from malipo.receipts.tiles import WIDTH, Tile

_TILES_AT_ONCE = 512
_QUESTIONS = 1000


def entry(leaf: int) -> bytes:
    return hashlib.sha256(b"%d" % leaf).digest()


def leaf_tiles(first: int, end: int) -> Iterator[bytes]:
    for tile in range(first, end):
        yield b"".join(hash_leaf(entry(leaf)) for leaf in range(tile * WIDTH, (tile + 1) * WIDTH))


async def fill(database: Database, leaves: int) -> Log:
    async with database.begin() as tx:
        number = await logs.make(tx, "pay.example.com/log")
        await tx.execute("UPDATE receipt_logs SET size = $1, genesis = '' WHERE number = $2", leaves, number)
        await tx.executemany(
            """
            INSERT INTO receipt_facts (merchant_id, transaction_id, subject_id, kind, log_number, leaf_index, entry)
            VALUES ('mer_1', $1, $1, 'completed', $2, $3, $4)
            """,
            [(f"txn_{leaf}", number, leaf, entry(leaf)) for leaf in range(leaves // WIDTH * WIDTH, leaves)],
        )
    last: dict[int, tuple[int, bytes]] = {}
    for first in range(0, leaves // WIDTH, _TILES_AT_ONCE):
        end = min(first + _TILES_AT_ONCE, leaves // WIDTH)
        grown: dict[Tile, bytes] = tree_store.grown_tiles(first, leaf_tiles(first, end), last)
        async with database.begin() as tx:
            await logs.write_tiles(tx, number, grown)
    async with database.read() as connection:
        found = await logs.find(connection, number)
    assert found is not None
    return found


async def measure(connection: Conn, name: str, questions: list[int], ask: Callable[[int], Awaitable[object]]) -> None:
    took = []
    for each in questions:
        began = time.perf_counter()
        await ask(each)
        took.append((time.perf_counter() - began) * 1000)
    took.sort()
    middle, most = took[len(took) // 2], took[len(took) * 99 // 100]
    print(f"{name:<44} {middle:6.2f} ms, 99 % within {most:6.2f} ms")


async def run(url: str, leaves: int) -> None:
    async with Database.opened(url, size=2) as database:
        await migrate(database)
        began = time.perf_counter()
        log = await fill(database, leaves)
        print(f"{leaves:,} leaves, filled in {time.perf_counter() - began:.0f} s")
        async with database.begin() as tx:
            await tx.execute("ANALYZE receipt_tiles, receipt_facts")
        chance = random.Random(1)  # noqa: S311
        random_leaves = [chance.randrange(1, leaves) for _ in range(_QUESTIONS)]
        async with database.snapshot() as connection:
            size = await connection.fetchval("SELECT pg_total_relation_size('receipt_tiles')")
            print(f"tiles: {size / 1e6:,.0f} MB")
            root = await tree_store.find_root(connection, log, leaves)
            for leaf in random_leaves[:20]:
                path = await tree_store.find_inclusion_path(connection, log, leaf, leaves)
                assert includes(hash_leaf(entry(leaf)), leaf, leaves, path, root)
            await measure(
                connection,
                "inclusion proof of a leaf",
                random_leaves,
                lambda leaf: tree_store.find_inclusion_path(connection, log, leaf, leaves),
            )
            await measure(
                connection,
                "consistency proof from an earlier size",
                random_leaves,
                lambda old: tree_store.find_consistency_path(connection, log, old, leaves),
            )
            await measure(
                connection,
                "root, as before each signature",
                random_leaves[:200],
                lambda _: tree_store.find_root(connection, log, leaves),
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--leaves", type=int, default=10_000_123)
    leaves = parser.parse_args().leaves
    with tempfile.TemporaryDirectory() as folder, server(Path(folder)) as url:
        asyncio.run(run(url, leaves))


if __name__ == "__main__":
    main()
