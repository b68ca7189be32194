"""The history of a run: a hash of everything that happened in its order, and on demand the lines themselves.

Two runs of one seed are the same if their hashes are.
"""

import hashlib


class History:
    def __init__(self, *, keeps_lines: bool = False) -> None:
        self._hash = hashlib.sha256()
        self.count = 0
        self.lines: list[str] | None = [] if keeps_lines else None

    def note(self, seconds: float, *words: object) -> None:
        self.count += 1
        line = f"{seconds:.6f} " + " ".join(map(str, words))
        self._hash.update(line.encode())
        if self.lines is not None:
            self.lines.append(line)

    def turn(self, process: str) -> None:
        """A step of a process: in the hash, but not a line."""
        self.count += 1
        self._hash.update(process.encode())

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()
