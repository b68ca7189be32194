"""The retry schedule: when a delivery is tried again (backoff), and when an endpoint is switched off. Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta

GIVE_UP_AFTER = timedelta(days=5)


def next_try(retry_seconds: Sequence[int], attempt_count: int, ended_at: datetime) -> datetime | None:
    """When to try again after so many tries, of which the last ended just now; None if that was the last."""
    if attempt_count > len(retry_seconds):
        return None
    return ended_at + timedelta(seconds=retry_seconds[attempt_count - 1])


def is_given_up(failing_since: datetime | None, now: datetime) -> bool:
    """Whether an endpoint has failed for so long that it is switched off."""
    return failing_since is not None and now - failing_since >= GIVE_UP_AFTER
