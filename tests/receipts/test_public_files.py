"""A mirror of a log with whole tiles: anybody can compute its root, each tile above, and each proof, from its files."""

import json
import subprocess
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from malipo.payments.transaction import Status, Type
from malipo.receipts import checkpoint, public_files, tiles
from malipo.receipts.checkpoint import TreeHead
from malipo.receipts.merkle_tree import hash_leaf, root_of
from malipo.receipts.store import logs
from tests.receipts.log_stack import VERIFIER, LogStack, verifier
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


async def forged(stack: LogStack, size: int, root: bytes) -> str:
    """A checkpoint that the log's own key has signed, of another history."""
    async with stack.database.read() as connection:
        [key] = await logs.find_keys(connection)
    secret = bytes.fromhex(stack.encryption.decrypt(key.secret, owner=key.id))
    head = TreeHead((await stack.log()).origin, size, root)
    return checkpoint.sign(head, Ed25519PrivateKey.from_private_bytes(secret), time=1_790_000_000)


async def test_whoever_has_kept_a_checkpoint_verifies_by_tiles_that_a_later_one_extends_it(
    stack: LogStack, tmp_path: Path
) -> None:
    paid = await stack.steps.ended(Type.COLLECTION, Status.COMPLETED)
    await stack.number()
    await stack.fill(300)
    older = await stack.sign()
    await stack.fill(400)
    newer = await stack.sign()
    assert older is not None
    assert newer is not None
    await stack.fill(100)
    await stack.sign()  # The last tile of the receipt's checkpoint is whole by now.
    tool, [key] = verifier(), (await stack.keys())["keys"]
    for path in tool.tile_paths(newer.size):
        async with stack.database.snapshot() as connection:
            found = await public_files.find_tile(connection, None, path)
        assert found is not None
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(found)
    await stack.execute("DELETE FROM receipt_checkpoints WHERE size > $1", newer.size)  # The receipt is from then.
    receipt = tmp_path / "receipt.json"
    receipt.write_text(json.dumps(await stack.receipt(paid.id)))

    def verify(note: str) -> tuple[int, str]:
        (tmp_path / "older.txt").write_text(note)
        options = [f"--key={key}", f"--older={tmp_path / 'older.txt'}", f"--tiles={tmp_path}"]
        command = [sys.executable, "-I", str(VERIFIER), str(receipt), *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout

    assert verify(older.note)[0] == 0
    assert verify(newer.note)[0] == 0
    for size, root, why in (
        (older.size, b"x" * 32, "does not extend the older one"),
        (older.size + 1, checkpoint.head_of(older.note).root, "does not extend the older one"),
        (newer.size + 1, b"x" * 32, "is the smaller one"),
    ):
        code, said = verify(await forged(stack, size, root))
        assert (code, why in said) == (1, True), said
    for path in ("0/000", "0/002.p/190"):
        whole = (tmp_path / path).read_bytes()
        for wrong in (b"x" + whole[1:], whole[:-32], whole + whole[:32]):
            (tmp_path / path).write_bytes(wrong)
            code, said = verify(older.note)
            assert (code, "the tiles are not those of the newer checkpoint" in said) == (1, True), said
        (tmp_path / path).write_bytes(whole)
    (tmp_path / "0/001").unlink()
    assert verify(older.note)[0] == 1


def test_the_tiles_of_larger_logs_have_the_names_of_the_service() -> None:
    tool = verifier()
    for size in (1, 255, 256, 257, 256_000, 256_001, 300_000):
        found = list(tool.tile_paths(size))
        parsed = [tiles.parse_path(each) for each in found]
        expected = [tiles.TilePath(0, at, tiles.width_at(0, at, size)) for at in range(-(-size // 256))]
        assert parsed == expected
