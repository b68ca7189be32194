"""/v1/events: the event feed, with cursors and long poll."""

from collections.abc import Collection

from starlette.requests import Request
from starlette.responses import Response

from malipo import clock
from malipo.api.parts import ApiParts
from malipo.api.responses import success
from malipo.db import Conn
from malipo.http.client_disconnect import while_connected
from malipo.merchants.check_api_key import Caller
from malipo.outbox import feed
from malipo.outbox.event import Event
from malipo.outbox.feed import CursorUnknown, FeedPage
from malipo.restore import feed_cursors
from malipo.restore.feed_cursors import cursor_of
from malipo.validation.fields import Fields

_MOST_WAIT_SECONDS = 30
_LATEST = "latest"
_EVERY = "*"


async def list_(parts: ApiParts, caller: Caller, request: Request) -> Response:
    fields = Fields(request.query_params)
    limit = fields.limit()
    wait_seconds = fields.whole("wait", 0, least=0, most=_MOST_WAIT_SECONDS)
    types = _types(fields)
    after = fields.text("after", most=64) or None
    if after is not None and after != _LATEST and feed_cursors.parse(after) is None:
        fields.wrong("after", CursorUnknown.code, CursorUnknown.sentence)
    fields.check()
    epoch, place = await _place(parts, caller.merchant_id, after)
    page = await _page(parts, caller.merchant_id, place, limit, types)
    wait_until = clock.monotonic() + wait_seconds
    # There may be events that this reader has not subscribed to: then it waits on, for the rest of its time.
    while not page.entries and page.is_end and (seconds := wait_until - clock.monotonic()) > 0:
        change = parts.long_polls.feeds.until_changed(caller.merchant_id, page.next or None, seconds=seconds)
        await while_connected(request, change)
        parts.queries.begin_waiting()
        page = await _page(parts, caller.merchant_id, page.next, limit, types)
        if parts.long_polls.feeds.is_released:
            break  # The process is stopping.
    entries = [
        {"id": each.id, "event": each.event, "createdAt": clock.iso(each.created_at), **each.subject}
        for each in page.entries
    ]
    return success({"events": entries, "next": cursor_of(epoch, page.next)})


def _types(fields: Fields) -> tuple[Event, ...]:
    """The events that the reader asks for; empty: all of payments."""
    words = str(fields.raw("types", "")).split(",")
    if _EVERY not in words or not {word for word in words if word != _EVERY} <= set(Event):
        return fields.choice_list("types", Event)
    return tuple(Event)


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


async def _page(parts: ApiParts, merchant_id: str, place: int | None, limit: int, types: Collection[Event]) -> FeedPage:
    return await parts.queries.read_snapshot(
        lambda connection: feed.page(connection, merchant_id, after=place, limit=limit, types=types)
    )
