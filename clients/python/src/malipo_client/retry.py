"""Which failures are tried again, and after how long.

A call that the service does once however often it is sent (it only reads, or has an Idempotency-Key, or says so itself)
is tried again after everything that may pass. Any other call only if it is certain that nothing was done.

An error that says that nothing was done speaks of its own try. Once the answer to a try was lost, what was asked for
may exist, whatever the next try is told: a refusal is `OutcomeUnknown` then.
"""

from __future__ import annotations

from typing import Any, NoReturn

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

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
# A rate limit is over within a minute. A caller is not kept longer than that, whatever the service says.
_LONGEST_IN_ALL = 61.0


class Retries:
    """The retries of one call."""

    def __init__(self, request: Request[Any], *, most: int) -> None:
        self._request = request
        self._most = most
        self._failures = 0
        self._paused = 0.0
        self._may_be_done = False  # By a try whose answer was lost.

    def pause_after(self, error: MalipoError) -> float:
        """Seconds to wait before the next attempt. Raises the error if there is to be none."""
        error.idempotency_key = self._request.idempotency_key
        self._failures += 1
        pause = self._drawn(error)
        self._paused += pause
        is_safe = self._request.is_repeatable or _was_not_done(error)
        if self._failures > self._most or self._paused > _LONGEST_IN_ALL or not is_safe or not _may_pass(error):
            self._raise(error)
        self._may_be_done = self._may_be_done or _may_be_done(error)
        return pause

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
        import random  # Loaded when it is needed, so that importing this package stays fast.

        drawn = random.random()  # noqa: S311 - nobody gains by guessing it.
        if isinstance(error, ApiError) and error.retry_after is not None:
            return error.retry_after + drawn
        return drawn * min(_LONGEST_PAUSE, _FIRST_PAUSE * (1 << self._failures - 1))


def _may_pass(error: MalipoError) -> bool:
    if isinstance(error, RateLimited):
        return error.code == "rate_limited"  # Others are limits of a day.
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
    """What is known after this error, if an earlier try may have been done."""
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
