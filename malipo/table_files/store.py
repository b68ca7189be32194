"""Files from outside as they came, kept for auditors: by their SHA-256, compressed, in small parts."""

import zlib
from collections.abc import AsyncIterator
from pathlib import Path

from malipo.db import Conn, Tx

_PART = 256 * 1024


async def keep(tx: Tx, sha256: bytes, path: Path) -> None:
    """Keep the file with this hash. It is kept once, however often it comes."""
    if await has(tx, sha256):
        return
    with path.open("rb") as file:
        number = 0
        while part := file.read(_PART):
            await tx.execute(
                "INSERT INTO file_contents (sha256, part, content) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
                sha256,
                number,
                zlib.compress(part),
            )
            number += 1


async def has(connection: Conn, sha256: bytes) -> bool:
    return bool(await connection.fetchval("SELECT EXISTS (SELECT FROM file_contents WHERE sha256 = $1)", sha256))


async def read(connection: Conn, sha256: bytes) -> AsyncIterator[bytes]:
    """Part by part; nothing, if the file was not kept."""
    number = 0
    while True:
        part: bytes | None = await connection.fetchval(
            "SELECT content FROM file_contents WHERE sha256 = $1 AND part = $2", sha256, number
        )
        if part is None:
            return
        yield zlib.decompress(part)
        number += 1
