"""Which failures are tried again, and after how long.

A call that the service does once however often it is sent (it only reads, or has an Idempotency-Key, or says so itself)
is tried again after everything that may pass. Any other call only if it is certain that nothing was done.
"""

from __future__ import annotations

from typing import Any

from malipo_client.errors import ApiError, ConnectionFailed, MalipoError, OutcomeUnknown, RateLimited, Unavailable
from malipo_client.request import Request

_FIRST_PAUSE, _LONGEST_PAUSE = 0.5, 8.0
# A rate limit is over within a minute. Whoever says longer than that is not waited for.
_LONGEST_RETRY_AFTER = 60


def pause_before_retry(request: Request[Any], error: MalipoError, *, failures: int, retries: int) -> float | None:
    """Seconds to wait before the next attempt; None if there is to be none."""
    if failures > retries or not _may_pass(error) or not (request.is_repeatable or _was_not_done(error)):
        return None
    retry_after = error.retry_after if isinstance(error, ApiError) else None
    if retry_after is None:
        return _random() * min(_LONGEST_PAUSE, _FIRST_PAUSE * (1 << failures - 1))
    # What the service says is true. A little later, so that not all come back in the same instant.
    return retry_after + _random() if retry_after <= _LONGEST_RETRY_AFTER else None


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


def _random() -> float:
    """From 0 to 1, all alike (full jitter)."""
    import random  # Loaded when it is needed, so that importing this package stays fast.

    return random.random()  # noqa: S311 - nobody gains by guessing it.
