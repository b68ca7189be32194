"""The queue for hashing passwords: two at a time, known browsers first, and with a limit of waiting log-ins."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from malipo.errors import TooMany

AT_ONCE = 2
# In each of the two queues. A check takes tens of milliseconds, so the last one of a full queue waits about a second.
MOST_WAITING = 32
_RETRY_SECONDS = 2


class TooBusy(TooMany):
    code = "too_many_attempts"

    def __init__(self) -> None:
        super().__init__(
            f"Too many people log in at this moment. Try again in {_RETRY_SECONDS} seconds.",
            retry_after_seconds=_RETRY_SECONDS,
        )


class HashingTurns:
    def __init__(self) -> None:
        self._under_way = 0
        self._first: deque[asyncio.Future[None]] = deque()
        self._others: deque[asyncio.Future[None]] = deque()

    @asynccontextmanager
    async def turn(self, *, is_first: bool) -> AsyncIterator[None]:
        if self._under_way < AT_ONCE:
            self._under_way += 1
        else:
            await self._wait(self._first if is_first else self._others)
        try:
            yield
        finally:
            self._pass_on()

    async def _wait(self, line: deque[asyncio.Future[None]]) -> None:
        if len(line) >= MOST_WAITING:
            raise TooBusy
        mine: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line.append(mine)
        try:
            await mine
        except asyncio.CancelledError:
            if mine in line:
                line.remove(mine)
            elif not mine.cancelled():
                self._pass_on()  # The turn came in the same moment.
            raise

    def _pass_on(self) -> None:
        for line in (self._first, self._others):
            while line:
                following = line.popleft()
                if not following.done():
                    return following.set_result(None)
        self._under_way -= 1
        return None
