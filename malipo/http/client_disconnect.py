"""Cancels long work for a client that disconnects."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request

Done = TypeVar("Done")


async def while_connected(request: Request, work: Coroutine[Any, Any, Done]) -> Done:
    """Wait for the work. If the client disconnects first, the work is cancelled and ClientDisconnect is raised."""
    working, hang_up = asyncio.ensure_future(work), asyncio.ensure_future(_hang_up(request))
    try:
        await asyncio.wait((working, hang_up), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            hang_up.result()  # Raises if the body was too slow.
            raise ClientDisconnect
        return working.result()
    finally:
        working.cancel()
        hang_up.cancel()


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
