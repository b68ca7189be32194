"""Writes responses: a short one in one write, and all of one event loop iteration together (decision 21)."""

import asyncio
import re
from collections.abc import Iterable
from typing import Any, ClassVar
from weakref import WeakKeyDictionary, ref

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from malipo.api.http.timeouts import BODY_SECONDS
from malipo.errors import BodyTooSlow

# Characters that no header may hold. Ends of lines are counted.
_CONTROL = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


class OutgoingResponses:
    """Responses of one iteration of the event loop are written together, at its end.

    A client is then woken once for several; if it were woken for each, each would cost more to send.
    """

    _of_loop: ClassVar[WeakKeyDictionary[asyncio.AbstractEventLoop, "OutgoingResponses"]] = WeakKeyDictionary()

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = ref(loop)
        self._answers: list[tuple[asyncio.Transport, bytes]] = []

    @classmethod
    def of(cls, loop: asyncio.AbstractEventLoop) -> "OutgoingResponses":
        return cls._of_loop.setdefault(loop, cls(loop))

    def add(self, transport: asyncio.Transport, answer: bytes) -> None:
        if not self._answers and (loop := self._loop()) is not None:
            loop.call_soon(self.leave)
        self._answers.append((transport, answer))

    def leave(self) -> None:
        answers, self._answers = self._answers, []
        for transport, answer in answers:
            if not transport.is_closing():
                transport.write(answer)


def bytes_of(answer: Response) -> bytes:
    """A response without an application, after which the connection is closed."""
    head = b"".join([b"%b: %b\r\n" % header for header in answer.raw_headers])
    return b"%b%bconnection: close\r\n\r\n%b" % (STATUS_LINE[answer.status_code], head, bytes(answer.body))


class Cycle(RequestResponseCycle):
    """One request and its response. A short response is one write; uvicorn would write its head separately."""

    outgoing: OutgoingResponses
    is_late = False  # Its body did not come in time.
    _start: dict[str, Any] | None = None  # the head, held back until the body comes

    def answer_expect(self) -> None:
        if self.waiting_for_100_continue and not self.transport.is_closing():
            self.transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
            self.waiting_for_100_continue = False

    async def receive(self) -> Any:
        """Receive the body, or a message that the client has disconnected. Bytes after the body are not read for
        this."""
        if not self.is_late:
            self.answer_expect()
        if not self.disconnected and not self.response_complete and not self.is_late:
            if self.more_body:
                self.flow.resume_reading()
            await self.message_event.wait()
            self.message_event.clear()
        if self.disconnected or self.response_complete:
            return {"type": "http.disconnect"}
        if self.is_late:
            raise BodyTooSlow(f"The body did not arrive within {BODY_SECONDS:.0f} seconds.")
        body, self.body = bytes(self.body), bytearray()
        return {"type": "http.request", "body": body, "more_body": self.more_body}

    async def send(self, message: Any) -> None:
        if self.transport.is_closing():
            self.disconnected = True
        if message["type"] == "http.response.start" and not self.response_started:
            self._start = message
            return
        start, self._start = self._start, None
        if start is not None:
            if self._send_whole(start, message):
                return
            await super().send(start)  # type: ignore[arg-type]
        await super().send(message)

    def _send_whole(self, start: dict[str, Any], message: dict[str, Any]) -> bool:
        """Whether this was the whole response, and was written at once. Rare cases are left to uvicorn."""
        body: bytes = message.get("body", b"")
        headers = [*self.default_headers, *start.get("headers", ())]
        if (
            message.get("more_body")
            or self.scope["method"] == "HEAD"
            or (b"content-length", b"%d" % len(body)) not in headers
        ):
            return False
        head = STATUS_LINE[start["status"]] + b"".join([b"%b: %b\r\n" % header for header in headers])
        lines = len(headers) + 1
        if b"connection:" in head or _CONTROL.search(head) or not head.count(b"\n") == head.count(b"\r") == lines:
            return False
        return self._write_whole(head, body)

    def send_at_once(self, status: int, headers: Iterable[tuple[bytes, bytes]], body: bytes) -> bool:
        """Whether this whole response was written. Its headers are our own, have its length, and are not looked at."""
        head = STATUS_LINE[status] + b"".join([b"%b: %b\r\n" % header for header in (*self.default_headers, *headers)])
        return self._write_whole(head, body)

    def _write_whole(self, head: bytes, body: bytes) -> bool:
        if self.disconnected or self.flow.write_paused or self.transport.is_closing():
            return False
        if not self.keep_alive:
            head += b"connection: close\r\n"
        answer = b"%b\r\n%b" % (head, body)
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        self.message_event.set()
        if self.keep_alive:
            self.outgoing.add(self.transport, answer)
        else:
            self.transport.write(answer)
            self.transport.close()
        self.on_response()
        return True
