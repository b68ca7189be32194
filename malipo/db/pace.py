"""Pace: the rest between two commits, or other turns that serve many callers at once.

A turn costs as much as about fifteen of its callers, so it is worth waiting for more of them. With more processes,
fewer callers come to each in a fixed time, so the rest is longer if fewer come (decision 55).
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from malipo.clock import loop_time


@dataclass(frozen=True, slots=True)
class Pace:
    """The least time between two turns. With fewer than `enough` callers the time grows, up to `most_seconds`."""

    least_seconds: float
    most_seconds: float
    enough: int

    async def rest(self, began_at: float, waiting: Callable[[], int], *, most: int | None = None) -> float:
        """Return when the next turn may begin, and its time, by the event loop's clock.

        A caller that comes after the least rest does not wait, and neither does a full turn of `most` callers.
        """
        since = loop_time() - began_at
        if since < self.least_seconds and (most is None or waiting() < most):
            await asyncio.sleep(self.least_seconds - since)
            if (left := self.more_seconds(waiting())) > 0:
                await asyncio.sleep(left)
        return loop_time()

    def more_seconds(self, waiting: int) -> float:
        """How long to rest beyond the least rest, in which `waiting` callers came: as many come again in the same time.
        Pure."""
        if not 0 < waiting < self.enough:
            return 0.0
        return min(self.least_seconds * self.enough / waiting, self.most_seconds) - self.least_seconds


# Between commits of what a worker got back from networks and receivers.
ANSWERS_PACE = Pace(least_seconds=0.05, most_seconds=0.15, enough=8)
