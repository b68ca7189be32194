"""The journal: every event as a line of JSON, written before it has any effect outside.

A process that is killed loses nothing that was written; an incomplete last line is a change without effect outside.
There is no fsync: this is a simulator, and a machine that loses its power may lose the last second.
"""

import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from malipo_simulator.transaction import Event

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Unusable(Exception):  # noqa: N818
    """The folder cannot be used; the text says why, in one sentence."""


class Journal:
    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal.jsonl"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise Unusable(f"Cannot keep state in {folder}: {error.strerror}.") from None
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._file)
            raise Unusable(f"Another simulator keeps its state in {folder}.") from None

    def replay(self) -> Iterator[Event]:
        """The events so far. What a killed writer left of its last line is cut off."""
        text = self.path.read_bytes()
        whole = text.rfind(b"\n") + 1
        if whole < len(text):
            os.truncate(self.path, whole)
        for number, line in enumerate(text[:whole].splitlines(), 1):
            try:
                yield _decoder.decode(line)
            except msgspec.MsgspecError:
                raise Unusable(
                    f"Line {number} of {self.path} is no event of this simulator; remove the file."
                ) from None

    def write(self, event: Event) -> None:
        line = _encoder.encode(event) + b"\n"
        written = os.write(self._file, line)
        if written != len(line):
            # The disk is full. Half a line must not stand before the next one.
            os.truncate(self.path, os.fstat(self._file).st_size - written)
            raise OSError(f"Only {written} of {len(line)} bytes fitted into {self.path}.")

    def clear(self) -> None:
        os.truncate(self.path, 0)

    def close(self) -> None:
        os.close(self._file)
