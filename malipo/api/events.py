"""/v1/events: the event feed, with cursors and long poll."""

from starlette.requests import Request
from starlette.responses import Response

from malipo import clock
from malipo.api.parts import ApiParts
from malipo.api.responses import success
from malipo.db import Conn
from malipo.http.client_disconnect import while_connected
from malipo.merchants.authenticate import Caller
from malipo.outbox import feed
from malipo.outbox.feed import CursorUnknown, FeedPage
from malipo.restore import feed_cursors
from malipo.restore.feed_cursors import cursor_of
from malipo.validation.fields import Fields

_MOST_WAIT_SECONDS = 30
_LATEST = "latest"


async def list_(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(request.query_params)
    limit = fields.limit()
    wait_seconds = fields.whole("wait", 0, least=0, most=_MOST_WAIT_SECONDS)
    after = fields.text("after", most=64) or None
    if after is not None and after != _LATEST and feed_cursors.parse(after) is None:
        fields.wrong("after", CursorUnknown.code, CursorUnknown.sentence)
    fields.check()
    epoch, place = await _place(parts, caller.merchant_id, after)
    page = await _page(parts, caller.merchant_id, place, limit)
    if wait_seconds and not page.entries:
        # The page is empty, so `next` is the end of the feed.
        change = parts.long_polls.feeds.until_changed(caller.merchant_id, page.next or None, seconds=wait_seconds)
        await while_connected(request, change)
        parts.queries.begin_waiting()
        page = await _page(parts, caller.merchant_id, page.next, limit)
    entries = [
        {"id": each.id, "event": each.event, "createdAt": clock.iso(each.created_at), "transaction": each.transaction}
        for each in page.entries
    ]
    return success({"events": entries, "next": cursor_of(epoch, page.next)})


async def _place(parts: ApiParts, merchant_id: str, after: str | None) -> tuple[int, int | None]:
    """The epoch that it is, and the number to read on after."""

    async def find(connection: Conn) -> tuple[int, int | None]:
        epoch = await feed_cursors.find_epoch(connection)
        if after == _LATEST:
            return epoch, await feed.latest(connection, merchant_id)
        cursor = feed_cursors.parse(after or "")
        if cursor is None:
            return epoch, None
        of_epoch, number = cursor
        await feed_cursors.require_kept(connection, merchant_id, epoch=epoch, of_epoch=of_epoch, number=number)
        return epoch, number

    return await parts.queries.read(find)


async def _page(parts: ApiParts, merchant_id: str, place: int | None, limit: int) -> FeedPage:
    return await parts.queries.read_snapshot(
        lambda connection: feed.page(connection, merchant_id, after=place, limit=limit)
    )
