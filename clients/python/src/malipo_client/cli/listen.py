"""`malipo-client listen`: forwards your events to a receiver on your own machine, as webhooks.

An event is done when the receiver has answered 2xx, and only then the cursor moves behind it. So even a kill -9 loses
nothing: at worst the last event is forwarded twice.
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Collection, Iterator
from contextlib import suppress
from itertools import chain, repeat
from typing import Any

from malipo_client.cli.cursor_file import CursorFile, Place
from malipo_client.cli.forward import Forward, secret_of
from malipo_client.cli.output import plain, shillings
from malipo_client.cli.raw_events import RawEvent, RawPage, read_page
from malipo_client.client import Malipo
from malipo_client.errors import (
    ApiError,
    ConnectionFailed,
    CursorExpired,
    CursorLost,
    InvalidRequest,
    RateLimited,
    Unavailable,
)
from malipo_client.request import Request

_HELP = "forward your events to a receiver on your own machine, as webhooks"
_LATEST = "latest"
_PAGE = 100
_LONGEST_WAIT = 25
# The key's own programs share its rate limit with us: so we ask at most once a second, however much happens.
_PACE_SECONDS = 1.0


def add_command(commands: Any, service: argparse.ArgumentParser) -> None:
    command = commands.add_parser("listen", parents=[service], help=_HELP, description=_HELP)
    command.set_defaults(command=_listen)
    command.add_argument("--forward-to", metavar="URL", required=True, help="such as http://127.0.0.1:3000/webhooks")
    command.add_argument("--events", metavar="LIST", default="", help="only these, with commas between (default: all)")
    command.add_argument("--from-start", action="store_true", help="begin with the oldest event that is kept")
    command.add_argument("--skip-failed", action="store_true", help="try each event only once, and go on")
    command.add_argument("--once", action="store_true", help="forward what there is now, and end")


def _listen(arguments: argparse.Namespace) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    secret = secret_of(arguments.api_key or os.environ.get("MALIPO_API_KEY", ""))
    forward = Forward(arguments.forward_to, secret)
    wanted = [name.strip() for name in arguments.events.split(",") if name.strip()]
    with Malipo(arguments.api_key, arguments.base_url, retries=0) as malipo:
        url = malipo._address.url
        with CursorFile.opened(url, secret, forward.url) as cursor_file:
            place, start = _beginning(cursor_file, is_from_start=arguments.from_start)
            introduction = [
                f"Listening to   {url} ({', '.join(wanted) or 'every event'})",
                f"Forwarding to  {forward.url}",
                f"Signed with    {secret}",
                "",
                "Give this secret to your receiver as its webhook secret (WEBHOOK_SECRET in our examples).",
                "It stays the same for this API key.",
                "",
                f"{start} Ctrl-C ends.",
                "",
            ]
            listener = Listener(
                malipo, forward, cursor_file, introduction, wanted=wanted, skips_failed=arguments.skip_failed
            )
            with suppress(KeyboardInterrupt):
                listener.run(place, is_once=arguments.once)
            _say(listener.summary)
    return 0


def _beginning(cursor_file: CursorFile, *, is_from_start: bool) -> tuple[Place, str]:
    """Where to begin, and how to say so."""
    if is_from_start:
        return Place(None), "Beginning with the oldest event that is kept."
    try:
        place = cursor_file.read()
    except ValueError:
        return Place(None), (
            f"Where the last one stopped cannot be read ({cursor_file.path}). So that nothing is lost, "
            "beginning with the oldest event that is kept."
        )
    if place is None:
        return Place(_LATEST), "Waiting for events, from now on."
    return place, "Going on where the last one stopped."


class Listener:
    def __init__(
        self,
        malipo: Malipo,
        forward: Forward,
        cursor_file: CursorFile,
        introduction: list[str],
        *,
        wanted: Collection[str],
        skips_failed: bool,
    ) -> None:
        self._malipo = malipo
        self._forward = forward
        self._cursor_file = cursor_file
        self._introduction = introduction
        self._wanted = wanted
        self._skips_failed = skips_failed
        self._asked_at = 0.0
        self._forwarded = 0
        self._skipped = 0

    @property
    def summary(self) -> str:
        events = "1 event" if self._forwarded == 1 else f"{self._forwarded:,} events"
        skipped = f", and skipped {self._skipped:,}" if self._skipped else ""
        return f"Forwarded {events}{skipped}. The next start goes on from here."

    def run(self, place: Place, *, is_once: bool) -> None:
        """For ever, or until there is nothing more. The first answer comes at once, to see whether all is well."""
        wait = 0
        while True:
            if place.after != _LATEST:
                self._cursor_file.keep(place)
            page = self._read(place.after, wait)
            if isinstance(page, InvalidRequest):
                place = self._after_loss(place, page)
                continue
            self._introduce()
            for event in _left(page.events, place.done):
                if not self._wanted or event.name in self._wanted:
                    self._see_through(event, Place(place.after, event.id))
            place = Place(page.next)
            self._cursor_file.keep(place)
            if is_once and len(page.events) < _PAGE:
                return
            wait = 0 if is_once else _LONGEST_WAIT

    def _read(self, after: str | None, wait: int) -> RawPage | InvalidRequest:
        """However long the service is away. That is printed once, and so is its return."""
        pauses, is_away = _pauses(1, 2, 5), False
        while isinstance(answer := self._ask(after, wait), (ConnectionFailed, RateLimited, Unavailable)):
            self._introduce()
            if not is_away:
                _note(f"{answer} Waiting.")
            is_away = True
            pause, retry_after = next(pauses), answer.retry_after if isinstance(answer, ApiError) else None
            time.sleep(pause if retry_after is None else retry_after)
        if is_away:
            _note("The service answers again.")
        return answer

    def _ask(
        self, after: str | None, wait: int
    ) -> RawPage | InvalidRequest | ConnectionFailed | RateLimited | Unavailable:
        time.sleep(max(0.0, self._asked_at + _PACE_SECONDS - time.monotonic()))
        self._asked_at = time.monotonic()
        query = {"after": after, "limit": _PAGE, "wait": wait, "types": "*"}
        try:
            return self._malipo._send(Request("GET", "/v1/events", read_page, query=query, wait_seconds=wait))
        except (InvalidRequest, ConnectionFailed, RateLimited, Unavailable) as error:
            return error

    def _introduce(self) -> None:
        """What is said once, before anything else, when it is known that the service takes the key."""
        _say(*self._introduction)
        self._introduction = []

    def _after_loss(self, place: Place, error: InvalidRequest) -> Place:
        """Where to go on instead. A cursor that is lost itself is not tried for ever."""
        if place.after is None:
            raise error
        self._introduce()
        if isinstance(error, CursorLost) and error.go_on not in (None, place.after):
            _note(
                "The service was restored from a backup, and events up to where the last one stopped are lost: look up "
                f"the payments of that time. Going on from {error.go_on}."
            )
            return Place(error.go_on)
        expired = "it is older than what is kept" if isinstance(error, CursorExpired) else str(error)
        _note(f"The place where the last one stopped is lost: {expired}. On with the oldest event kept.")
        return Place(None, place.done)

    def _see_through(self, event: RawEvent, behind: Place) -> None:
        """Until the receiver has answered 2xx."""
        for pause in _pauses(1, 2, 5, 10, 30):
            outcome = self._forward(event)
            is_done = outcome.is_success or self._skips_failed
            if is_done:
                self._cursor_file.keep(behind)
            self._forwarded += outcome.is_success
            self._skipped += is_done and not outcome.is_success
            then = "" if outcome.is_success else "; skipped" if is_done else f"; again in {pause} s"
            _note(f"{_line(event)}  → {outcome.words}{then}")
            if is_done:
                return
            time.sleep(pause)


def _left(events: list[RawEvent], done: str | None) -> list[RawEvent]:
    """The events of a page that are not done yet. If `done` is not on the page, all of them: twice is better than
    never."""
    ids = [event.id for event in events]
    return events[ids.index(done) + 1 :] if done in ids else events


def _line(event: RawEvent) -> str:
    amount = event.subject.get("amount")
    shown = shillings(amount) if isinstance(amount, int) else "-"
    name = event.subject.get("reference") or event.subject.get("id", "-")
    return f"{event.name.ljust(17)}  {name}  {shown.rjust(13)}"


def _pauses(*seconds: int) -> Iterator[int]:
    return chain(seconds, repeat(seconds[-1]))


def _note(sentence: str) -> None:
    _say(f"{time.strftime('%H:%M:%S')}  {sentence}")


def _say(*lines: str) -> None:
    for line in lines:
        print(plain(line), flush=True)
