"""The HTTP protocol: uvicorn's, with our error shape for bad requests, and limits on size and time.

It is the layer between a socket and the application, without routes or API keys.

Nearly every request is one packet with its whole body. For those the application is called when the body is there, and
no timer is set (decision 21). How responses are written is in `http_writer.py`, how long is waited in
`request_timeouts.py`.
"""

import asyncio
from typing import Any
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from malipo import clock
from malipo.api import request_timeouts
from malipo.api.errors import response
from malipo.api.http_writer import Cycle, Outgoing
from malipo.request_ids import new_request_id

# In a request's scope: its body, if all of it came with the head. Then there is nothing to wait for.
WHOLE_BODY = "malipo.body"

# Beside its body a request has a head, chunk sizes and trailers.
_MOST_BYTES_BESIDE_THE_BODY = 256 * 1024
# Whatever the application has not read by then, it does not want.
_MOST_BODY_BYTES = 8 * 1024 * 1024

# No JSON document begins like this.
_BROKEN_BODY = b"\xff"


class Protocol(HttpToolsProtocol):
    _is_in_head = True
    _is_broken = False
    _bytes = 0
    _body_bytes = 0
    _head_timer: asyncio.TimerHandle | None = None
    _idle_timer: asyncio.TimerHandle | None = None
    _idle_since = 0.0
    _not_begun: Cycle | None = None  # its body may still come with its head

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._outgoing = Outgoing.of(self.loop)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_broken:
            return
        self._bytes += len(data)
        super().data_received(data)
        if self._not_begun is not None:
            self._begin()
        if self._is_in_head and self._bytes:
            self._wait_for_head()
        beside = self._bytes - self._body_bytes
        if beside > _MOST_BYTES_BESIDE_THE_BODY or self._body_bytes > _MOST_BODY_BYTES:
            self.send_400_response("The request is too large.")

    def on_message_begin(self) -> None:
        self.url = b""
        self.expect_100_continue = False
        self.headers = []

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers are never read as headers: an API key there would not be seen by a proxy (request smuggling).
        if self._is_in_head:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_in_head = False
        self._stop_waiting()
        version = self.parser.get_http_version()
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        scope: Any = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": version,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": "",
            "method": self.parser.get_method().decode("ascii"),
            "path": unquote(path) if "%" in path else path,
            "raw_path": url.path,
            "query_string": url.query or b"",
            "headers": self.headers,
        }
        self.scope = scope
        is_free = self.cycle is None or self.cycle.response_complete
        self.cycle = cycle = Cycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=version != "1.0" and self.parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        cycle.outgoing = self._outgoing
        if is_free:
            self._not_begun = cycle
        else:
            # It was pipelined: the request before it is not answered yet.
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, self._answer))

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_head = True
        self._bytes = self._body_bytes = 0
        super().on_message_complete()
        if self._not_begun is not None:
            scope: Any = self._not_begun.scope
            scope[WHOLE_BODY] = bytes(self._not_begun.body)
            self._begin()

    def _begin(self) -> None:
        assert self._not_begun is not None
        cycle, self._not_begun = self._not_begun, None
        self._start_asgi_task(cycle, self._answer)

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await self.app(scope, receive, send)
        except BaseException:
            self._outgoing.leave()  # uvicorn is about to close the connection.
            raise

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        self.flow.resume_reading()
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
            return
        # One timer for all the pauses of a connection, set anew only when it goes off too early.
        self._idle_since = self.loop.time()
        if self._idle_timer is None:
            self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def _close_if_idle(self) -> None:
        # A head that is incomplete has another timer; a body that the application did not read has this one.
        is_idle = self.cycle.response_complete and not (self._is_in_head and self._bytes)
        ends = self._idle_since + self.timeout_keep_alive
        if is_idle and ends <= self.loop.time():
            self._close_when_answered()
        else:
            at = ends if is_idle else self.loop.time() + self.timeout_keep_alive
            self._idle_timer = self.loop.call_at(at, self._close_if_idle)

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP. A request that is being answered gets its response first, then we close."""
        self._is_broken = True
        self._stop_waiting()
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            self._refuse()
            return
        self.flow.pause_reading()
        cycle.keep_alive = False
        if cycle.more_body:
            # Its own body is broken: the application must not wait for the rest, nor use the beginning.
            cycle.body = bytearray(_BROKEN_BODY)
            cycle.more_body = False
            cycle.message_event.set()

    def shutdown(self) -> None:
        self._outgoing.leave()
        super().shutdown()

    def _refuse(self) -> None:
        self._outgoing.leave()  # Responses to earlier requests are written first.
        answer = response(400, "bad_request", "The request is not valid HTTP.")
        answer.headers["X-Request-Id"] = new_request_id(clock.now())
        head = [b"HTTP/1.1 400 Bad Request\r\n"]
        head += [name + b": " + value + b"\r\n" for name, value in answer.raw_headers]
        self.transport.write(b"".join([*head, b"connection: close\r\n\r\n", bytes(answer.body)]))
        self.transport.close()

    def _wait_for_head(self) -> None:
        if self._head_timer is None:
            self._head_timer = self.loop.call_later(request_timeouts.HEAD_SECONDS, self._close_when_answered)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _close_when_answered(self) -> None:
        self._head_timer = None
        self._outgoing.leave()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False  # An earlier request is being answered: its answer is the last.
        elif not self.transport.is_closing():
            self.transport.close()
