"""Limits how many of something are under way at once: for one person, and in all. Each process counts for itself."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager


class ConcurrencyLimit:
    def __init__(self, *, each: int, all_: int) -> None:
        self._each = each
        self._all = all_
        self._open: Counter[str] = Counter()

    @property
    def open(self) -> int:
        return self._open.total()

    def has_room(self, whose: str) -> bool:
        return self._open[whose] < self._each and self.open < self._all

    @contextmanager
    def slot(self, whose: str) -> Iterator[None]:
        """One more, for as long as the block lasts."""
        self._open[whose] += 1
        try:
            yield
        finally:
            self._open[whose] -= 1
            if not self._open[whose]:
                del self._open[whose]
