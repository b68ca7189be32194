"""The high-water mark: a small file, outside of the backup, with the number of batches of payments that were sent.

A restored database has lost the batches since the backup; the file has not. It is flushed before a batch is sent, so
its count is never lower than the number of batches that the networks have received.
"""

import fcntl
import os
import re
from pathlib import Path
from threading import Lock
from typing import NamedTuple

from malipo import ids
from malipo.errors import Impossible

_MOST_WORKERS = 64
_LINE = re.compile(r"epoch (\d{1,18}) total (\d{1,18}) own (\d{1,18}) looks (\d{1,18}) (wrk_\w{1,60}) *\n")
_WIDTH = 160  # within one sector, so that no write is torn


class SendCount(NamedTuple):
    """The counts that a worker has seen in the database: the epoch, the batches of all workers, its own batches, and
    its own looks."""

    epoch: int
    total: int
    own: int
    looks: int = 0


class NoStateFolder(Impossible):
    pass


class HighWaterMark:
    """The file of one worker. Each worker of a host has its own file, and reads those of the others."""

    def __init__(self, folder: Path, installation_id: str) -> None:
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._file, self.worker_id = _take_slot(folder, installation_id)
            found = [_read(path.read_bytes()) for path in folder.glob(f"{installation_id}.*.mark")]
        except OSError as error:
            raise NoStateFolder(
                f"MALIPO_STATE_DIR {str(folder)!r} cannot be used: {error.strerror}. Nothing is sent until it can: "
                "with the units in deploy/systemd the folder must be in ReadWritePaths, and belong to their user."
            ) from None
        self._writing = Lock()  # Several threads write: after sends, looks and numberings.
        # The counts of every worker of this host. Empty if the host has never worked for this installation.
        self.found = dict(each for each in found if each is not None)

    @property
    def counted(self) -> SendCount | None:
        """The counts in this worker's file."""
        return self.found.get(self.worker_id)

    def has(self, counted: SendCount) -> bool:
        """Whether the file, as last flushed, has at least these counts."""
        flushed = self.counted
        if flushed is None or flushed.epoch != counted.epoch:
            return flushed is not None and flushed.epoch > counted.epoch
        return all(there >= new for there, new in zip(flushed, counted, strict=True))

    def write(self, counted: SendCount) -> None:
        """Write and flush the counts. A mark never goes back, whichever of several writers is last."""
        with self._writing:
            self._write(counted)

    def _write(self, counted: SendCount) -> None:
        before = self.counted
        if before is not None and before.epoch == counted.epoch:
            counted = SendCount(*map(max, before, counted))
        if before is not None and (counted == before or counted.epoch < before.epoch):
            return
        line = f"epoch {counted.epoch} total {counted.total} own {counted.own} looks {counted.looks} {self.worker_id}"
        try:
            os.pwrite(self._file, f"{line:<{_WIDTH}}\n".encode(), 0)
            os.fdatasync(self._file)
        except OSError as error:
            raise NoStateFolder(f"The high-water mark cannot be written: {error.strerror}. Nothing is sent.") from None
        self.found[self.worker_id] = counted

    def close(self) -> None:
        os.close(self._file)


def _take_slot(folder: Path, installation_id: str) -> tuple[int, str]:
    """The first file that no running worker of this host has locked, and the worker's id in it."""
    for slot in range(1, _MOST_WORKERS + 1):
        path = folder / f"{installation_id}.{slot}.mark"
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(file)
            continue
        known = _read(os.pread(file, _WIDTH + 1, 0))
        return file, ids.random("wrk_") if known is None else known[0]
    raise NoStateFolder(f"More than {_MOST_WORKERS} workers share the folder {str(folder)!r}.")


def _read(content: bytes) -> tuple[str, SendCount] | None:
    match = _LINE.match(content.decode("ascii", "replace"))
    return None if match is None else (match[5], SendCount(*map(int, match.groups()[:4])))
