"""Long waits for a client end when it hangs up."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.requests import ClientDisconnect, Request


async def while_connected(request: Request, waiting: Coroutine[Any, Any, None]) -> None:
    """Wait for this. If the client hangs up before, there is nobody to answer: ClientDisconnect."""
    wait, hang_up = asyncio.ensure_future(waiting), asyncio.ensure_future(_hang_up(request))
    try:
        await asyncio.wait((wait, hang_up), return_when=asyncio.FIRST_COMPLETED)
        if not wait.done():
            hang_up.result()  # Its body may be too slow: then that is the answer.
            raise ClientDisconnect
        wait.result()
    finally:
        wait.cancel()
        hang_up.cancel()


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
