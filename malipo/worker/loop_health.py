"""Whether the loops of a worker turn. A loop that has not begun a new step for longer than a step may take is stuck."""

import math
from collections.abc import Callable
from dataclasses import dataclass

from malipo import clock
from malipo.metrics import Metrics

# What a busy machine may cost beside the step itself.
_MARGIN_SECONDS = 30.0


@dataclass(slots=True)
class _Loop:
    most_seconds: float
    turned_at: float


class LoopHealth:
    def __init__(self, metrics: Metrics | None = None, *, monotonic: Callable[[], float] = clock.monotonic) -> None:
        self._metrics = metrics
        self._monotonic = monotonic
        self._loops: dict[str, _Loop] = {}

    def begin(self, name: str, *, step_seconds: float) -> Callable[[], None]:
        """A loop begins; what it returns is called at each turn. A step and the rest after it take at most so long."""
        loop = self._loops[name] = _Loop(step_seconds + _MARGIN_SECONDS, self._monotonic())
        if self._metrics is not None:
            self._metrics.watch_loop(name, lambda: self._is_stuck(loop))

        def turned() -> None:
            loop.turned_at = self._monotonic()

        return turned

    def end(self, name: str) -> None:
        """A loop was told to end: that it turns no more is as it should be."""
        if loop := self._loops.pop(name, None):
            loop.most_seconds = math.inf

    @property
    def stuck(self) -> list[str]:
        """The names of the loops that do not turn."""
        return sorted(name for name, loop in self._loops.items() if self._is_stuck(loop))

    def _is_stuck(self, loop: _Loop) -> bool:
        return self._monotonic() - loop.turned_at > loop.most_seconds
