"""The interface of a network that gives its statement by API: optional, few have one. Pure."""

import re
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import Any, Protocol, runtime_checkable

import msgspec

from malipo import clock
from malipo.errors import Refusal
from malipo.networks.connector import Answer
from malipo.networks.http.client import Reply, text_of

_AMOUNT = re.compile(r"(\d{1,3}(?:,\d{3})+|\d{1,15})(?:\.0+)?", re.ASCII)
_EPOCH = re.compile(r"\d{9,13}(?:\.\d+)?", re.ASCII)
# An epoch above this is in milliseconds.
_MOST_SECONDS = 10**11


class CannotFetch(Refusal):
    """The network did not give a complete statement. An incomplete one is not used."""


class FetchedLine(msgspec.Struct, frozen=True, kw_only=True):
    """One movement, as the network's API has it."""

    receipt: str
    moved_at: datetime
    amount: int  # above 0 came in, below 0 went out
    service: str = ""  # the network's word for what it was
    key: str = ""  # our own, where the network repeats it
    phone: str = ""
    details: str = ""


@runtime_checkable
class StatementSource(Protocol):
    """The part of a connector that fetches statements, if its network has an API for that. Raises CannotFetch with the
    reason."""

    @property
    def statement_profile(self) -> str:
        """The profile by which a file of these lines is read."""

    def fetch_statement(self, begins: datetime, ends: datetime) -> AsyncIterator[FetchedLine]:
        """Every line from the first moment until before the last, in the network's order."""


def fields_of(reply: Reply | Answer, source: str) -> dict[str, Any]:
    """The content of a page. A page that did not come, or cannot be read, ends the whole fetch: half a day is no
    statement."""
    if isinstance(reply, Answer):
        raise CannotFetch(f"{source} did not come: {reply.code} {reply.detail}".strip() + ".")
    fields = reply.json()
    if reply.status != 200 or fields is None:
        raise CannotFetch(f"{source} did not come: HTTP {reply.status}.")
    return fields


def list_in(fields: dict[str, Any], name: str, source: str) -> list[dict[str, Any]]:
    found = fields.get(name)
    if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
        raise CannotFetch(f"{source} has no list {name!r}.")
    return found


def shillings(value: object, source: str) -> int:
    """Numbers, or text with groups: `1,234.00`."""
    match = _AMOUNT.fullmatch(text_of(value))
    if match is None:
        raise CannotFetch(f"{source}: {text_of(value)!r} is not a whole number of shillings.")
    return int(match[1].replace(",", ""))


def moment(value: object, source: str) -> datetime:
    """The time in an epoch of seconds or milliseconds, or in ISO 8601. Without a zone it is the time of Dar es
    Salaam."""
    text = text_of(value)
    try:
        if _EPOCH.fullmatch(text):
            seconds = float(text)
            return datetime.fromtimestamp(seconds / 1000 if seconds > _MOST_SECONDS else seconds, UTC)
        found = datetime.fromisoformat(text)
    except ValueError:
        raise CannotFetch(f"{source}: {text!r} is not a time.") from None
    return (found if found.tzinfo else found.replace(tzinfo=clock.ZONE)).astimezone(UTC)
