"""The loop of `malipo listen`: reads the feed, forwards each event, and stores its cursor.

An event is done when the receiver has answered 2xx, and only then the cursor moves behind it. So even a kill -9 loses
nothing: at worst the last event is forwarded twice.
"""

import asyncio
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, repeat

from malipo import clock
from malipo.cli.developer.cursor_file import CursorFile, FeedPlace
from malipo.cli.developer.feed_client import LATEST, PAGE, CursorGone, Feed, FetchedEvent, FetchedPage, ServiceAway
from malipo.cli.developer.forward import RETRY_SECONDS, Forward
from malipo.cli.developer.output import Output

# The key's own programs share its rate limit with us: so we ask at most once a second, however much happens.
_PACE_SECONDS = 1.0


class FeedListener:
    def __init__(
        self,
        feed: Feed,
        forward: Forward,
        bookmark: CursorFile,
        screen: Output,
        *,
        wanted: Collection[str],
        skips_failed: bool,
    ) -> None:
        self._feed = feed
        self._forward = forward
        self._bookmark = bookmark
        self._screen = screen
        self._wanted = wanted
        self._skips_failed = skips_failed
        self._asked_at = -_PACE_SECONDS
        self.forwarded = 0
        self.skipped = 0

    async def run(self, place: FeedPlace, *, is_once: bool) -> None:
        """Run for ever, or until there is nothing more. The cursor is kept before it is printed as kept."""
        is_waiting = False  # The first answer comes at once, so that it can be seen whether all is well.
        while True:
            if place.after != LATEST:
                self._bookmark.keep(place)
            page = await self._read(place.after, is_waiting=is_waiting)
            if isinstance(page, CursorGone):
                place = self._after_loss(place, page)
                continue
            for event in _left(page.events, place.done):
                if not self._wanted or event.event in self._wanted:
                    await self._see_through(event, FeedPlace(place.after, event.id))
            place = FeedPlace(page.next)
            self._bookmark.keep(place)
            self._screen.open()
            if is_once and len(page.events) < PAGE:
                return
            is_waiting = not is_once

    def _after_loss(self, place: FeedPlace, lost: CursorGone) -> FeedPlace:
        """Where to go on instead. A cursor that is lost itself is not tried for ever."""
        if lost.go_on is None or lost.go_on == place.after:
            self._say(f"The place where the last one stopped is lost: {lost.why}. On with the oldest event kept.")
            return FeedPlace(None, place.done)
        self._say(
            "The service was restored from a backup, and events up to where the last one stopped are lost: look up the "
            f"payments of that time. Going on from {_plain(lost.go_on)}."
        )
        return FeedPlace(lost.go_on)

    async def _read(self, after: str | None, *, is_waiting: bool) -> FetchedPage | CursorGone:
        """Read a page, and wait while the service is down. Print the outage and the recovery once each."""
        pauses, is_away = _pauses(1, 2, 5), False
        while isinstance(read := await self._fetch(after, is_waiting=is_waiting), ServiceAway):
            if not is_away:
                self._say(f"{read.why}. Waiting.")
            is_away = True
            pause = next(pauses)
            await asyncio.sleep(pause if read.wait_seconds is None else read.wait_seconds)
        if is_away:
            self._say("The service answers again.")
        return read

    async def _fetch(self, after: str | None, *, is_waiting: bool) -> FetchedPage | ServiceAway | CursorGone:
        now = clock.loop_time
        await asyncio.sleep(self._asked_at + _PACE_SECONDS - now())
        self._asked_at = now()
        return await self._feed.read(after, is_waiting=is_waiting)

    async def _see_through(self, event: FetchedEvent, behind: FeedPlace) -> None:
        """Send an event until the receiver has answered 2xx."""
        for pause in _pauses(*RETRY_SECONDS):
            outcome = await self._forward(event)
            is_done = outcome.is_success or self._skips_failed
            if is_done:
                self._bookmark.keep(behind)
            self.forwarded += outcome.is_success
            self.skipped += is_done and not outcome.is_success
            then = "" if outcome.is_success else "skipped" if is_done else f"again in {pause} s"
            self._screen.tried(event, outcome, then=then, now=clock.now())
            if is_done:
                return
            await asyncio.sleep(pause)

    def _say(self, sentence: str) -> None:
        self._screen.note(sentence, now=clock.now())


def _left(events: Sequence[FetchedEvent], done: str | None) -> Sequence[FetchedEvent]:
    """The events of a page after `done`. If `done` is not on the page, all of them: twice is better than never."""
    ids = [event.id for event in events]
    return events[ids.index(done) + 1 :] if done in ids else events


def _plain(cursor: str) -> str:
    """Without terminal control characters."""
    return "".join(character for character in cursor[:40] if character.isprintable())


def _pauses(*seconds: int) -> Iterator[int]:
    return chain(seconds, repeat(seconds[-1]))
