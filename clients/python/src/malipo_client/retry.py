"""Which failures are tried again, and after how long.

A call that the service does once however often it is sent (it only reads, or has an Idempotency-Key, or says so itself)
is tried again after everything that may pass. Any other call only if it is certain that nothing was done.

An error that says that nothing was done speaks of its own try. Once the answer to a try was lost, what was asked for
may exist, whatever the next try is told: a refusal is `OutcomeUnknown` then.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

from malipo_client.errors import (
    ApiError,
    ConnectionFailed,
    IdempotencyKeyReused,
    MalipoError,
    OutcomeUnknown,
    RateLimited,
    Unavailable,
)
from malipo_client.request import Request

if TYPE_CHECKING:
    from typing import TypeGuard

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
# A rate limit is over within a minute. A caller is not kept longer than that, whatever the service says.
_LONGEST_IN_ALL = 61.0


class Retries:
    """The retries of one call."""

    def __init__(self, request: Request[Any], *, most: int) -> None:
        self._request = request
        self._most = most
        self._failures = 0
        self._limits = 0
        self._paused = 0.0
        self._may_be_done = False  # By a try whose answer was lost.

    def pause_after(self, error: MalipoError) -> float:
        """Seconds to wait before the next attempt. Raises the error if there is to be none."""
        error.idempotency_key = self._request.idempotency_key
        if _is_rate_limit(error):
            pause = self._pause_for_limit(error)
        else:
            self._failures += 1
            pause = self._drawn(error)
            is_safe = self._request.is_repeatable or _was_not_done(error)
            is_too_long = self._paused + pause > _LONGEST_IN_ALL
            if self._failures > self._most or is_too_long or not is_safe or not _may_pass(error):
                self._raise(error)
        self._paused += pause
        self._may_be_done = self._may_be_done or _may_be_done(error)
        return pause

    def _pause_for_limit(self, error: RateLimited) -> float:
        """As long as the service says, and up to seconds more, so that not all who wait come back at once. How often
        does not matter, only how long in all: who waits gets through. But who wants no retries is not kept waiting."""
        self._limits += 1
        left, told = _LONGEST_IN_ALL - self._paused, float(error.retry_after or 0)
        if not self._most or told >= left:
            self._raise(error)
        return min(told + _drawn() * min(_LONGEST_PAUSE, 1 << self._limits - 1), left)

    def _raise(self, error: MalipoError) -> NoReturn:
        if not self._may_be_done or self._request.method == "GET" or _may_be_done(error):
            raise error
        if isinstance(error, IdempotencyKeyReused):
            raise error  # The key belongs to another request, so no try of this one was done.
        unknown = _unknown(error)
        unknown.idempotency_key = error.idempotency_key
        raise unknown from error

    def _drawn(self, error: MalipoError) -> float:
        """From nothing to a limit that grows (full jitter); or what the service says, and a little later, so that not
        all come back in the same instant."""
        if isinstance(error, ApiError) and error.retry_after is not None:
            return error.retry_after + _drawn()
        return _drawn() * min(_LONGEST_PAUSE, _FIRST_PAUSE * (1 << self._failures - 1))


def _drawn() -> float:
    import random  # Loaded when it is needed, so that importing this package stays fast.

    return random.random()  # noqa: S311 - nobody gains by guessing it.


def _is_rate_limit(error: MalipoError) -> TypeGuard[RateLimited]:
    return isinstance(error, RateLimited) and error.code == "rate_limited"  # Others are limits of a day.


def _may_pass(error: MalipoError) -> bool:
    return isinstance(error, (ConnectionFailed, Unavailable))


def _was_not_done(error: MalipoError) -> bool:
    if isinstance(error, ConnectionFailed):
        return not error.was_sent
    # A 503 of the service says so, unless it does not know. A 500 does not say, nor does a proxy.
    return isinstance(error, RateLimited) or (
        isinstance(error, Unavailable)
        and not isinstance(error, OutcomeUnknown)
        and error.status == 503
        and error.code != "http_503"
    )


def _may_be_done(error: MalipoError) -> bool:
    if isinstance(error, ConnectionFailed):
        return error.was_sent
    return isinstance(error, Unavailable) and not _was_not_done(error)


def _unknown(error: MalipoError) -> MalipoError:
    """The error for the caller, if an earlier try may have been done."""
    words = "It may have been done: an earlier try had no answer. The last one: "
    if not isinstance(error, ApiError):
        return ConnectionFailed(f"{words}{error}", was_sent=True)
    return OutcomeUnknown(
        f"{words}{error.message}",
        status=503,
        code="outcome_unknown",
        details=error.details,
        request_id=error.request_id,
        retry_after=error.retry_after,
    )
