"""How many of something may be under way at once: for one person, and in all. Each process counts for itself."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

from malipo.errors import Unavailable


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
    def held(self, whose: str) -> Iterator[None]:
        """One more, for as long as the block lasts."""
        self._open[whose] += 1
        try:
            yield
        finally:
            self._open[whose] -= 1
            if not self._open[whose]:
                del self._open[whose]


class Turns:
    """So many at once; whoever comes later waits."""

    def __init__(self, number: int) -> None:
        self._free = asyncio.Semaphore(number)

    @asynccontextmanager
    async def taken(self, *, seconds: float) -> AsyncIterator[None]:
        """A turn for as long as the block lasts. Unavailable if none comes in time."""
        try:
            async with asyncio.timeout(seconds):
                await self._free.acquire()
        except TimeoutError:
            raise Unavailable from None
        try:
            yield
        finally:
            self._free.release()
