"""A snapshot of the database on a connection of its own: the books read more than a page's statement may take."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import TypeVar

from starlette.responses import Response, StreamingResponse

from malipo.audit_log import store as audit_log
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.db import Conn
from malipo.ledger.check import prepare

Found = TypeVar("Found")
Pieces = Callable[[Conn], AsyncIterator[str | bytes]]


@asynccontextmanager
async def own_snapshot(request: OperatorRequest) -> AsyncIterator[Conn]:
    database = request.parts.queries.database.another(size=1)
    await database.open()
    try:
        async with database.snapshot() as connection:
            await prepare(connection)
            yield connection
    finally:
        await database.close()


async def read(request: OperatorRequest, query: Callable[[Conn], Awaitable[Found]]) -> Found:
    async with own_snapshot(request) as connection:
        return await query(connection)


async def note_download(request: OperatorRequest, name: str) -> None:
    """Record in the audit log who downloads a file with the money of every merchant."""
    now = request.parts.clock()
    await request.parts.queries.write(
        lambda tx: audit_log.append(tx, request.actor, "books.downloaded", now=now, file=name)
    )


async def download(request: OperatorRequest, pieces: Pieces, *, name: str, media_type: str) -> Response:
    """Send a file while it is read from the database. Everything that could be refused is checked before the first
    byte."""
    await note_download(request, name)

    async def sent() -> AsyncIterator[str | bytes]:
        async with own_snapshot(request) as connection:
            async for piece in pieces(connection):
                yield piece

    headers = SECURITY_HEADERS | {"Content-Disposition": f'attachment; filename="{name}"'}
    return StreamingResponse(sent(), media_type=media_type, headers=headers)
