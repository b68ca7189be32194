"""A ZIP file, written piece by piece: in constant memory, and the same members always make the same bytes.

Names, order, times and rights of the members follow from what they are, and from nothing else. The last members are a
list of the SHA-256 hashes of all others, as `sha256sum --check` reads it, and the signature of that list.
"""

import hashlib
import io
import re
import zipfile
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import Any, NamedTuple

MANIFEST = "MANIFEST.sha256"
SIGNATURE = "MANIFEST.sig"

_EARLIEST = (1980, 1, 1, 0, 0, 0)  # that a ZIP file can say
_RIGHTS = 0o100644 << 16
_UNIX = 3
_PIECE = 256 * 1024  # bytes that are passed on at once
_SAFE = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*(/[A-Za-z0-9_][A-Za-z0-9._-]*)*")
_NOT_SAFE = re.compile(r"[^A-Za-z0-9._-]+")
_MOST_NAME = 80


class Member(NamedTuple):
    name: str
    pieces: AsyncIterable[bytes]


class _Sink(io.RawIOBase):
    """Holds what was written until it is taken. It cannot seek, so sizes stand after the members: a file and a download
    are the same bytes."""

    def __init__(self) -> None:
        self._held = bytearray()

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        self._held += data
        return len(data)

    def __len__(self) -> int:
        return len(self._held)

    def take(self) -> bytes:
        held = bytes(self._held)
        self._held.clear()
        return held


def safe_name(name: str) -> str:
    """The name of a file that somebody gave us, without what a system could take for a path or for a command."""
    plain = _NOT_SAFE.sub("-", name).strip("-.")
    stem, dot, ending = plain.rpartition(".")
    return f"{stem[:_MOST_NAME]}{dot}{ending[:10]}" if dot else plain[:_MOST_NAME] or "file"


async def zip_pieces(members: AsyncIterable[Member], sign: Callable[[bytes], bytes]) -> AsyncIterator[bytes]:
    sink, hashes = _Sink(), dict[str, str]()
    with zipfile.ZipFile(sink, "w") as archive:
        async for member in members:
            assert _SAFE.fullmatch(member.name), member.name
            assert member.name not in hashes, member.name
            digest = hashlib.sha256()
            # How large it becomes is not known here, so it may become larger than 4 GiB.
            with archive.open(_about(member.name), "w", force_zip64=True) as file:
                async for piece in member.pieces:
                    digest.update(piece)
                    file.write(piece)
                    if len(sink) >= _PIECE:
                        yield sink.take()
            hashes[member.name] = digest.hexdigest()
        manifest = "".join(f"{each}  {name}\n" for name, each in sorted(hashes.items())).encode()
        archive.writestr(_about(MANIFEST), manifest)
        archive.writestr(_about(SIGNATURE), sign(manifest))
    yield sink.take()


def _about(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EARLIEST)
    info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, _UNIX, _RIGHTS
    return info
