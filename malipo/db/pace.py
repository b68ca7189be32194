"""Pace: how long whoever does things for many at once rests between two turns.

A turn costs as much as about fifteen of those that it serves, so it is worth waiting for some more of them. How many
come in a fixed time becomes fewer with each process beside this one, so the rest is longer where fewer come
(decision 55).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pace:
    """A turn begins at least so long after the last one began; and until enough wait for it, at most so long."""

    least_seconds: float
    most_seconds: float
    enough: int

    async def rest(self, began_at: float, waiting: Callable[[], int], *, most: int | None = None) -> float:
        """Return when the next turn may begin, and its time, by the event loop's clock.

        Who comes later than the least rest waits for nothing, and neither does a full turn of `most`.
        """
        loop = asyncio.get_running_loop()
        since = loop.time() - began_at
        if since < self.least_seconds and (most is None or waiting() < most):
            await asyncio.sleep(self.least_seconds - since)
            if (left := self.more_seconds(waiting())) > 0:
                await asyncio.sleep(left)
        return loop.time()

    def more_seconds(self, waiting: int) -> float:
        """How long to rest beyond the least, in which so many have come: as many will come again in the same time.
        Pure."""
        if not 0 < waiting < self.enough:
            return 0.0
        return min(self.least_seconds * self.enough / waiting, self.most_seconds) - self.least_seconds
