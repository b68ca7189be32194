"""The mark: a small file, outside of the backup, that says how many batches of payments were sent.

The database forgets what was sent when it is restored; the file does not. It is flushed before a batch leaves, so that
it never knows of fewer than the networks do.
"""

import fcntl
import os
from pathlib import Path

from malipo import ids
from malipo.errors import Impossible

_MOST_WORKERS = 64


class NoStateFolder(Impossible):
    pass


class Mark:
    """One worker's file. Several workers of one host have one each, and each knows what the others have seen."""

    def __init__(self, folder: Path, installation_id: str) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file, self.worker_id = _take_slot(folder, installation_id)
            found = [number for path in folder.glob(f"{installation_id}.*.mark") if (number := _read(path)) is not None]
        except OSError as error:
            raise NoStateFolder(f"MALIPO_STATE_DIR {str(folder)!r} cannot be used: {error.strerror}.") from None
        self.number = max(found, default=None)  # none: this host has never worked for this installation

    def write(self, number: int) -> None:
        """Flushed when this returns. A mark never goes back."""
        if self.number is not None and number <= self.number:
            return
        os.pwrite(self._file, f"{number:<20}\n{self.worker_id}\n".encode(), 0)
        os.fdatasync(self._file)
        self.number = number

    def close(self) -> None:
        os.close(self._file)


def _take_slot(folder: Path, installation_id: str) -> tuple[int, str]:
    """The first file that no living worker of this host has, and the worker's id that stands in it."""
    for slot in range(1, _MOST_WORKERS + 1):
        path = folder / f"{installation_id}.{slot}.mark"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            continue
        lines = os.pread(file, 200, 0).decode("ascii", "replace").split("\n")
        known = lines[1] if len(lines) > 1 and lines[1].startswith("wrk_") else ""
        return file, known or ids.random("wrk_")
    raise NoStateFolder(f"More than {_MOST_WORKERS} workers share the folder {str(folder)!r}.")


def _read(path: Path) -> int | None:
    text = path.read_text(errors="replace").split("\n")[0].strip()
    return int(text) if text.isascii() and text.isdigit() else None
