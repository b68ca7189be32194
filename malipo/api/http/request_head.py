"""Mistakes in the head of a valid HTTP request: in its path or its Host.

A path has one spelling. A proxy that keeps `/operator` from the internet compares text, so `/%6fperator` must not be
the same page.
"""

import re
from functools import lru_cache

# An encoded letter, digit, `-`, `.`, `_`, `~` or slash; an empty segment; `.` and `..` as segments.
_ENCODED = r"%(?:2[dDeEfF]|3[0-9]|[46][1-9a-fA-F]|[57][0-9aA]|5[fF]|7[eE])"
_NOT_CANONICAL = re.compile(rf"{_ENCODED}|//|/\.\.?(?:/|$)")


@lru_cache(maxsize=256)  # Most requests have one of a few paths.
def is_canonical(path: str) -> bool:
    """Whether this is the only spelling of the path."""
    return _NOT_CANONICAL.search(path) is None


def is_host_clear(hosts: int, http_version: str) -> bool:
    """Whether there is exactly one Host. HTTP/1.0, which some health checks use, needs none."""
    return hosts == 1 or (hosts == 0 and http_version == "1.0")
