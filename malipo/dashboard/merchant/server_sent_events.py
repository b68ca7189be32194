"""Server-sent events: notify a page that something has changed, so that it fetches itself anew."""

from collections.abc import AsyncIterator, Mapping

from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from malipo.clock import loop_time
from malipo.dashboard.merchant.request import MerchantRequest
from malipo.dashboard.security_headers import SECURITY_HEADERS
from malipo.payments.listing.transaction_list import find_versions

# A page that stays open connects again; proxies cut longer connections anyway.
_SECONDS = 300.0
_BEAT_SECONDS = 20.0


async def stream(request: MerchantRequest) -> Response:
    """Where too many are open, an empty response: the page stays as it is, and its script tries again later."""
    if not request.parts.live_streams.has_room(request.person.id):
        return Response(status_code=204)
    headers = SECURITY_HEADERS | {"X-Accel-Buffering": "no"}
    return _Stream(request, headers)


class _Stream(StreamingResponse):
    """Counted from its first byte until it ends, however it ends."""

    def __init__(self, request: MerchantRequest, headers: Mapping[str, str]) -> None:
        super().__init__(_changes(request), media_type="text/event-stream", headers=headers)
        self._slot = request.parts.live_streams.slot(request.person.id)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        with self._slot:
            await super().__call__(scope, receive, send)


async def _changes(request: MerchantRequest) -> AsyncIterator[str]:
    assert request.session is not None
    parts, merchant_id = request.parts, request.merchant_id
    until = loop_time() + _SECONDS
    seen = (await parts.queries.read(lambda connection: find_versions(connection, [merchant_id]))).get(merchant_id)
    yield "retry: 3000\n\n"
    while (left := until - loop_time()) > 0:
        await parts.lists.until_changed(merchant_id, seen, seconds=min(left, _BEAT_SECONDS))
        if parts.lists.is_released:
            return
        parts.queries.begin_waiting()
        if await parts.accounts.sessions.live_session(request.session.id, now=parts.clock()) is None:
            return
        now = (await parts.queries.read(lambda connection: find_versions(connection, [merchant_id]))).get(merchant_id)
        # A comment keeps the connection open where nothing has changed.
        yield f"event: changed\ndata: {now}\n\n" if now != seen else ": still here\n\n"
        seen = now
