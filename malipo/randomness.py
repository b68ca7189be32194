"""The only place that draws random numbers: for ids, nonces, secrets, and pauses between retries.

They come from the operating system. The simulation puts a seeded generator in its place, so that the same seed gives
the same ids; nothing else does.
"""

import base64
import random


class _RandomSource:
    generator: random.Random = random.SystemRandom()


def draw_from(generator: random.Random) -> None:
    """Draw from another source. For the simulation only: who knows the seed knows every secret that is drawn from
    here on."""
    _RandomSource.generator = generator


def token_bytes(count: int) -> bytes:
    return _RandomSource.generator.randbytes(count)


def token_hex(count: int) -> str:
    """So many bytes, as twice as many characters."""
    return token_bytes(count).hex()


def token_urlsafe(count: int) -> str:
    """So many bytes, as text that needs no escaping in a URL."""
    return base64.urlsafe_b64encode(token_bytes(count)).rstrip(b"=").decode()


def below(end: int) -> int:
    """A whole number from 0 to `end`, without `end` itself."""
    return _RandomSource.generator.randrange(end)


def between(least: float, most: float) -> float:
    return _RandomSource.generator.uniform(least, most)
