"""The arithmetic of a rate limit: no span of 60 seconds holds more than the limit.

A window remembers when requests were let in, as (time, count) pairs. Up to 300 pairs it is exact. Above a limit
of 300 a minute, requests within the same fifth of a second are remembered as one pair at the time of its
newest, which errs by at most that fifth, on the strict side.
"""

from dataclasses import dataclass
from enum import StrEnum

SPAN_MS = 60_000
_PAIRS = 300


class RateClass(StrEnum):
    CREATE = "create"  # POST /v1/payments
    LIST = "list"  # GET /v1/payments
    OTHER = "other"  # everything else under /v1


@dataclass(frozen=True, slots=True)
class Standing:
    """What a caller is told: the limit, what is left of it, and in how many seconds there is more."""

    limit: int
    remaining: int
    reset_seconds: int


@dataclass(frozen=True, slots=True)
class Window:
    times: tuple[int, ...] = ()  # milliseconds, oldest first
    counts: tuple[int, ...] = ()

    def admit(self, asked: int, *, limit: int, now_ms: int) -> tuple[int, "Window"]:
        """How many of the asked may pass, first come first served, and the window after them."""
        # A clock that was set back must not make room: time stands still until it has caught up.
        now_ms = max(now_ms, self.times[-1]) if self.times else now_ms
        fresh = next((i for i, time in enumerate(self.times) if time > now_ms - SPAN_MS), len(self.times))
        times, counts = list(self.times[fresh:]), list(self.counts[fresh:])
        admitted = min(asked, max(limit - sum(counts), 0))
        if admitted:
            slot_ms = 0 if limit <= _PAIRS else SPAN_MS // _PAIRS
            if times and (times[-1] == now_ms or (slot_ms and times[-1] // slot_ms == now_ms // slot_ms)):
                times[-1] = now_ms
                counts[-1] += admitted
            else:
                times.append(now_ms)
                counts.append(admitted)
        return admitted, Window(tuple(times), tuple(counts))

    def standing(self, *, limit: int, now_ms: int) -> Standing:
        """What to tell somebody who asks now. Waiting `reset_seconds` is enough for at least one more."""
        used = sum(self.counts)
        if not self.times:
            return Standing(limit, limit, 0)
        wait_ms = self.times[self._oldest_in_the_way(limit)] + SPAN_MS - now_ms
        return Standing(limit, max(limit - used, 0), max(-(-wait_ms // 1000), 1))

    def _oldest_in_the_way(self, limit: int) -> int:
        """The pair that must leave before there is room; usually the oldest, later if the limit was lowered."""
        left = sum(self.counts)
        for index, count in enumerate(self.counts):
            left -= count
            if left < limit:
                return index
        return len(self.times) - 1
