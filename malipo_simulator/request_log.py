"""The request log: the latest requests with their replies, and the callbacks that were sent.

It stores the bytes as they came and masks secrets when they are shown, because most are never shown. Old entries are
dropped.
"""

import re
from collections import deque
from collections.abc import Iterator, Mapping

MOST_ENTRIES = 2_000
_MOST_BYTES = 8_192

_SECRET_HEADERS = {b"authorization", b"password", b"api-key", b"x-key", b"x-signature"}
_SHOWN_HEADERS = (
    *(b"authorization", b"origin", b"x-country", b"x-currency", b"username", b"password", b"client-id", b"api-key"),
    *(b"x-key", b"x-signature", b"content-type"),
)
_NAMES = "pin|PIN|password|token|apiKey|client_secret|access_token|output_SessionID"
_SECRETS = (
    re.compile(rf'("(?:{_NAMES})"\s*:\s*")((?:[^"\\]|\\.)*)'),  # JSON
    re.compile(rf"(<(?:{_NAMES})>)([^<]*)"),  # XML
    re.compile(rf"((?:^|&)(?:{_NAMES})=)([^&]*)"),  # a form
)


class RequestLogEntry:
    __slots__ = (
        *("at", "attempt", "body", "direction", "gateway", "headers", "method", "path", "phone", "reference", "reply"),
        *("seconds", "status", "verdict"),
    )

    def __init__(
        self,
        at: float,
        gateway: str,
        direction: str,
        method: str,
        path: str,
        headers: Mapping[bytes, bytes],
        body: bytes,
    ) -> None:
        self.at = at
        self.gateway = gateway
        self.direction = direction  # in: a request to the network; out: a callback from it
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body[:_MOST_BYTES]
        self.status: int | None = None  # None: no answer (yet)
        self.reply = b""
        self.seconds: float | None = None
        self.verdict = ""
        self.phone = ""
        self.reference = ""
        self.attempt = 0

    def answered(self, status: int | None, reply: bytes, at: float) -> None:
        self.status = status
        self.reply = reply[:_MOST_BYTES]
        self.seconds = at - self.at

    def shown_headers(self) -> dict[str, str]:
        return {
            name.decode(): "••••" if name in _SECRET_HEADERS else self.headers[name].decode("latin-1")
            for name in _SHOWN_HEADERS
            if name in self.headers
        }


class RequestLog:
    def __init__(self) -> None:
        self._entries: deque[RequestLogEntry] = deque(maxlen=MOST_ENTRIES)

    def add(self, entry: RequestLogEntry) -> None:
        self._entries.append(entry)

    def newest(self, *, gateway: str = "", phone: str = "") -> Iterator[RequestLogEntry]:
        for entry in reversed(self._entries):
            if (not gateway or entry.gateway == gateway) and (not phone or entry.phone == phone):
                yield entry

    def keep_all(self) -> None:
        """From now on, as long as there is memory."""
        self._entries = deque(self._entries)

    def clear(self) -> None:
        self._entries.clear()


def mask(body: bytes) -> str:
    """The text with its secrets masked."""
    text = body.decode("utf-8", "replace")
    for pattern in _SECRETS:
        text = pattern.sub(r"\1••••", text)
    return text
