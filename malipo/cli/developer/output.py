"""Output of `malipo listen`: what is listened to, and one line for each attempt. Plain lines without a terminal.

A receiver's answer is shown without terminal control characters.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import TextIO

import msgspec

from malipo import money
from malipo.cli.developer.feed_client import FetchedEvent
from malipo.webhooks.http_client import NoResponse, ReceiverResponse

_GREEN, _RED, _DIM, _BOLD = "32", "31", "2", "1"
_MOST_OF_AN_ANSWER = 100
_EVENT_WIDTH = len("payment.completed")
_AMOUNT_WIDTH = len("TZS 1,000,000")


class _KnownSubject(msgspec.Struct):
    """The fields that are shown of what an event is about. Not all have a reference or an amount."""

    reference: str = ""
    id: str = "-"
    amount: int | None = None


@dataclass(frozen=True)
class Introduction:
    base_url: str
    forward_to: str
    wanted: Collection[str]
    secret: str
    start: str


class Output:
    def __init__(self, output: TextIO, introduction: Introduction) -> None:
        self._output = output
        self._introduction: Introduction | None = introduction
        is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        self._is_coloured = output.isatty() and not is_plain

    def open(self) -> None:
        """Print the lines that come once, before all others."""
        introduction, self._introduction = self._introduction, None
        if introduction is None:
            return
        self._say(
            f"Listening to   {introduction.base_url} ({', '.join(introduction.wanted) or 'every event'})",
            f"Forwarding to  {introduction.forward_to}",
            f"Signed with    {self._in(_BOLD, introduction.secret)}",
            "",
            "Give this secret to your receiver as its webhook secret (WEBHOOK_SECRET in our examples).",
            "It stays the same for this API key.",
            "",
            f"{introduction.start} Ctrl-C ends.",
            "",
        )

    def note(self, sentence: str, *, now: datetime) -> None:
        """Something to know about, between the events."""
        self.open()
        self._say(f"{self._time(now)}  {self._in(_DIM, sentence)}")

    def tried(self, event: FetchedEvent, outcome: ReceiverResponse | NoResponse, *, then: str, now: datetime) -> None:
        """A try, what came of it, and what follows."""
        self.open()
        about = _about(event)
        words = f"→ {_in_words(outcome)}" + (f"; {then}" if then else "")
        amount = ("" if about.amount is None else money.display(about.amount)).rjust(_AMOUNT_WIDTH)
        subject = f"{_shown(event.event).ljust(_EVENT_WIDTH)}  {_shown(about.reference or about.id)}  {amount}"
        self._say(f"{self._time(now)}  {subject}  {self._in(_GREEN if outcome.is_success else _RED, words)}")

    def end(self, *, forwarded: int, skipped: int, is_interrupted: bool) -> None:
        if is_interrupted and self._output.isatty():
            self._say()  # The terminal has written ^C on this line.
        events = "1 event" if forwarded == 1 else f"{forwarded:,} events"
        more = f", and skipped {skipped:,}" if skipped else ""
        next_ = " The next start goes on from here." if self._introduction is None else ""
        self._say(f"Forwarded {events}{more}.{next_}")

    def _time(self, now: datetime) -> str:
        return self._in(_DIM, now.astimezone().strftime("%H:%M:%S"))

    def _in(self, colour: str, text: str) -> str:
        return f"\x1b[{colour}m{text}\x1b[0m" if self._is_coloured else text

    def _say(self, *lines: str) -> None:
        print(*(lines or ("",)), sep="\n", file=self._output, flush=True)


def _about(event: FetchedEvent) -> _KnownSubject:
    try:
        return msgspec.json.decode(next(iter(event.subject.values())), type=_KnownSubject)
    except (StopIteration, ValueError, RecursionError):
        return _KnownSubject()


def _in_words(outcome: ReceiverResponse | NoResponse) -> str:
    if isinstance(outcome, NoResponse):
        return outcome.reason
    if outcome.is_success:
        return f"{outcome.status}{_phrase(outcome.status)} {outcome.seconds * 1000:.0f} ms"
    if 300 <= outcome.status < 400:
        return f"{outcome.status}: a redirect, which is not followed"
    lines = outcome.body.decode("utf-8", "replace").split("\n")
    said = next((line for line in map(_shown, lines) if line), "")
    return f"{outcome.status}: {said}" if said else f"{outcome.status}{_phrase(outcome.status)}"


def _phrase(status: int) -> str:
    try:
        return f" {HTTPStatus(status).phrase}"
    except ValueError:
        return ""


def _shown(text: str) -> str:
    """As much of a text as fits on the line, without terminal control characters."""
    plain = "".join(character if character.isprintable() else " " for character in text).strip()
    return plain if len(plain) <= _MOST_OF_AN_ANSWER else plain[: _MOST_OF_AN_ANSWER - 1] + "…"
