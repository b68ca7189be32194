"""How many pages of customers are worked on at once, and how many wait for it: a flood of them is not to slow payments.

A process does one thing at a time. If two hundred customers came at once, a request of a merchant's program would stand
behind two hundred pages; now it stands behind a few. Those who wait longer than a moment get a short page that tries
again by itself, and costs next to nothing. Each process counts for itself.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from malipo.errors import Unavailable
from malipo.turns import Turns

AT_ONCE = 4
MOST_WAITING = 200
WAIT_SECONDS = 4


class TooManyPages(Unavailable):
    """There is no turn now."""

    retry_after_seconds = 5


class PageTurns:
    def __init__(
        self, *, at_once: int = AT_ONCE, most_waiting: int = MOST_WAITING, wait_seconds: float = WAIT_SECONDS
    ) -> None:
        self._turns = Turns(at_once)
        self._most_waiting = most_waiting
        self._wait_seconds = wait_seconds
        self._waiting = 0

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[None]:
        if self._waiting >= self._most_waiting:
            raise TooManyPages
        self._waiting += 1
        has_turn = False
        try:
            async with self._turns.taken(seconds=self._wait_seconds):
                self._waiting -= 1
                has_turn = True
                yield
        except Unavailable:
            if has_turn:
                raise
            raise TooManyPages from None
        finally:
            if not has_turn:
                self._waiting -= 1
