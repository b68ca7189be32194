"""Applications of a few lines each, so that a test decides when they answer; and the requests that are put to them."""

import asyncio

import msgspec
from starlette.types import Message, Receive, Scope, Send

from malipo.api.http.protocol import WHOLE_BODY
from tests.api.raw_http import request


async def body_of(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        assert message["type"] == "http.request", message
        body += bytes(message["body"])
        if not message["more_body"]:
            return body


def start(length: int | None, *headers: tuple[bytes, bytes], status: int = 200) -> Message:
    known = [] if length is None else [(b"content-length", b"%d" % length)]
    return {"type": "http.response.start", "status": status, "headers": [*known, *headers]}


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def answer(send: Send, body: bytes, *headers: tuple[bytes, bytes], status: int = 200) -> None:
    await send(start(len(body), *headers, status=status))
    await send(part(body))


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Says what it was asked."""
    whole = scope.get(WHOLE_BODY)
    answers = await body_of(receive)
    said = {
        "asked": f"{scope['method']} {scope['path']}",
        "body": answers.decode(),
        "whole": None if whole is None else whole.decode(),
    }
    await answer(send, msgspec.json.encode(said))


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers without reading."""
    await answer(send, b"hello")


class Gated:
    """Answers each request with its path, when it is allowed to."""

    def __init__(self, *open_: str) -> None:
        self.begun: list[str] = []
        self.bodies: list[bytes] = []
        self._gates: dict[str, asyncio.Event] = {}
        for path in open_:
            self.let(path)

    def let(self, path: str) -> None:
        self._gate(path).set()

    def _gate(self, path: str) -> asyncio.Event:
        return self._gates.setdefault(path, asyncio.Event())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        self.begun.append(path)
        self.bodies.append(await body_of(receive))
        await self._gate(path).wait()
        await answer(send, path.encode())


def get(path: str = "/", *headers: bytes) -> bytes:
    return request("GET", path, headers=headers)


POST = request("POST", "/thing", b"some words")
CHUNKED = request("POST", "/thing", headers=(b"transfer-encoding: chunked",)) + b"4\r\nsome\r\n6\r\n words\r\n0\r\n\r\n"
