"""Limits the look-ups that a network gets in a minute, for networks that count our requests. Each process counts for
itself."""

from collections import deque

from malipo.clock import loop_time

_SPAN_SECONDS = 60


class MinuteLimit:
    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._taken: deque[float] = deque()

    def take(self) -> bool:
        """Whether one more may go now; it then counts."""
        now = loop_time()
        while self._taken and self._taken[0] <= now - _SPAN_SECONDS:
            self._taken.popleft()
        if len(self._taken) >= self._per_minute:
            return False
        self._taken.append(now)
        return True
