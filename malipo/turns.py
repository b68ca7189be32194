"""Turns: so many holders at once; later callers wait."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from malipo.errors import Unavailable


class Turns:
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
