"""The HTTP protocol: uvicorn's, with our error shape for bad requests, and limits on size.

It is the layer between a socket and the application, without routes or API keys.

Nearly every request is one packet with its whole body, and for those no timer is set (decision 21). The application
begins only when the body is there. It checks the caller's rights first: a caller that could withhold the body after the
check would act with rights that were taken away meanwhile. Only one request of a connection is parsed at a time: those
behind it wait as bytes, and above a limit of them we stop reading (decision 25). How responses are written is in
`writer.py`; how long is waited, and how a connection ends, in `connection.py`.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import unquote

import httptools

from malipo.api.errors import response
from malipo.api.http.connection import ClientConnection
from malipo.api.http.connection_limits import MOST_UNREAD_BYTES
from malipo.api.http.request_head import is_canonical, is_host_clear
from malipo.api.http.writer import Cycle
from malipo.http.body_limit import MOST_BODY_BYTES
from malipo.http.request_ids import REQUEST_ID, SENT_IDS, TRACEPARENT

# In a request's scope: its body, if all of it has come. It is missing where the request can only be refused.
WHOLE_BODY = "malipo.body"

# Each header costs time, whatever it contains. This is the limit of common proxies.
_MOST_HEADERS = 100
_MOST_HEAD_BYTES = 32 * 1024
# Beside its body a request has a head, chunk sizes and trailers.
_MOST_BYTES_BESIDE_THE_BODY = 256 * 1024
# The application does not need a body that it has not read by then.
_MOST_UNWANTED_BYTES = 8 * 1024 * 1024

# No JSON document begins like this.
_BROKEN_BODY = b"\xff"

# A head ends with it, and a body in chunks.
_END = b"\r\n\r\n"
_NOTED_HEADERS = frozenset((b"host", b"content-length", b"expect", REQUEST_ID, TRACEPARENT))


class NotAccepted(Exception):  # noqa: N818 - it becomes a 400.
    """Valid HTTP that could be understood in two ways."""


class Protocol(ClientConnection):
    _body_bytes = 0
    _length: int | None = None  # announced length of the body
    _hosts = 0
    _sent_ids: dict[bytes, bytes] | None = None
    _tail = b""  # the last bytes of a part that is not complete
    _unread_from = 0
    _try_fast_path: Callable[[Cycle, Callable[[], None]], bool] | None = None

    # What arrives

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._try_fast_path = getattr(self.app, "try_fast_path", None)
        super().connection_made(transport)

    def data_received(self, data: bytes) -> None:
        if self._is_broken:
            return
        if self._is_owed:
            self._unread = self._unread[self._unread_from :] + data
            self._unread_from = 0
            if len(self._unread) > MOST_UNREAD_BYTES:
                self.flow.pause_reading()
        else:
            self._parse(data, 0)
        if self._bytes or self._unread or self._held_bytes:
            self._count_held()

    def _parse(self, data: bytes, begin: int) -> None:
        """Parse to the end of one request at most. The bytes behind it are parsed when that request is answered."""
        while begin < len(data) and not self._is_broken and not self._is_owed:
            end = self._end_of_part(data, begin)
            part = data[begin:end]
            self._bytes += len(part)
            self._tail = (self._tail + part)[-3:] if end == len(data) else b""
            super().data_received(part)
            begin = end
            beside = self._bytes - self._body_bytes
            most = _MOST_HEAD_BYTES if self._is_in_head else _MOST_BYTES_BESIDE_THE_BODY
            if beside > most or self._body_bytes > _MOST_UNWANTED_BYTES:
                self.send_400_response("The request is too large.")
        is_all = begin >= len(data) or self._is_broken
        self._unread, self._unread_from = (b"", 0) if is_all else (data, begin)
        if self._not_begun is not None:
            self._begin_or_ask_for_body(self._not_begun)
        if self._bytes and not self._is_broken:
            self._wait_for_head() if self._is_in_head else self._wait_for_body()

    def _end_of_part(self, data: bytes, begin: int) -> int:
        """The index where the current head or body ends; len(data) if it does not end here."""
        if self._length is not None and not self._is_in_head:
            return min(len(data), begin + self._length - self._body_bytes)
        if self._tail:
            found = (self._tail + data[begin:]).find(_END)
            end = begin + found + len(_END) - len(self._tail)
        else:
            found = data.find(_END, begin)
            end = found + len(_END)
        return len(data) if found < 0 else end

    # The parser's callbacks

    def on_message_begin(self) -> None:
        self.url = b""
        self.expect_100_continue = False
        self.headers = []
        self._hosts = 0
        self._sent_ids = None
        self._length = None

    def on_header(self, name: bytes, value: bytes) -> None:
        # Trailers are never read as headers: an API key there would not be seen by a proxy (request smuggling).
        if not self._is_in_head:
            return
        if len(self.headers) >= _MOST_HEADERS:
            raise NotAccepted("more headers than anybody needs")
        name = name.lower()
        if name in _NOTED_HEADERS:
            self._note_header(name, value)
        self.headers.append((name, value))

    def _note_header(self, name: bytes, value: bytes) -> None:
        if name == b"host":
            self._hosts += 1
        elif name == b"content-length":
            self._length = int(value)
        elif name in (REQUEST_ID, TRACEPARENT):
            self._sent_ids = {**(self._sent_ids or {}), name: value}
        elif value.lower() == b"100-continue":
            self.expect_100_continue = True

    def on_headers_complete(self) -> None:
        if self._is_owed:
            raise NotAccepted("two requests in one part")  # The parser and we disagree about where a request ends.
        if self._bytes > _MOST_HEAD_BYTES:
            raise NotAccepted("too large a head")
        version = self.parser.get_http_version()
        url = httptools.parse_url(self.url)
        path = url.path.decode("ascii")
        if not (is_host_clear(self._hosts, version) and is_canonical(path)):
            raise NotAccepted("its path or its host")
        self._is_in_head = False
        self._tail = b""
        self._stop_waiting()
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
        if self._sent_ids is not None:
            scope[SENT_IDS] = self._sent_ids
        self.scope = scope
        self.cycle = self._not_begun = cycle = Cycle(
            scope=scope,
            transport=self.transport,
            flow=self.flow,
            logger=self.logger,
            access_logger=self.access_logger,
            access_log=False,
            default_headers=self.server_state.default_headers,
            message_event=asyncio.Event(),
            expect_100_continue=self.expect_100_continue,
            keep_alive=not self._is_stopping and version != "1.0" and self.parser.should_keep_alive(),
            on_response=self.on_response_complete,
        )
        cycle.outgoing = self._outgoing

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._is_in_head = True
        self._bytes = self._body_bytes = 0
        self._tail = b""
        self._stop_waiting()
        super().on_message_complete()
        if self._not_begun is not None:
            scope: Any = self._not_begun.scope
            scope[WHOLE_BODY] = bytes(self._not_begun.body)
            self._begin()

    # Answers

    def _begin_or_ask_for_body(self, cycle: Cycle) -> None:
        """Begin, if the body is broken or too large: it is refused. Otherwise it is waited for."""
        if self._is_broken or self._body_bytes > MOST_BODY_BYTES or (self._length or 0) > MOST_BODY_BYTES:
            self._begin()
        elif cycle.waiting_for_100_continue:
            self._outgoing.leave()  # Responses to earlier requests are written first.
            cycle.answer_expect()

    def _begin(self) -> None:
        cycle, self._not_begun = self._not_begun, None
        if cycle is None:
            return
        usual = partial(self._start_asgi_task, cycle, self._answer)
        # An application may answer some requests without a task.
        if not (self._try_fast_path is not None and WHOLE_BODY in cycle.scope and self._try_fast_path(cycle, usual)):
            usual()

    def _refuse_slow_body(self) -> None:
        super()._refuse_slow_body()
        self._begin()  # The application answers, as it answers all else.

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        try:
            await self.app(scope, receive, send)
        except BaseException:
            self._outgoing.leave()  # uvicorn is about to close the connection.
            raise

    def on_response_complete(self) -> None:
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            self._limit_writing()
            return
        if self._unread:
            self._parse(self._unread, self._unread_from)
            self._count_held()
            if self._unread or self._is_broken:
                return  # The next request is being answered, and more is behind it.
        self.flow.resume_reading()
        self._begin_pause()

    # Refusals and ends

    def send_400_response(self, msg: str) -> None:
        """Refuse what is not HTTP. A request that is being answered gets its response first, then we close."""
        self._is_broken = True
        self._stop_waiting()
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            self._write_and_close(response(400, "bad_request", "The request is not valid HTTP."))
            return
        cycle.keep_alive = False
        if cycle.more_body:
            # Its own body is broken: the application must not wait for the rest, nor use the beginning.
            cycle.body = bytearray(_BROKEN_BODY)
            cycle.more_body = False
            cycle.message_event.set()
