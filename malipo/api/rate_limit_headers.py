"""The RateLimit headers of a response: the limit, what is left of it, and when it is whole again."""

from malipo.rate_limit.sliding_window import RateLimitStatus


def headers_of(status: RateLimitStatus) -> list[tuple[bytes, bytes]]:
    return [
        (b"ratelimit-limit", b"%d" % status.limit),
        (b"ratelimit-remaining", b"%d" % status.remaining),
        (b"ratelimit-reset", b"%d" % status.reset_seconds),
    ]
