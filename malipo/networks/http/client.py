"""The HTTP client for networks: one request, and its result as a value.

It knows HTTP and nothing of payments. What matters above all is whether anything can have reached the other side:

    Reply          the network answered, whatever the answer says
    RequestUnsent  no connection was made, so provably nothing was sent
    ReplyLost      something may have been sent, and no complete answer arrived: the outcome is unknown
"""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from malipo.http import tls
from malipo.networks.http.connection import MOST_OF_A_BODY, ConnectionBroken
from malipo.networks.http.transport import NotSent, Transport

_MOST_CHARACTERS = 500
_MOST_OF_A_RECEIPT = 64
_MOST_OF_A_KEY = 20


@dataclass(frozen=True, slots=True)
class Reply:
    status: int
    body: bytes

    @property
    def is_fault(self) -> bool:
        """A fault of the network itself: what it says about the payment does not count."""
        return self.status >= 500 or self.status == 408

    def json(self) -> dict[str, Any] | None:
        """The body, if it is a JSON object."""
        return json_object(self.body)


@dataclass(frozen=True, slots=True)
class RequestUnsent:
    reason: str


@dataclass(frozen=True, slots=True)
class ReplyLost:
    reason: str


class HttpClient:
    """Calls to the networks. No redirect is followed, and no proxy is taken from the environment.

    Each call has a connection of its own. On one that was used before, the reply might be somebody else's, or the
    connection be closing as we write; and neither "not found" nor a refusal names its payment.
    """

    def __init__(self) -> None:
        self._opened: Transport | None = None

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator["HttpClient"]:
        http_client = cls()
        try:
            yield http_client
        finally:
            await http_client.close()

    async def close(self) -> None:
        if self._opened is not None:
            await self._opened.close()

    async def call(
        self,
        method: str,
        url: str,
        *,
        headers: Mapping[str, str],
        timeout_seconds: float,
        body: bytes | None = None,
        most_of_a_body: int = MOST_OF_A_BODY,  # A statement is longer than an answer about one payment.
    ) -> Reply | RequestUnsent | ReplyLost:
        if self._opened is None:  # A process that only reads callbacks never calls.
            self._opened = Transport(tls.client_context())
        try:
            answer = await self._opened.make(
                method,
                url,
                headers=headers,
                body=body,
                timeout_seconds=timeout_seconds,
                most_of_a_body=most_of_a_body,
            )
        except NotSent as error:
            return RequestUnsent(str(error))
        except ConnectionBroken as error:
            return ReplyLost(str(error))
        return Reply(answer.status, answer.body)


def json_object(body: bytes) -> dict[str, Any] | None:
    """The JSON object in the body; None for anything else, however malformed."""
    try:
        value = msgspec.json.decode(body)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def text_of(value: object) -> str:
    """A field that should be text. Networks also send numbers, nulls and characters that no column can hold."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    text = value if isinstance(value, str) else str(value)
    return "".join(character for character in text[:_MOST_CHARACTERS] if character.isprintable()).strip()


def is_true(value: object) -> bool:
    """A field that is true, as a boolean or as text."""
    return value is True or text_of(value).lower() == "true"


def receipt_of(*values: object) -> str | None:
    """The first of these that is a receipt: text, and not a placeholder for none."""
    for value in values:
        receipt = text_of(value) if isinstance(value, str) else ""
        if receipt and receipt.upper() not in ("N/A", "NULL", "NONE"):
            return receipt[:_MOST_OF_A_RECEIPT]
    return None


def key_of(value: object) -> str:
    """A key of ours, as it came; nothing if it cannot be one."""
    is_key = isinstance(value, str) and value.isascii() and value.isalnum() and len(value) <= _MOST_OF_A_KEY
    return str(value) if is_key else ""


def token_of(value: object) -> str:
    """A token or session, as it came; nothing if it could not stand in a header."""
    is_token = isinstance(value, str) and value.isascii() and value.isprintable() and " " not in value
    return str(value) if is_token else ""


def amount_of(value: object) -> int | None:
    """The amount in whole shillings; None where the network gave none; -1, which fits no payment, for text that is no
    amount."""
    text = text_of(value)
    if not text:
        return None
    whole, _, cents = text.partition(".")
    return int(whole) if whole.isascii() and whole.isdigit() and len(whole) < 16 and not cents.strip("0") else -1


def seconds_of(value: object) -> float:
    """How long something lasts. It is text in some replies and a number in others."""
    try:
        return float(text_of(value) or 0)
    except ValueError:
        return 0.0
