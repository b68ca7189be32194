"""A page of the feed, with each event's bytes as they came.

A signature is over bytes, and JSON that was parsed and written again has others.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from malipo_client.errors import ConnectionFailed
from malipo_client.request import Answer, document

_DECODER = json.JSONDecoder()
# What the feed says of an event beside what it is about. A webhook has the id in a header, and signs the time.
_NOT_IN_A_WEBHOOK = frozenset({"id", "event", "createdAt"})
_SPACE = re.compile(r"[ \t\r\n]*")


class RawEvent(NamedTuple):
    id: str
    name: str
    subject: dict[str, Any]  # the transaction, batch, link or settlement
    body: bytes  # What a webhook of this event says, byte for byte.


class RawPage(NamedTuple):
    events: list[RawEvent]
    next: str


def read_page(answer: Answer) -> RawPage:
    if not {"events", "next"} <= document(answer).keys():
        raise ConnectionFailed("This is no answer of malipo.", was_sent=True)
    written = dict(_members(answer.body.decode().strip()))
    return RawPage([_event(each) for each in _elements(written["events"])], str(json.loads(written["next"])))


def _event(text: str) -> RawEvent:
    written = dict(_members(text))
    subject = {name: value for name, value in written.items() if name not in _NOT_IN_A_WEBHOOK}
    about = ",".join(f'"{name}":{value}' for name, value in subject.items())
    body = f'{{"event":{written["event"]},{about}}}'
    known = json.loads(next(iter(subject.values())))
    return RawEvent(json.loads(written["id"]), json.loads(written["event"]), known, body.encode())


def _members(text: str) -> Iterator[tuple[str, str]]:
    """The members of a JSON object, their values as they are written."""
    at = _skip(text, 1)
    while text[at] != "}":
        name, at = _DECODER.raw_decode(text, at)
        at = _skip(text, _skip(text, at) + 1)  # The colon.
        _, end = _DECODER.raw_decode(text, at)
        yield name, text[at:end]
        at = _behind_comma(text, end)


def _elements(text: str) -> Iterator[str]:
    """The elements of a JSON array, as they are written."""
    at = _skip(text, 1)
    while text[at] != "]":
        _, end = _DECODER.raw_decode(text, at)
        yield text[at:end]
        at = _behind_comma(text, end)


def _behind_comma(text: str, at: int) -> int:
    at = _skip(text, at)
    return _skip(text, at + 1) if text[at] == "," else at


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    return space.end() if space else at
