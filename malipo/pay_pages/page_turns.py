"""Turns for pages of customers: how many are rendered at once, and how many wait, so that a flood of them slows
payments little.

A process does one thing at a time. Without turns, a merchant's request could stand behind two hundred pages; with them
it stands behind a few. A request that waits longer than a moment gets a short page that reloads itself and costs nearly
nothing. Each process counts for itself.

Waiting addresses get turns one after the other, so an address with a hundred waiting pages delays a customer at another
address by one page and not by a hundred. One address may have most places but not all, because many customers share an
address.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from malipo.errors import Unavailable

AT_ONCE = 4
MOST_WAITING = 200
MOST_OF_ADDRESS = 150
WAIT_SECONDS = 4


class TooManyPages(Unavailable):
    """No turn is free now."""

    retry_after_seconds = 5


class PageTurns:
    def __init__(
        self,
        *,
        at_once: int = AT_ONCE,
        most_waiting: int = MOST_WAITING,
        most_of_address: int = MOST_OF_ADDRESS,
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self._free = at_once
        self._most_waiting = most_waiting
        self._most_of_address = most_of_address
        self._wait_seconds = wait_seconds
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}  # the address that is next comes first

    @asynccontextmanager
    async def taken(self, address: str) -> AsyncIterator[None]:
        """Hold a turn for the block."""
        await self._take(address)
        try:
            yield
        finally:
            self._give_on()

    async def _take(self, address: str) -> None:
        if self._free:
            self._free -= 1
            return
        own = self._waiting.get(address, ())
        if len(own) >= self._most_of_address or sum(map(len, self._waiting.values())) >= self._most_waiting:
            raise TooManyPages
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(address, deque()).append(turn)
        try:
            async with asyncio.timeout(self._wait_seconds):
                await turn
        except BaseException as error:
            if turn.cancelled():
                self._forget(address, turn)
            else:  # It was given in the same moment to a request that has been cancelled.
                self._give_on()
            if isinstance(error, TimeoutError):
                raise TooManyPages from None
            raise

    def _give_on(self) -> None:
        """Give the turn to the next waiting address, which then becomes the last. Requests that were just cancelled are
        passed over."""
        for address in [*self._waiting]:
            own = self._waiting.pop(address)
            while own:
                turn = own.popleft()
                if not turn.done():
                    turn.set_result(None)
                    if own:
                        self._waiting[address] = own
                    return
        self._free += 1

    def _forget(self, address: str, turn: asyncio.Future[None]) -> None:
        own = self._waiting.get(address, deque())
        if turn in own:  # Not if it was passed over.
            own.remove(turn)
            if not own:
                del self._waiting[address]
