"""Limits presses that make no payment, by link and by address: somebody else is being asked, the link is over, the
number is refused, or the same is pressed again.

Each takes the lock of the link's row and a commit, so a program that presses without end would keep the link's
customers waiting. Presses that make a payment have limits of their own (`links/prompt_limits.py`). An address has less
than a link, so that one address does not take a link from everybody else. Each process counts for itself, and keeps a
count for at most a minute.
"""

from contextlib import suppress

from malipo.errors import TooMany
from malipo.rate_limit.in_process import InProcessLimits
from malipo.rate_limit.refusal import RateLimited

MOST_OF_LINK = 120  # a minute
MOST_OF_ADDRESS = 60  # a minute. Many customers share an address, and few of their presses make no payment.


class TooManyPresses(TooMany):
    def __init__(self) -> None:
        super().__init__("Too many presses made no payment.", retry_after_seconds=60)


class IdlePresses:
    def __init__(self) -> None:
        self._limits = InProcessLimits()

    def check(self, code: str, address: str, *, now_ms: int) -> None:
        """Raise TooManyPresses if a limit is reached, before anything is looked up or locked."""
        for whose, most in _limits_of(code, address):
            if not self._limits.has_room(whose, most, now_ms=now_ms):
                raise TooManyPresses

    def note(self, code: str, address: str, *, now_ms: int) -> None:
        for each in _limits_of(code, address):
            with suppress(RateLimited):  # Others were decided at the same time.
                self._limits.admit(each, now_ms=now_ms)


def _limits_of(code: str, address: str) -> tuple[tuple[str, int], ...]:
    return (f"link {code}", MOST_OF_LINK), (f"address {address}", MOST_OF_ADDRESS)
