"""Until when a request waits for a database that is away: one deadline from its arrival, over all that it does.

Whoever is let in, decided on and answered waits once, and not anew at each stage. A deadline ends the waiting, never
the first try: a request that comes late to a database that is there is answered.
"""

import asyncio
from contextvars import ContextVar

_deadline: ContextVar[float | None] = ContextVar("database_deadline", default=None)

# Less would end tries on a database that is only slow, as one is that has just taken over: a quarter of the patience.
_SHORTEST_TRY_SECONDS = 1.0
_SHORTEST_TRY = 4


def begin_waiting(seconds: float) -> None:
    """A request has arrived, or goes on after a wait that it has asked for itself, such as a long poll."""
    _deadline.set(asyncio.get_running_loop().time() + seconds)


def end_waiting() -> None:
    """The request was answered. What the same task does afterwards waits by itself."""
    _deadline.set(None)


def deadline_of(patience_seconds: float) -> float:
    """By the event loop's clock. Of the request that is under way; where there is none, of a wait that begins now."""
    deadline = _deadline.get()
    return asyncio.get_running_loop().time() + patience_seconds if deadline is None else deadline


def try_seconds(deadline: float, patience_seconds: float) -> float:
    """How long one try may take: a connection that hangs takes half of the patience, so there is time for another."""
    left = deadline - asyncio.get_running_loop().time()
    return max(min(left, patience_seconds / 2), patience_seconds / _SHORTEST_TRY, _SHORTEST_TRY_SECONDS)
