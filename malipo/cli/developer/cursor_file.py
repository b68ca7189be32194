"""The cursor file of `malipo listen`: its position in the feed, so that it continues there after any stop.

A position is the cursor of a page of the feed, and the last event of that page which is done. There is one file for
each service, key and receiver, and one listener at a time. It knows files and nothing of HTTP.
"""

import fcntl
import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Self

import msgspec

from malipo.cli.developer.credentials import Access
from malipo.errors import Conflict, Impossible


class FeedPlace(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    after: str | None  # None is before the oldest event that is kept.
    done: str | None = None


class CursorFileUnreadable(Exception):  # noqa: N818
    """There is a file, and it cannot be read."""


class CursorFile:
    def __init__(self, path: Path) -> None:
        self.path = path
        self._kept: FeedPlace | None = None

    @classmethod
    @contextmanager
    def opened(cls, data_dir: Path, access: Access, forward_to: str) -> Iterator[Self]:
        path = data_dir / "listen" / f"{_name(access, forward_to)}.json"
        with _explained(path):
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            # The lock ends with the process, however that ends.
            if not _is_taken(lock):
                raise Conflict(f"Another `malipo listen` already forwards the same events to {forward_to}.")
            yield cls(path)
        finally:
            os.close(lock)

    def read(self) -> FeedPlace | None:
        """Where the last listener stopped; None if there was none."""
        try:
            self._kept = msgspec.json.decode(self.path.read_bytes(), type=FeedPlace)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError):
            raise CursorFileUnreadable from None
        return self._kept

    def keep(self, place: FeedPlace) -> None:
        """Written atomically: there is never a moment without a position."""
        if place == self._kept:
            return
        new = self.path.with_suffix(".new")
        with _explained(self.path):
            descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(msgspec.json.encode(place))
                file.flush()
                os.fsync(descriptor)
            new.replace(self.path)
        self._kept = place


def _is_taken(lock: int) -> bool:
    """Whether it is ours now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Impossible(f"Cannot keep in {path} where it has come to: {error.strerror or error}.") from None


def _name(access: Access, forward_to: str) -> str:
    """Distinguished by all three, and showing nothing of the key."""
    key = hashlib.sha256(access.api_key.encode()).hexdigest()[:16]
    return hashlib.sha256("\n".join((access.base_url, key, forward_to)).encode()).hexdigest()[:24]
