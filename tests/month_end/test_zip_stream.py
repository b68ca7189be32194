"""A ZIP file that is written piece by piece: the same members make the same bytes."""

import hashlib
import io
import tracemalloc
import zipfile
from collections.abc import AsyncIterator

import pytest

from malipo.month_end.zip_stream import MANIFEST, SIGNATURE, Member, safe_name, zip_pieces


async def _pieces(*texts: bytes) -> AsyncIterator[bytes]:
    for each in texts:
        yield each


def _sign(manifest: bytes) -> bytes:
    return hashlib.sha512(manifest).digest()


async def _zip(*members: tuple[str, list[bytes]]) -> bytes:
    async def all_() -> AsyncIterator[Member]:
        for name, texts in members:
            yield Member(name, _pieces(*texts))

    return b"".join([piece async for piece in zip_pieces(all_(), _sign)])


async def test_it_has_every_member_and_their_hashes_and_nothing_of_when_it_was_made() -> None:
    members: tuple[tuple[str, list[bytes]], ...] = (
        ("README.txt", [b"a", b"b"]),
        ("closes/close-2026-11-01.csv", []),
        ("bank/x.sta", [b"\0" * 70_000]),
    )
    first, second = await _zip(*members), await _zip(*members)
    assert first == second
    with zipfile.ZipFile(io.BytesIO(first)) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == [*(name for name, _ in members), MANIFEST, SIGNATURE]
        assert {each.date_time for each in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
        listed = dict(line.split("  ")[::-1] for line in archive.read(MANIFEST).decode().splitlines())
        assert archive.read(SIGNATURE) == _sign(archive.read(MANIFEST))
        assert listed == {name: hashlib.sha256(b"".join(texts)).hexdigest() for name, texts in members}


@pytest.mark.parametrize("name", ["../x", "/x", "a//b", "a/../b", ".x", "a b", "a\nb", ""])
async def test_a_name_that_leads_out_of_the_folder_is_never_written(name: str) -> None:
    with pytest.raises(AssertionError):
        await _zip((name, []))


@pytest.mark.parametrize(
    ("given", "safe"),
    [
        ("MPESA Oct 2026.csv", "MPESA-Oct-2026.csv"),
        ("../../etc/passwd", "etc-passwd"),
        (".bashrc", "bashrc"),
        ("taarifa ya mwezi – Öl.xlsx", "taarifa-ya-mwezi-l.xlsx"),
        ("x" * 300 + ".csv", "x" * 80 + ".csv"),
        ("\n\u202e", "file"),
        ("-rf", "rf"),
    ],
)
def test_names_of_others_become_safe_ones(given: str, safe: str) -> None:
    assert safe_name(given) == safe


async def test_a_large_member_takes_no_memory() -> None:
    piece = bytes(range(256)) * 256

    async def many() -> AsyncIterator[bytes]:
        for _ in range(600):  # 39 MB
            yield piece

    async def members() -> AsyncIterator[Member]:
        yield Member("journal.csv", many())

    tracemalloc.start()
    try:
        async for _ in zip_pieces(members(), _sign):
            pass
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 3_000_000
