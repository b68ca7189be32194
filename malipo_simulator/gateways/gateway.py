"""The interface of a gateway: it answers requests and formats callbacks."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import msgspec

from malipo_simulator.transaction import GatewayName, Transaction

JSON = b"application/json"
XML = b"text/xml;charset=UTF-8"

encode = msgspec.json.encode


class Request(NamedTuple):
    method: str
    path: str  # below the gateway's root
    query: bytes
    headers: Mapping[bytes, bytes]  # names in lower case
    body: bytes

    def header(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("latin-1")


class Reply(NamedTuple):
    status: int
    body: bytes
    content_type: bytes = JSON
    about: Transaction | None = None
    is_lost: bool = False
    phone: str = ""  # for the request log, where there is no transaction


def json_reply(status: int, body: Any, about: Transaction | None = None) -> Reply:
    return Reply(status, encode(body), JSON, about)


def lost(about: Transaction | None = None) -> Reply:
    """Close the connection without an answer."""
    return Reply(0, b"", about=about, is_lost=True)


HTML_500 = Reply(
    500,
    b"<!DOCTYPE html>\n<html><head><title>500 Internal Server Error</title></head>\n<body>\n"
    b"<h1>Internal Server Error</h1>\n<p>The server was unable to complete your request.</p>\n"
    b"<hr><address>Apache Server</address>\n</body></html>\n",
    b"text/html; charset=iso-8859-1",
)


class Notice(NamedTuple):
    """A result as a network tells it. `verdict` reads the acknowledgement: empty if it is as the network wants it."""

    body: bytes
    content_type: bytes
    verdict: Callable[[bytes], str]


class Gateway(Protocol):
    name: GatewayName
    root: str

    def credentials(self) -> dict[str, Any]: ...

    async def answer(self, request: Request) -> Reply: ...

    def notice(self, transaction: Transaction) -> Notice | None: ...

    def opening(self, transaction: Transaction) -> Notice | None:
        """The callback on acceptance of a payment; most networks send none."""
        return None
