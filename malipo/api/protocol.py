"""HTTP itself: uvicorn's, with our error shape for what is not HTTP, and bounds on what a stranger may send.

Nothing here knows a route or a key: it is all that stands between a socket and the application.
"""

import asyncio

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from malipo import clock, ids
from malipo.api.errors import response

# Beside its body a request has a head, chunk sizes and trailers.
_MOST_BYTES_BESIDE_THE_BODY = 256 * 1024
# Whatever the application has not read by then, it does not want.
_MOST_BODY_BYTES = 8 * 1024 * 1024
_HEAD_SECONDS = 30

# No JSON document begins like this.
_BROKEN_BODY = b"\xff"


class Protocol(HttpToolsProtocol):
    _is_in_head = True
    _is_broken = False
    _bytes = 0
    _body_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_broken:
            return
        if self._is_in_head:
            self._wait_for_head()
        self._bytes += len(data)
        super().data_received(data)
        beside = self._bytes - self._body_bytes
        if beside > _MOST_BYTES_BESIDE_THE_BODY or self._body_bytes > _MOST_BODY_BYTES:
            self.send_400_response("The request is too large.")

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._stop_waiting()
        super().on_headers_complete()

    def on_header(self, name: bytes, value: bytes) -> None:
        # What follows a body is no header, whatever it calls itself: a key there would pass by a proxy's eyes.
        if self._is_in_head:
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_head = True
        self._bytes = self._body_bytes = 0
        super().on_message_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP. If a request is being answered, it gets its own answer, and then we hang up."""
        self._is_broken = True
        self._stop_waiting()
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            self._refuse()
            return
        self.flow.pause_reading()
        cycle.keep_alive = False
        if cycle.more_body:
            # Its own body is what is broken: the application must not wait for the rest, nor believe the beginning.
            cycle.body = bytearray(_BROKEN_BODY)
            cycle.more_body = False
            cycle.message_event.set()

    def _refuse(self) -> None:
        answer = response(400, "bad_request", "The request is not valid HTTP.")
        answer.headers["X-Request-Id"] = ids.mint("req_", clock.now())
        head = [b"HTTP/1.1 400 Bad Request\r\n"]
        head += [name + b": " + value + b"\r\n" for name, value in answer.raw_headers]
        self.transport.write(b"".join([*head, b"connection: close\r\n\r\n", bytes(answer.body)]))
        self.transport.close()

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(_HEAD_SECONDS, self._hang_up)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _hang_up(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()
