"""The history of a run: a hash of everything that happened in its order, and on demand the lines themselves.

Two runs of one seed are the same if their hashes are. It is written at every turn: so pieces are collected, and hashed
together.
"""

import hashlib
import zlib

_PIECES = 4096


class History:
    def __init__(self, *, keeps_lines: bool = False) -> None:
        self._hash = hashlib.sha256()
        self._pieces: list[bytes] = []
        self._names: dict[str, bytes] = {}
        self.count = 0
        self.lines: list[str] | None = [] if keeps_lines else None

    def note(self, seconds: float, *words: object, data: bytes = b"") -> None:
        """`data` is in the hash as it is; in the line, as a number."""
        self.count += 1
        line = f"{seconds:.6f} {' '.join(map(str, words))}"
        pieces = self._pieces
        pieces.append(line.encode())
        if data:
            pieces.append(data)
        if len(pieces) >= _PIECES:
            self._hash_pieces()
        if self.lines is not None:
            self.lines.append(f"{line} {zlib.crc32(data):08x}" if data else line)

    def turn(self, process: str) -> None:
        """A step of a process: in the hash, but not a line."""
        self.count += 1
        name = self._names.get(process)
        if name is None:
            name = self._names[process] = process.encode()
        self._pieces.append(name)

    def _hash_pieces(self) -> None:
        self._hash.update(b"\n".join(self._pieces))
        self._pieces.clear()

    @property
    def digest(self) -> str:
        self._hash_pieces()
        return self._hash.hexdigest()
