"""The retry schedule: when a delivery is tried again (backoff). Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta


def next_try(retry_seconds: Sequence[int], attempt_count: int, ended_at: datetime) -> datetime | None:
    """When to try again after this many attempts, the last of which has just ended; None: not again."""
    if attempt_count > len(retry_seconds):
        return None
    return ended_at + timedelta(seconds=retry_seconds[attempt_count - 1])
