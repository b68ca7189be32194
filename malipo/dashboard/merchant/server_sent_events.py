"""Server-sent events: tell a page that something has changed, so that it fetches itself anew."""

import asyncio
from collections.abc import AsyncIterator

from starlette.responses import Response, StreamingResponse

from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.payments.listing.transaction_list import find_versions

# A page that stays open connects again; proxies cut longer connections anyway.
_SECONDS = 300.0
_BEAT_SECONDS = 20.0


async def stream(request: MerchantRequest) -> Response:
    headers = SECURITY_HEADERS | {"X-Accel-Buffering": "no"}
    return StreamingResponse(_changes(request), media_type="text/event-stream", headers=headers)


async def _changes(request: MerchantRequest) -> AsyncIterator[str]:
    assert request.session is not None
    service, merchant_id = request.service, request.merchant_id
    loop = asyncio.get_running_loop()
    until = loop.time() + _SECONDS
    seen = (await service.read(lambda connection: find_versions(connection, [merchant_id]))).get(merchant_id)
    yield "retry: 3000\n\n"
    while (left := until - loop.time()) > 0:
        await service.lists.until_changed(merchant_id, seen, seconds=min(left, _BEAT_SECONDS))
        if service.lists.is_released:
            return
        if await service.sessions.live_session(request.session.id, now=service.clock()) is None:
            return
        now = (await service.read(lambda connection: find_versions(connection, [merchant_id]))).get(merchant_id)
        # A comment keeps the connection open where nothing has changed.
        yield f"event: changed\ndata: {now}\n\n" if now != seen else ": still here\n\n"
        seen = now
