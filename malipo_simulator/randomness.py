"""The only place of the simulator that draws random numbers: for ids, receipts, tokens and credentials.

They come from the operating system, unless somebody wants a run that can be repeated. Which faults happen is drawn
elsewhere, by the seed of `control.py`.
"""

import base64
import random


class _Source:
    generator: random.Random = random.SystemRandom()


def draw_from(generator: random.Random) -> None:
    _Source.generator = generator


def token_bytes(count: int) -> bytes:
    return _Source.generator.randbytes(count)


def token_hex(count: int) -> str:
    return token_bytes(count).hex()


def token_urlsafe(count: int) -> str:
    return base64.urlsafe_b64encode(token_bytes(count)).rstrip(b"=").decode()


def below(end: int) -> int:
    return _Source.generator.randrange(end)
