"""Addresses that ask for links that do not exist: a customer mistypes one, and a program that guesses asks for many.

No guess ever hits one of 2^80 codes; the limit keeps such a program from costing anything. Each process counts for
itself, and remembers nothing longer than a minute.
"""

from contextlib import suppress

from malipo.errors import TooMany
from malipo.rate_limit.in_process import InProcessLimits
from malipo.rate_limit.refusal import RateLimited

MOST_A_MINUTE = 60  # Many customers share an address.


class TooManyMisses(TooMany):
    def __init__(self) -> None:
        super().__init__("Too many links that do not exist were asked for.", retry_after_seconds=60)


class Misses:
    def __init__(self, most: int = MOST_A_MINUTE) -> None:
        self._most = most
        self._limits = InProcessLimits()

    def check(self, address: str, *, now_ms: int) -> None:
        """Raises TooManyMisses where the limit is reached, before anything is looked up."""
        if not self._limits.has_room(address, self._most, now_ms=now_ms):
            raise TooManyMisses

    def note(self, address: str, *, now_ms: int) -> None:
        with suppress(RateLimited):  # Others of this address were looked up at the same time.
            self._limits.admit((address, self._most), now_ms=now_ms)

    @property
    def size(self) -> int:
        """How many addresses are remembered."""
        return self._limits.size
