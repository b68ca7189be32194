"""The feed: every event of yours, in one order and without gaps."""

from __future__ import annotations

import time
from collections.abc import Sequence

from malipo_client.operation import Mode, Resource, listing, operation
from malipo_client.records import EventPage
from malipo_client.request import Answer, Page, Request, whole

_LONGEST_WAIT = 25
_PACE_SECONDS = 1.0


class Events(Resource[Mode]):
    @operation
    def read(
        self,
        *,
        after: str | None = None,
        limit: int = 100,
        wait: int | None = None,
        types: Sequence[str] | str | None = None,
    ) -> Request[EventPage]:
        """One page: the events behind the cursor `after`, or from the oldest that is kept.

        `after="latest"` gives no events and the cursor at the end. `types` are the only ones to read, or "*" for every
        one: `batch.completed` and `link.…` come only then. A page of some types may be empty before the end: go on with
        its `next` as long as that is another one.
        """
        return _read(after, limit, wait, types)

    @listing
    def follow(
        self, *, after: str | None = None, page_size: int = 100, types: Sequence[str] | str | None = None
    ) -> Request[Page[EventPage]]:
        """Pages for ever, each as soon as something happens.

        Do the work of a page and store its `next` in one transaction of your database, and pass it as `after` at the
        next start: then each event is worked on exactly once.
        """
        return _follow(after, page_size, types, wait=0)


def _read(after: str | None, limit: int, wait: int | None, types: Sequence[str] | str | None) -> Request[EventPage]:
    named = types if types is None or isinstance(types, str) else ",".join(types)
    query = {"after": after, "limit": limit, "wait": wait, "types": named}
    return Request("GET", "/v1/events", whole(EventPage), query=query, wait_seconds=wait or 0)


def _follow(
    after: str | None, limit: int, types: Sequence[str] | str | None, wait: int, pause: float = 0.0
) -> Request[Page[EventPage]]:
    request = _read(after, limit, wait, types)
    made_at = time.monotonic()

    def read(answer: Answer) -> Page[EventPage]:
        page = request.read(answer)
        # The service holds its answer until there is news. Should it not, it is still asked once a second at most.
        pause = 0.0 if page.events else max(0.0, made_at + _PACE_SECONDS - time.monotonic())
        return Page([page] if page.events else [], _follow(page.next, limit, types, _LONGEST_WAIT, pause))

    return Request("GET", request.path, read, query=request.query, wait_seconds=wait, pause_seconds=pause)
