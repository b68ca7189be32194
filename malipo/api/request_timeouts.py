"""How long a request may take to arrive: its head, its body, and the pause before the next one on the same connection.

A slow head closes the connection. A slow body is answered with 408 `body_too_slow`.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from malipo.errors import Refusal

HEAD_SECONDS = 30
BODY_SECONDS = 30
# Longer than clients and proxies keep theirs, so that a payment is never sent on a connection that we are just closing.
KEEP_ALIVE_SECONDS = 75


class BodyTooSlow(Refusal):
    """408."""

    code = "body_too_slow"


@asynccontextmanager
async def body_timeout() -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(BODY_SECONDS):
            yield
    except TimeoutError:
        raise BodyTooSlow(f"The body did not arrive within {BODY_SECONDS} seconds.") from None
