"""Whether the loops of a worker make progress.

A loop that has not begun a new step for longer than a step may take is stuck: a restart helps. A loop whose steps keep
failing, for example without a state folder, is blocked: somebody has to change something.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from malipo import clock
from malipo.metrics.process_metrics import Metrics

# Added to the time of a step, for a busy machine.
_MARGIN_SECONDS = 30.0
# How often the log repeats that a loop is blocked by the same cause.
_SAID_EVERY_SECONDS = 60.0


@dataclass(slots=True)
class _Loop:
    most_seconds: float
    turned_at: float
    blocked_by: str | None = None
    said_at: float = -math.inf


class LoopHealth:
    def __init__(self, metrics: Metrics | None = None, *, monotonic: Callable[[], float] = clock.monotonic) -> None:
        self._metrics = metrics
        self._monotonic = monotonic
        self._loops: dict[str, _Loop] = {}

    def begin(self, name: str, *, step_seconds: float) -> Callable[[], None]:
        """Register a loop, of which a step and the rest after it take at most `step_seconds`. The loop calls the
        returned function at each turn."""
        loop = self._loops[name] = _Loop(step_seconds + _MARGIN_SECONDS, self._monotonic())
        if self._metrics is not None:
            self._metrics.watch_loop(
                name, is_stuck=lambda: self._is_stuck(loop), is_blocked=lambda: loop.blocked_by is not None
            )

        def turned() -> None:
            loop.turned_at = self._monotonic()

        return turned

    def end(self, name: str) -> None:
        """Forget a loop that was ended, so that it is not reported as stuck."""
        if loop := self._loops.pop(name, None):
            loop.most_seconds = math.inf

    @property
    def stuck(self) -> list[str]:
        """The names of the loops that are stuck."""
        return sorted(name for name, loop in self._loops.items() if self._is_stuck(loop))

    def note_blocked(self, name: str, reason: str | None) -> bool:
        """Store why a loop is blocked, or None if it is not. Returns whether that should be logged now."""
        loop = self._loops.get(name)
        if loop is None:
            return reason is not None
        is_new = loop.blocked_by != reason
        loop.blocked_by = reason
        if reason is None or not (is_new or self._monotonic() - loop.said_at >= _SAID_EVERY_SECONDS):
            return False
        loop.said_at = self._monotonic()
        return True

    @property
    def blocked(self) -> list[str]:
        """Why loops are blocked: a sentence for each."""
        return sorted({loop.blocked_by for loop in self._loops.values() if loop.blocked_by is not None})

    def _is_stuck(self, loop: _Loop) -> bool:
        return self._monotonic() - loop.turned_at > loop.most_seconds
