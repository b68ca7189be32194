"""The last checkpoint that this host has signed or seen, flushed in its state folder, which no backup contains."""

import os
from pathlib import Path

from malipo.errors import Impossible


class NoStateFile(Impossible):
    pass


class StateFile:
    def __init__(self, folder: Path, installation_id: str) -> None:
        self._folder = folder
        self._path = folder / f"{installation_id}.checkpoint"

    def read(self) -> str | None:
        """The note; None if there is none."""
        try:
            return self._path.read_text()
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise NoStateFile(f"{str(self._path)!r} cannot be read: {error}. Nothing is signed.") from None

    def write(self, note: str) -> None:
        """Write the note. It is flushed when this returns, with its entry in the folder."""
        new = self._path.with_suffix(f".{os.getpid()}.new")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                os.write(file, note.encode())
                os.fsync(file)
            finally:
                os.close(file)
            os.rename(new, self._path)
            folder = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise NoStateFile(
                f"MALIPO_STATE_DIR {str(self._folder)!r} cannot be written: {error.strerror}. No checkpoint is signed."
            ) from None
