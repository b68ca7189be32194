"""The answer to a request above its rate limit."""

from malipo.errors import TooMany
from malipo.rate_limit.sliding_window import RateLimitStatus


class RateLimited(TooMany):
    def __init__(self, rate_limit_status: RateLimitStatus) -> None:
        super().__init__(
            f"Rate limit exceeded. Try again in {rate_limit_status.reset_seconds} seconds.",
            retry_after_seconds=rate_limit_status.reset_seconds,
        )
        self.rate_limit_status = rate_limit_status
