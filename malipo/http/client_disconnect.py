"""Long work for a client ends when it hangs up."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

Done = TypeVar("Done")


async def while_connected(request: Request, work: Coroutine[Any, Any, Done]) -> Done:
    """Wait for this. If the client hangs up before, it is cancelled, and nobody can be answered: ClientDisconnect."""
    working, hang_up = asyncio.ensure_future(work), asyncio.ensure_future(_hang_up(request))
    try:
        await asyncio.wait((working, hang_up), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            hang_up.result()  # Its body may be too slow: then that is the answer.
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        hang_up.cancel()


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
