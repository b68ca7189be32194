"""The cursor file of `malipo-client listen`: its position in the feed, so that it continues there after any stop.

A position is the cursor of a page of the feed, and the last event of that page which is done. There is one file for
each service, key and receiver, and one listener at a time.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

try:
    import fcntl
except ImportError:  # Windows: two listeners at once are not noticed there.
    fcntl = None  # type: ignore[assignment]


class Place(NamedTuple):
    after: str | None  # None is before the oldest event that is kept.
    done: str | None = None


class CursorFile:
    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    @contextmanager
    def opened(cls, base_url: str, secret: str, forward_to: str) -> Iterator[CursorFile]:
        name = hashlib.sha256("\n".join((base_url, secret, forward_to)).encode()).hexdigest()[:24]
        path = _folder() / f"{name}.json"
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _take(lock, forward_to)
            yield cls(path)
        finally:
            os.close(lock)  # The lock ends with the process, however that ends.

    def read(self) -> Place | None:
        """Where the last listener stopped; None if there was none. ValueError if it cannot be read."""
        try:
            kept = json.loads(self.path.read_bytes())
            place = Place(kept["after"], kept["done"])
        except FileNotFoundError:
            return None
        except (OSError, KeyError, TypeError) as error:
            raise ValueError(str(error)) from None
        if not all(each is None or isinstance(each, str) for each in place):
            raise ValueError("this is no place")
        return place

    def keep(self, place: Place) -> None:
        """Written atomically: there is never a moment without a position."""
        new = self.path.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump(place._asdict(), file)
            file.flush()
            os.fsync(descriptor)
        new.replace(self.path)


def _take(lock: int, forward_to: str) -> None:
    if fcntl is None:
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise ValueError(f"Another `malipo-client listen` already forwards the same events to {forward_to}.") from None


def _folder() -> Path:
    state = os.environ.get("XDG_STATE_HOME")
    return (Path(state) if state else Path.home() / ".local" / "state") / "malipo-client" / "listen"
