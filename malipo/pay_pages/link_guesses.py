"""Limits requests for links that do not exist, by address: a customer mistypes one, a program that guesses tries many.

No guess ever hits one of 2^80 codes; the limit only keeps such a program cheap. Each process counts for itself, and
keeps a count for at most a minute.
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
        """Raise TooManyMisses if the limit is reached, before the link is looked up."""
        if not self._limits.has_room(address, self._most, now_ms=now_ms):
            raise TooManyMisses

    def note(self, address: str, *, now_ms: int) -> None:
        with suppress(RateLimited):  # Others of this address were looked up at the same time.
            self._limits.admit((address, self._most), now_ms=now_ms)

    @property
    def size(self) -> int:
        """The number of addresses that are counted now."""
        return self._limits.size
