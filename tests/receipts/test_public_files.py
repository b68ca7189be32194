"""A mirror of a log with whole tiles: anybody can compute its root, each tile above, and each proof, from its files."""

from malipo.receipts import checkpoint, public_files, tiles
from malipo.receipts.merkle_tree import hash_leaf, root_of
from tests.receipts.log_stack import LogStack
from tests.receipts.test_over_http import split


async def test_a_mirror_of_a_log_of_three_tiles(stack: LogStack) -> None:
    await stack.fill(701)
    published = await stack.sign()
    assert published is not None
    assert published.size == 702

    async def read(path: str) -> bytes | None:
        async with stack.database.snapshot() as connection:
            return await public_files.find_tile(connection, None, path)

    entries = []
    for number, width in ((0, 256), (1, 256), (2, 190)):
        path = f"{number:03}" + ("" if width == 256 else f".p/{width}")
        bundle = await read(f"entries/{path}")
        assert bundle is not None
        found = split(bundle)
        assert len(found) == width
        assert await read(f"0/{path}") == b"".join(map(hash_leaf, found))
        entries += found
    hashes = [hash_leaf(each) for each in entries]
    assert root_of(hashes) == checkpoint.head_of(published.note).root
    above = [tiles.root_of_hashes(hashes[at : at + 256]) for at in (0, 256)]
    assert await read("1/000.p/2") == b"".join(above)
    assert await read("1/000.p/1") == above[0]
    # A part of a whole tile is what it was, and there is no more than a checkpoint covers.
    assert await read("0/001.p/3") == b"".join(hashes[256:259])
    for missing in (
        "entries/002",
        "entries/002.p/191",
        "0/002",
        "0/003.p/1",
        "1/000",
        "1/000.p/3",
        "1/001.p/1",
        "2/000.p/1",
    ):
        assert await read(missing) is None, missing
