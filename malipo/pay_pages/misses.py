"""Addresses that ask for links that do not exist: a customer mistypes one, and a program that guesses asks for many.

No guess ever hits one of 2^80 codes; the limit keeps such a program from costing anything. Each process counts for
itself, and remembers nothing longer than a minute.
"""

from malipo.errors import TooMany
from malipo.rate_limit.sliding_window import SPAN_MS, Window

MOST_A_MINUTE = 60  # Many customers share an address.


class TooManyMisses(TooMany):
    def __init__(self) -> None:
        super().__init__("Too many links that do not exist were asked for.", retry_after_seconds=60)


class Misses:
    def __init__(self, most: int = MOST_A_MINUTE) -> None:
        self._most = most
        self._windows: dict[str, Window] = {}
        self._swept_ms = 0

    def check(self, address: str, *, now_ms: int) -> None:
        """Raises TooManyMisses where the limit is reached, before anything is looked up."""
        window = self._windows.get(address)
        if window is not None and not window.admit(1, limit=self._most, now_ms=now_ms)[0]:
            raise TooManyMisses

    def note(self, address: str, *, now_ms: int) -> None:
        self._sweep(now_ms)
        _, self._windows[address] = self._windows.get(address, Window()).admit(1, limit=self._most, now_ms=now_ms)

    @property
    def size(self) -> int:
        """How many addresses are remembered."""
        return len(self._windows)

    def _sweep(self, now_ms: int) -> None:
        if 0 <= now_ms - self._swept_ms < SPAN_MS:
            return
        self._swept_ms = now_ms
        self._windows = {who: window for who, window in self._windows.items() if window.last_ms > now_ms - SPAN_MS}
