"""The life of a connection: whether it is admitted, how long it may take, how much it may hold, and how it ends.

Its bytes are parsed in `protocol.py`. The same limits hold on every route: for a head, a body, a reader and a pause
(`timeouts.py`).
"""

import asyncio
from collections.abc import Callable
from functools import partial

from starlette.responses import Response
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from malipo import clock
from malipo.api.errors import answer_to
from malipo.api.http import timeouts
from malipo.api.http.connection_limits import ConnectionLimits
from malipo.api.http.writer import Cycle, OutgoingResponses, bytes_of
from malipo.errors import Unavailable
from malipo.http.request_ids import new_request_id


class ClientConnection(HttpToolsProtocol):
    cycle: Cycle
    _is_in_head = True
    _not_begun: Cycle | None = None  # its body is not here
    _is_broken = False  # Nothing more is read from it.
    _is_stopping = False
    _bytes = 0  # bytes of the request that is arriving
    _unread = b""  # the bytes after a request that is being answered
    _held_bytes = 0  # as the limits know it
    _arrival_timer: asyncio.TimerHandle | None = None
    _write_timer: asyncio.TimerHandle | None = None
    _idle_timer: asyncio.TimerHandle | None = None
    _idle_since = 0.0

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._outgoing = OutgoingResponses.of(self.loop)
        self._limits = ConnectionLimits.of(self.server_state)
        if (refusal := self._limits.admit(self)) is not None:
            self._is_broken = True
            self._write_and_close(answer_to(refusal))
            return
        self._wait_for_head()
        if self._limits.is_stopping:
            self.shutdown()

    def connection_lost(self, exc: Exception | None) -> None:
        self._limits.forget(self)
        self._limits.held_bytes -= self._held_bytes
        self._held_bytes, self._unread = 0, b""
        self._stop_waiting()
        self._stop_write_timer()
        if self._idle_timer is not None:
            self._idle_timer.cancel()
        super().connection_lost(exc)

    @property
    def _is_owed(self) -> bool:
        """Whether a request is here as a whole, and not answered."""
        cycle = self.cycle
        return cycle is not None and not cycle.response_complete and not cycle.more_body

    # What it holds

    def _count_held(self) -> None:
        is_dropped = (
            not self._is_in_head and self.cycle.response_complete
        )  # the rest of a body whose request was answered
        held = len(self._unread) + (0 if is_dropped else self._bytes)
        held += self.transport.get_write_buffer_size() if self.flow.write_paused else 0
        self._limits.held_bytes += held - self._held_bytes
        is_more, self._held_bytes = held > self._held_bytes, held
        if is_more and self._limits.is_too_much:
            self._limits.largest(self).let_go()

    @property
    def held_bytes(self) -> int:
        return self._held_bytes

    def let_go(self) -> None:
        """All connections together hold too much, and this one most. What is whole is answered, as the last."""
        self._is_broken = True
        self._unread = b""
        self._stop_waiting()
        if self.flow.write_paused:
            self.transport.abort()
        elif self._is_owed:
            self.cycle.keep_alive = False
        else:
            if self.cycle is not None:
                self.cycle.disconnected = True  # Its body will not come.
                self.cycle.message_event.set()
            self._write_and_close(answer_to(Unavailable()))

    @property
    def address(self) -> str | None:
        return self.client[0] if self.client is not None else None

    @property
    def incomplete_since(self) -> float | None:
        return self._limits.incomplete.get(self)

    @property
    def idle_since(self) -> float | None:
        is_idle = self.cycle is not None and self.cycle.response_complete and not self._bytes
        return self._idle_since if is_idle else None

    def evict(self) -> None:
        """Make room for another connection."""
        self.connections.discard(self)
        self.transport.abort()

    # How long it may take to send

    def _wait_for_head(self) -> None:
        self._wait(timeouts.HEAD_SECONDS, self._close_when_answered)

    def _wait_for_body(self) -> None:
        if self._is_stopping:
            self._wait(timeouts.STALLED_SECONDS, partial(self._let_go_unless_more, self._bytes))
        else:
            self._wait(timeouts.BODY_SECONDS, self._refuse_slow_body)

    def _let_go_unless_more(self, received: int) -> None:
        """The server stops: a body that is coming is waited for, and one that is withheld is not."""
        self._stop_waiting()
        if self._not_begun is None:
            return  # It is being refused.
        if self._bytes < received + timeouts.LEAST_SENT_BYTES:
            self.let_go()
        else:
            self._wait_for_body()

    def _wait(self, seconds: float, act: Callable[[], None]) -> None:
        if self._arrival_timer is None:
            self._limits.incomplete[self] = clock.loop_time()
            self._arrival_timer = self.loop.call_later(seconds, act)

    def _stop_waiting(self) -> None:
        if self._arrival_timer is not None:
            self._limits.incomplete.pop(self, None)
            self._arrival_timer.cancel()
            self._arrival_timer = None

    def _refuse_slow_body(self) -> None:
        self._is_broken = True
        self.cycle.is_late = True
        self.cycle.message_event.set()
        self._close_when_answered()

    def _begin_pause(self) -> None:
        # One timer for all the pauses of a connection, set anew only when it goes off too early.
        self._idle_since = clock.loop_time()
        if self._idle_timer is None:
            self._idle_timer = self.loop.call_later(self.timeout_keep_alive, self._close_if_idle)

    def _close_if_idle(self) -> None:
        # A head that is incomplete has another timer; a body that the application did not read has this one.
        is_idle = self.cycle.response_complete and not (self._is_in_head and self._bytes)
        ends = self._idle_since + self.timeout_keep_alive
        if is_idle and ends <= clock.loop_time():
            self._close_when_answered()
        else:
            at = ends if is_idle else clock.loop_time() + self.timeout_keep_alive
            self._idle_timer = self.loop.call_at(at, self._close_if_idle)

    # How long it may take to read

    def pause_writing(self) -> None:
        super().pause_writing()
        self._count_held()
        self._limit_writing()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_write_timer()
        self._count_held()
        if self.transport.is_closing():
            self._limit_writing()

    def _limit_writing(self) -> None:
        """A client who does not read what was written for it is cut off."""
        unsent = self.transport.get_write_buffer_size()
        if self._write_timer is None and unsent:
            self._write_timer = self.loop.call_later(timeouts.WRITE_SECONDS, self._abort_unless_less, unsent)

    def _abort_unless_less(self, unsent: int) -> None:
        self._write_timer = None
        if self.transport.get_write_buffer_size() > unsent - timeouts.LEAST_READ_BYTES:
            self.transport.abort()
        else:
            self._limit_writing()

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    # How it ends

    def shutdown(self) -> None:
        self._is_stopping = self._limits.is_stopping = True
        self._outgoing.leave()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False
            if self._not_begun is not None:
                self._stop_waiting()
                self._wait_for_body()
        else:
            # A request that was sent before we stopped may not have been read yet: it is answered, with `Connection:
            # close`.
            is_proxy = self._limits.is_proxy(self.address)
            seconds = timeouts.PROXY_LAST_REQUEST_SECONDS if is_proxy else timeouts.LAST_REQUEST_SECONDS
            self.loop.call_later(seconds, self._close_unless_begun)

    def _close_unless_begun(self) -> None:
        if self._not_begun is None:
            self._close_when_answered()

    def _close_when_answered(self) -> None:
        self._stop_waiting()
        self._outgoing.leave()
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.keep_alive = False  # The connection closes after the current answer.
        elif not self.transport.is_closing():
            self._close()

    def _write_and_close(self, answer: Response) -> None:
        self._outgoing.leave()  # Responses to earlier requests are written first.
        answer.headers["X-Request-Id"] = new_request_id(clock.now())
        self.transport.write(bytes_of(answer))
        self._close()

    def _close(self) -> None:
        self.transport.close()
        self._limit_writing()
