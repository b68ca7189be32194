"""A client of the event feed, as a merchant's program has one.

It knows HTTP and nothing of our position. A temporary failure is a value; a permanent one is a Refusal.
"""

from dataclasses import dataclass

import aiohttp
import msgspec

from malipo.cli.developer.credentials import Access
from malipo.errors import Forbidden, Invalid, Missing, Refusal, Unauthorized

LATEST = "latest"
PAGE = 100  # Always the same number, so that a page that is read twice has the same events.

_MOST_WAIT_SECONDS = 25
_PATIENCE_SECONDS = 15.0
_MOST_RETRY_AFTER_SECONDS = 300


class FetchedEvent(msgspec.Struct, frozen=True):
    """An event with its transaction or batch as bytes, as it came, because the signature is over bytes."""

    id: str
    event: str
    transaction: msgspec.Raw = msgspec.Raw()
    batch: msgspec.Raw = msgspec.Raw()

    @property
    def body(self) -> bytes:
        """The body of this event's webhook, byte for byte."""
        subject = {"batch": self.batch} if bytes(self.batch) else {"transaction": self.transaction}
        return msgspec.json.encode({"event": self.event, **subject})


class FetchedPage(msgspec.Struct, frozen=True):
    events: list[FetchedEvent]
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
                return msgspec.json.decode(body, type=FetchedPage)
            except (ValueError, RecursionError):
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
