"""The network between the simulated processes: TCP connections in memory, with real HTTP inside.

A process listens on a port; whoever connects gets one end of a link. Each request on a link has a fate, which the run's
fault list decides: it may be lost, late or repeated, and so may its reply.
"""

import asyncio
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from simulation.transport import SimulatedTransport

if TYPE_CHECKING:
    from simulation.event_loop import SimulatedLoop


@dataclass(frozen=True)
class RequestFate:
    """What becomes of one request. Times are seconds."""

    is_refused: bool = False  # there is no connection
    is_request_lost: bool = False
    is_reply_lost: bool = False
    request_delay: float = 0.0
    reply_delay: float = 0.0
    repeated_after: float | None = None  # the same bytes come again, on a connection that nobody reads


NO_FAULT = RequestFate()
_LOST_AFTER_SECONDS = 0.5  # until a peer notices that the connection is broken


@dataclass
class MemoryListener:
    process: str
    protocol_factory: Callable[[], Any]


class MemorySocket:
    """What the webhook client takes for a socket. Only the loop knows what to do with it."""

    address: Any = None

    def __init__(self, family: int, kind: int, protocol: int) -> None: ...

    def setblocking(self, flag: bool) -> None: ...

    def close(self) -> None: ...


class MemoryNetwork:
    loop: "SimulatedLoop"

    def __init__(self) -> None:
        self._listeners: dict[tuple[str, int], MemoryListener] = {}
        self._links: dict[int, Link] = {}
        self._number = 0
        # Called once for each request: from which process, to which host and port.
        self.fate: Callable[[str, str, int], RequestFate] = lambda process, host, port: NO_FAULT
        self.latency: Callable[[], float] = lambda: 0.0

    def join(self, loop: "SimulatedLoop") -> None:
        self.loop = loop

    def listen(self, host: str, port: int, process: str, protocol_factory: Callable[[], Any]) -> None:
        self._listeners[host, port] = MemoryListener(process, protocol_factory)

    async def connect(self, protocol_factory: Any, host: Any, port: Any, process: str, sock: Any) -> Any:
        if sock is not None:
            host, port = sock.address[:2]
        await asyncio.sleep(self.latency())
        # The first request's fate may be that there is no connection at all.
        fate = self.fate(process, host, port)
        listener = self._listeners.get((host, port))
        if fate.is_refused or listener is None or self.loop.is_dead(listener.process):
            raise ConnectionRefusedError(111, "Connection refused")
        return self._link(protocol_factory(), process, listener, host, port, fate)

    def _link(self, near: Any, process: str, listener: MemoryListener, host: str, port: int, fate: RequestFate) -> Any:
        self._number += 1
        link = Link(self, self._number, process, listener, host, port, fate)
        self._links[self._number] = link
        link.open(near, listener.protocol_factory)
        return link.near, near

    def repeat(self, request: bytes, listener: MemoryListener, host: str, port: int) -> None:
        """The same request once more, as a proxy or an impatient sender would."""
        if not self.loop.is_dead(listener.process):
            transport, _ = self._link(_Deaf(), "world", listener, host, port, NO_FAULT)
            transport.write(request)
            self.loop.call_later(30.0, transport.close, context=self.loop.context_of("world"))

    def abandon(self, process: str) -> None:
        """A process died: its peers see their connections end."""
        for link in [each for each in self._links.values() if process in (each.near.process, each.far.process)]:
            link.abandon(process)

    def forget(self, link: "Link") -> None:
        self._links.pop(link.number, None)


class _Deaf(asyncio.Protocol):
    pass


class Link:
    """A connection: the near end is the one that connected."""

    def __init__(
        self,
        network: MemoryNetwork,
        number: int,
        process: str,
        listener: MemoryListener,
        host: str,
        port: int,
        fate: RequestFate,
    ) -> None:
        self.network = network
        self.number = number
        self.near = End(self, process)
        self.far = End(self, listener.process)
        self._listener = listener
        self._host, self._port = host, port
        self._fate = fate
        self._is_in_request = False
        self._request = b""
        self._is_used = False

    def open(self, near: Any, far_factory: Callable[[], Any]) -> None:
        self.near.protocol = near
        loop = self.network.loop

        def accept() -> None:
            self.far.protocol = far_factory()
            self.far.protocol.connection_made(self.far)

        loop.context_of(self.far.process).run(accept)
        near.connection_made(self.near)

    def carry(self, end: "End", data: bytes) -> None:
        if end is self.near:
            self._carry_request(data)
        else:
            self._carry_reply(data)

    def _carry_request(self, data: bytes) -> None:
        if not self._is_in_request:
            self._is_in_request = True
            if self._is_used:  # Another request on a connection that is kept alive.
                self._fate = self.network.fate(self.near.process, self._host, self._port)
            self._is_used = True
            if self._fate.repeated_after is not None:
                self.network.loop.call_later(
                    self._fate.repeated_after, self._repeat, context=self.network.loop.context_of("world")
                )
            self._request = b""
        self._request += data
        if self._fate.is_request_lost or self._fate.is_refused:
            self._break_later()
        else:
            self.far.receive_later(data, self._fate.request_delay)

    def _carry_reply(self, data: bytes) -> None:
        self._is_in_request = False
        if self._fate.is_reply_lost:
            self._break_later()
        else:
            self.near.receive_later(data, self._fate.reply_delay)

    def _repeat(self) -> None:
        self.network.repeat(self._request, self._listener, self._host, self._port)

    def _break_later(self) -> None:
        for end in (self.near, self.far):
            end.receive_later(None, _LOST_AFTER_SECONDS)

    def abandon(self, process: str) -> None:
        for end, other in ((self.near, self.far), (self.far, self.near)):
            if end.process == process:
                end.is_closed = end.is_lost = True
                other.receive_later(None, 0.0)

    def is_over(self) -> bool:
        return self.near.is_lost and self.far.is_lost


class End(SimulatedTransport):
    """One end of a link: what a protocol takes for its transport."""

    def __init__(self, link: Link, process: str) -> None:
        super().__init__()
        self.link = link
        self.process = process
        self.is_lost = False
        self._not_before = 0.0

    @property
    def _other(self) -> "End":
        return self.link.far if self is self.link.near else self.link.near

    def write(self, data: Any) -> None:
        if not self.is_closed and not self._other.is_lost:
            self.link.carry(self, bytes(data))

    def writelines(self, list_of_data: Any) -> None:
        self.write(b"".join(list_of_data))

    def receive_later(self, data: bytes | None, delay: float) -> None:
        """In the order in which it was sent. None is the end."""
        loop = self.link.network.loop
        self._not_before = max(self._not_before, loop.time() + delay + self.link.network.latency())
        loop.call_at(self._not_before, self._receive, data, context=loop.context_of(self.process))

    def _receive(self, data: bytes | None) -> None:
        if self.is_closed:
            return
        if data is not None:
            self.protocol.data_received(data)
            return
        if not self.protocol.eof_received():
            self.close()

    def close(self) -> None:
        if not self.is_closed:
            self.is_closed = True
            self._other.receive_later(None, 0.0)
            loop = self.link.network.loop
            loop.call_soon(self._lose, context=loop.context_of(self.process))

    def abort(self) -> None:
        self.close()

    def _lose(self) -> None:
        if not self.is_lost:
            self.is_lost = True
            self.protocol.connection_lost(None)
            if self.link.is_over():
                self.link.network.forget(self.link)

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        if name == "peername":
            return ("127.0.0.1", 40_000 + self.link.number % 20_000)
        if name == "sockname":
            return ("127.0.0.1", 8080)
        return default


def socket_factory(family: int, kind: int, protocol: int) -> socket.socket:
    made: Any = MemorySocket(family, kind, protocol)
    return made  # type: ignore[no-any-return]
