"""The sliding window of a rate limit: no span of 60 seconds holds more than the limit.

A window remembers when requests were let in, as pairs of a time and a count. Up to 300 pairs it is exact. Above a limit
of 300 a minute, requests within the same hundredth of the minute are remembered as one pair at the time of its
newest, which errs by at most those 0.6 seconds, on the strict side.

Every request reads a window and writes it anew. So it is kept small, and instead of the counts it has their running
totals: nothing here looks at every pair.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_right
from enum import StrEnum
from itertools import pairwise

import msgspec

SPAN_MS = 60_000
_PAIRS = 300
_SLOT_MS = SPAN_MS // 100
_NUMBER = "I"  # of four bytes
_START_BYTES = 8
_MOST = 2**31  # Before times or totals outgrow their four bytes, they begin anew.


class RateClass(StrEnum):
    CREATE = "create"  # POST /v1/payments
    LIST = "list"  # GET /v1/payments
    OTHER = "other"  # everything else under /v1


class RateLimitStatus(msgspec.Struct, frozen=True):
    """The limit, how many requests are left of it, and in how many seconds more are allowed."""

    limit: int
    remaining: int
    reset_seconds: int


class Window(msgspec.Struct, frozen=True):
    """The last pairs, oldest first. The first one only says how many were let in before those that count.

    Never changed: an admission makes another window.
    """

    start_ms: int = 0
    times: array[int] = array(_NUMBER, [0])  # milliseconds since the start
    totals: array[int] = array(_NUMBER, [0])  # how many were admitted until then

    @classmethod
    def unpacked(cls, packed: bytes) -> Window:
        if not packed:
            return _EMPTY
        middle = (len(packed) + _START_BYTES) // 2
        times, totals = array(_NUMBER, packed[_START_BYTES:middle]), array(_NUMBER, packed[middle:])
        return cls(int.from_bytes(packed[:_START_BYTES], sys.byteorder), times, totals)

    def packed(self) -> bytes:
        """The start, all times, all totals, in this machine's byte order: all hosts have the same."""
        return b"".join((self.start_ms.to_bytes(_START_BYTES, sys.byteorder), self.times, self.totals))

    @property
    def last_ms(self) -> int:
        """When the last one was let in."""
        return self.start_ms + self.times[-1]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """The times that count, and how many were let in at each."""
        counts = (after - before for before, after in pairwise(self.totals))
        return [(self.start_ms + time, count) for time, count in zip(self.times[1:], counts, strict=True)]

    def admit(self, wanted: int, *, limit: int, now_ms: int) -> tuple[int, Window]:
        """How many of the requests are admitted, first come first served, and the window after them."""
        # If the clock was set back, the last request's time is used until the clock has caught up.
        now = max(now_ms - self.start_ms, self.times[-1])
        gone = max(bisect_right(self.times, now - SPAN_MS) - 1, 0)
        times, totals = self.times[gone:], self.totals[gone:]  # Copies, which may be changed.
        admitted = min(wanted, max(limit - (totals[-1] - totals[0]), 0))
        if not admitted:
            return 0, Window(self.start_ms, times, totals)
        slot_ms = 1 if limit <= _PAIRS else _SLOT_MS
        return admitted, _with(self.start_ms, times, totals, admitted, self.start_ms + now, slot_ms)

    def rate_limit_status(self, *, limit: int, now_ms: int) -> RateLimitStatus:
        """The status for a caller now. Waiting `reset_seconds` is enough for at least one more request."""
        if len(self.times) == 1:
            return RateLimitStatus(limit, limit, 0)
        last = self.totals[-1]
        # The pair that must leave before there is room: usually the oldest, later if the limit was lowered.
        in_the_way = max(bisect_right(self.totals, last - limit), 1)
        wait_ms = self.start_ms + self.times[in_the_way] + SPAN_MS - now_ms
        return RateLimitStatus(limit, max(limit - (last - self.totals[0]), 0), max(-(-wait_ms // 1000), 1))


def _with(start_ms: int, times: array[int], totals: array[int], admitted: int, now_ms: int, slot_ms: int) -> Window:
    """A window of these pairs, and one more admission."""
    if len(times) == 1:
        start_ms, times, totals = now_ms, array(_NUMBER, [0]), array(_NUMBER, [0])
    elif now_ms - start_ms > _MOST or totals[-1] > _MOST:
        start_ms += times[0]
        times = array(_NUMBER, [time - times[0] for time in times])
        totals = array(_NUMBER, [total - totals[0] for total in totals])
    if len(times) > 1 and (start_ms + times[-1]) // slot_ms == now_ms // slot_ms:
        times[-1] = now_ms - start_ms
        totals[-1] += admitted
    else:
        times.append(now_ms - start_ms)
        totals.append(totals[-1] + admitted)
    return Window(start_ms, times, totals)


_EMPTY = Window()
