"""A client of the event feed, as a merchant's program has one.

It knows HTTP and nothing of our position. A temporary failure is a value; a permanent one is a Refusal.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import aiohttp
import msgspec

from malipo.cli.developer.credentials import Access
from malipo.errors import Forbidden, Invalid, Missing, Refusal, Unauthorized

LATEST = "latest"
PAGE = 100  # Always the same number, so that a page that is read twice has the same events.

# What the feed says of an event beside what it is about. A webhook has the id in a header, and signs the time.
_NOT_IN_A_WEBHOOK = frozenset({"id", "event", "createdAt"})

_MOST_WAIT_SECONDS = 25
_PATIENCE_SECONDS = 15.0
_MOST_RETRY_AFTER_SECONDS = 300


@dataclass(frozen=True, slots=True)
class FetchedEvent:
    """An event, and what it is about: a transaction, batch, link or settlement, under the name that the feed gives it.
    That is kept in bytes, as it came, because the signature is over bytes."""

    id: str
    event: str
    subject: Mapping[str, msgspec.Raw]

    @property
    def body(self) -> bytes:
        """The body of this event's webhook, byte for byte."""
        return msgspec.json.encode({"event": self.event, **self.subject})


@dataclass(frozen=True, slots=True)
class FetchedPage:
    events: Sequence[FetchedEvent]
    next: str


@dataclass(frozen=True, slots=True)
class ServiceAway:
    """The service does not answer now, and why, as the beginning of a sentence. Perhaps the service says how long it
    takes."""

    why: str
    wait_seconds: int | None = None


@dataclass(frozen=True, slots=True)
class CursorGone:
    """The service no longer has the place that was asked for, and why. Perhaps it says where to go on."""

    why: str
    go_on: str | None = None


class _Page(msgspec.Struct):
    events: list[dict[str, msgspec.Raw]]
    next: str


class _Error(msgspec.Struct):
    error: str


class _CursorLost(msgspec.Struct):
    details: dict[str, list[str]]


class Feed:
    def __init__(self, http: aiohttp.ClientSession, access: Access) -> None:
        self._http = http
        self._access = access

    async def read(self, after: str | None, *, is_waiting: bool) -> FetchedPage | ServiceAway | CursorGone:
        """The next events; if there are none yet, the first that come while it is being waited for."""
        seconds = _MOST_WAIT_SECONDS if is_waiting else 0
        query = {"limit": str(PAGE), "wait": str(seconds), "types": "*"} | ({} if after is None else {"after": after})
        try:
            async with self._http.get(
                f"{self._access.base_url}/v1/events",
                params=query,
                headers={"x-api-key": self._access.api_key},
                allow_redirects=False,  # The key must not be sent elsewhere.
                timeout=aiohttp.ClientTimeout(total=seconds + _PATIENCE_SECONDS),
            ) as answer:
                return self._understood(answer, await answer.read(), has_place=after is not None)
        except TimeoutError:
            return ServiceAway("The service does not answer in time")
        except (aiohttp.ClientError, OSError) as error:
            is_unmade = isinstance(error, aiohttp.ClientConnectorError)
            return ServiceAway(
                f"The service does not answer ({'no connection' if is_unmade else 'the connection was cut'})"
            )

    def _understood(
        self, answer: aiohttp.ClientResponse, body: bytes, *, has_place: bool
    ) -> FetchedPage | ServiceAway | CursorGone:
        if answer.status == 200:
            try:
                return _page(body)
            except (KeyError, ValueError, RecursionError):
                return ServiceAway(f"What is at {self._access.base_url} does not answer as malipo does")
        if answer.status == 429 or answer.status >= 500:
            is_often = answer.status == 429
            why = "This API key has been used too often" if is_often else f"The service answers HTTP {answer.status}"
            return ServiceAway(why, _seconds(answer.headers.get("Retry-After", "")))
        if answer.status == 400 and has_place:
            return _lost(answer.headers.get("X-Error-Code", ""), body)
        raise self._refusal(answer.status, _words(body))

    def _refusal(self, status: int, words: str) -> Refusal:
        url = self._access.base_url
        if status == 401:
            return Unauthorized(f"{url} does not take this API key: {words or 'HTTP 401'}")
        if status == 403:
            return Forbidden(f"{url} does not let this API key read events: {words or 'HTTP 403'}")
        if status == 404 or 300 <= status < 400:
            return Missing(f"There is no feed of events at {url} (HTTP {status}). Is --base-url right?")
        return Invalid(f"{url} refuses to show its events: {words or f'HTTP {status}'}")


def _page(body: bytes) -> FetchedPage:
    page = msgspec.json.decode(body, type=_Page)
    return FetchedPage([_event(fields) for fields in page.events], page.next)


def _event(fields: Mapping[str, msgspec.Raw]) -> FetchedEvent:
    return FetchedEvent(
        msgspec.json.decode(fields["id"], type=str),
        msgspec.json.decode(fields["event"], type=str),
        {name: value for name, value in fields.items() if name not in _NOT_IN_A_WEBHOOK},
    )


def _lost(code: str, body: bytes) -> CursorGone:
    match code:
        case "cursor_expired":
            return CursorGone("it is older than what is kept")
        case "cursor_lost":
            return CursorGone("the service was restored from a backup", _go_on(body))
        case _:
            return CursorGone("the service does not know it")


def _go_on(body: bytes) -> str | None:
    """The cursor that the error names."""
    try:
        [cursor] = msgspec.json.decode(body, type=_CursorLost).details["goOn"]
    except (KeyError, ValueError, RecursionError):
        return None
    return cursor


def _seconds(retry_after: str) -> int | None:
    is_number = retry_after.isascii() and retry_after.isdigit() and len(retry_after) < 7
    return min(int(retry_after), _MOST_RETRY_AFTER_SECONDS) if is_number else None


def _words(body: bytes) -> str:
    try:
        text = msgspec.json.decode(body, type=_Error).error
    except (ValueError, RecursionError):
        return ""
    return "".join(character for character in text[:300] if character.isprintable())
