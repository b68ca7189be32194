"""What this host's state folder keeps of the receipt log, which no backup contains: the last checkpoint that this host
has signed or seen, and the keys that it has seen."""

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from malipo.errors import Impossible


class NoStateFile(Impossible):
    pass


class KeptKey(msgspec.Struct, frozen=True):
    """A key of a log, as the database has had it."""

    id: str
    log: int
    secret: bytes  # encrypted under MALIPO_SECRET_KEY
    public_key: bytes
    handover: str | None  # from the key before it
    created_at: datetime


_decode_keys = msgspec.json.Decoder(list[KeptKey]).decode


class StateFile:
    def __init__(self, folder: Path, installation_id: str) -> None:
        self._folder = folder
        self._note = folder / f"{installation_id}.checkpoint"
        self._keys = folder / f"{installation_id}.keys"

    def read(self) -> str | None:
        """The note; None if there is none."""
        return _read(self._note)

    def read_keys(self) -> list[KeptKey]:
        """The keys, the oldest first."""
        text = _read(self._keys)
        try:
            return [] if text is None else _decode_keys(text)
        except msgspec.MsgspecError as error:
            raise NoStateFile(f"{str(self._keys)!r} cannot be read: {error}. Nothing is signed.") from None

    def write(self, note: str) -> None:
        """Write the note. It is flushed when this returns, with its entry in the folder."""
        self._write(self._note, note.encode())

    def write_keys(self, keys: Sequence[KeptKey]) -> None:
        self._write(self._keys, msgspec.json.encode(keys))

    def _write(self, path: Path, content: bytes) -> None:
        new = path.with_name(f"{path.name}.{os.getpid()}.new")
        try:
            self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            try:
                left = memoryview(content)
                while left:
                    left = left[os.write(file, left) :]
                os.fsync(file)
            finally:
                os.close(file)
            os.rename(new, path)
            folder = os.open(self._folder, os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        except OSError as error:
            raise NoStateFile(
                f"MALIPO_STATE_DIR {str(self._folder)!r} cannot be written: {error.strerror}. No checkpoint is signed."
            ) from None


def _read(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise NoStateFile(f"{str(path)!r} cannot be read: {error}. Nothing is signed.") from None
