"""Rate limits of people, by session and by person, which each process counts for itself.

They protect resources of the process: its connections for people, and its CPU. So nothing is stored, and a page needs
no further statement. With several processes a person may make as many times more requests. For API keys that would
break the documented limit, so their windows are stored (`store.py`).
"""

from malipo.clock import Clock, milliseconds
from malipo.rate_limit.refusal import RateLimited
from malipo.rate_limit.sliding_window import SPAN_MS, Window

_EMPTY = Window()


class InProcessLimits:
    def __init__(self) -> None:
        self._windows: dict[str, Window] = {}
        self._swept_ms = 0

    def admit(self, *limits: tuple[str, int], now_ms: int) -> None:
        """Count one request under each of these ids, with its limit a minute; 0 is no limit.

        A request that is refused under one of them counts under none.
        """
        self._sweep(now_ms)
        counted: dict[str, Window] = {}
        for whose, limit in limits:
            if limit:
                admitted, after = self._windows.get(whose, _EMPTY).admit(1, limit=limit, now_ms=now_ms)
                if not admitted:
                    raise RateLimited(after.rate_limit_status(limit=limit, now_ms=now_ms))
                counted[whose] = after
        self._windows |= counted

    def has_room(self, whose: str, limit: int, *, now_ms: int) -> bool:
        """Whether one more request would be admitted. Counts nothing."""
        return self._windows.get(whose, _EMPTY).admit(1, limit=limit, now_ms=now_ms)[0] > 0

    @property
    def size(self) -> int:
        """The number of ids that are remembered."""
        return len(self._windows)

    def _sweep(self, now_ms: int) -> None:
        """Once a minute, forget the ids without a request in the last minute, so that memory does not grow."""
        if 0 <= now_ms - self._swept_ms < SPAN_MS:
            return
        self._swept_ms = now_ms
        self._windows = {whose: window for whose, window in self._windows.items() if window.last_ms > now_ms - SPAN_MS}


class RequestsOfPeople:
    """Requests of people who are logged in, counted by session and by person."""

    def __init__(self, *, limit_session: int, limit_person: int, clock: Clock) -> None:
        self._limits = InProcessLimits()
        self._limit_session = limit_session
        self._limit_person = limit_person
        self._clock = clock

    def admit(self, session_id: str, person_id: str) -> None:
        """Count a request. RateLimited if there were too many."""
        self._limits.admit(
            (session_id, self._limit_session),
            (person_id, self._limit_person),
            now_ms=milliseconds(self._clock()),
        )
