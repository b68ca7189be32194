"""Compression of answers, where the client takes it: gzip, which every browser knows. Pure.

The length of a compressed answer reveals whether it already contains a text that an attacker has put into it (BREACH).
So code that compresses an answer with a secret must know that no attacker can ask for it: see docs/decisions/0053.
"""

import gzip

ENCODING = "gzip"
LEAST_BYTES = 1000  # Less fits into a packet anyway.


def takes_gzip(accept_encoding: str) -> bool:
    """Whether an Accept-Encoding accepts gzip: `gzip`, `gzip;q=0.5` and `*` do, `gzip;q=0` does not."""
    accepted: dict[str, bool] = {}
    for each in accept_encoding.lower().split(","):
        name, _, weight = (part.strip() for part in each.partition(";"))
        accepted[name] = not _is_zero(weight)
    return accepted.get(ENCODING, accepted.get("x-gzip", accepted.get("*", False)))


def _is_zero(weight: str) -> bool:
    name, _, number = weight.replace(" ", "").partition("=")
    try:
        return name == "q" and float(number) == 0
    except ValueError:
        return False


def packed(body: bytes, *, is_kept: bool = False) -> bytes:
    """`is_kept`: it is sent many times, so that the smallest form is worth its time."""
    return gzip.compress(body, 9 if is_kept else 5, mtime=0)
