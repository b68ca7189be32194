"""How the reloads of a `malipo serve` end: a small file in its data folder, which `malipo reload` reads.

The process that writes it keeps it locked, so that a file that a killed process has left behind is known as such.
"""

import contextlib
import fcntl
import os
from pathlib import Path

import msgspec

from malipo import log


class Reloads(msgspec.Struct, frozen=True):
    begun: int = 0
    ended: int = 0
    error: str | None = None  # of the last that has ended


def _path(data_dir: Path, pid: int) -> Path:
    return data_dir / f"reload-{pid}.json"


class ReloadFile:
    """Of this process, until it is closed."""

    def __init__(self, data_dir: Path) -> None:
        """Without a folder to write to, SIGHUP still reloads, and `malipo reload` cannot."""
        self._path = _path(data_dir, os.getpid())
        self._file: int | None = None
        try:
            data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            fcntl.flock(self._file, fcntl.LOCK_EX)
        except OSError as error:
            log.warning("serve.reloads_not_told", message=f"{self._path} cannot be written: {error.strerror}.")
        self._write(Reloads())

    def begin(self) -> None:
        self._write(msgspec.structs.replace(self._last, begun=self._last.begun + 1))

    def end(self, error: str | None) -> None:
        self._write(msgspec.structs.replace(self._last, ended=self._last.begun, error=error))

    def close(self) -> None:
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._path.unlink()
            os.close(self._file)

    def _write(self, reloads: Reloads) -> None:
        self._last = reloads
        if self._file is None:
            return
        content = msgspec.json.encode(reloads) + b"\n"
        os.pwrite(self._file, content, 0)
        os.ftruncate(self._file, len(content))


def read(data_dir: Path, pid: int) -> Reloads | None:
    """None if no such process runs with this data folder."""
    try:
        file = os.open(_path(data_dir, pid), os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return _decode(os.pread(file, 10_000, 0))
    finally:
        os.close(file)
    return None


def _decode(content: bytes) -> Reloads:
    """It may be read in the middle of a write: then nothing has ended yet."""
    try:
        return msgspec.json.decode(content.partition(b"\n")[0], type=Reloads)
    except msgspec.MsgspecError:
        return Reloads()
