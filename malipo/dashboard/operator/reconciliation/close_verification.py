"""Files to check a closed day with other software: what was signed, the signature, and the public key."""

from starlette.responses import Response

from malipo.dashboard.operator.reconciliation.close_day import day_in
from malipo.dashboard.operator.request import OperatorRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.db import Conn
from malipo.errors import Missing
from malipo.reconciliation.close import files_to_verify
from malipo.reconciliation.close.store import closes


async def download_signed(request: OperatorRequest) -> Response:
    return await _file(request, 0)


async def download_signature(request: OperatorRequest) -> Response:
    return await _file(request, 1)


async def download_key(request: OperatorRequest) -> Response:
    return await _file(request, 2)


async def _file(request: OperatorRequest, number: int) -> Response:
    """One of the three, under the name that the command has for it."""
    day = day_in(request)

    async def find(connection: Conn) -> tuple[str, bytes]:
        closed = await closes.find(connection, day)
        if closed is None:
            raise Missing("The day is not closed.")
        key = await files_to_verify.find_public_key(connection, closed.key_id)
        return list(files_to_verify.files_of(closed, key).items())[number]

    name, content = await request.parts.queries.read(find)
    headers = SECURITY_HEADERS | {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type="application/octet-stream", headers=headers)
