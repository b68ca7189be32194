"""Connections to merchants' servers: aiohttp's pool, and the conditions for reusing a connection."""

from contextvars import ContextVar
from dataclasses import dataclass
from functools import partial
from ssl import SSLContext

import aiohttp
from aiohttp.abc import AbstractResolver
from aiohttp.client_proto import ResponseHandler
from aiohttp.connector import Connection
from aiohttp.tracing import Trace

MOST_RECEIVED = 512 * 1024  # headers and all: flow control stops a body before that

_IDLE_SECONDS = 30


class ReceiverConnection(ResponseHandler):
    """One connection. It counts received bytes, as aiohttp limits a header's text but not the spaces before it."""

    received = 0  # bytes since the last request

    def data_received(self, data: bytes) -> None:
        self.received += len(data)
        if self.received > MOST_RECEIVED:
            self.abort()
        else:
            super().data_received(data)

    def close(self) -> None:
        """Close the connection at once: TLS would wait for the receiver's close_notify, and a receiver could delay
        that and keep sending."""
        self.abort()


@dataclass(slots=True)
class PostExchange:
    """The progress of one POST. aiohttp gives its connector and socket factory no request, so they find it here."""

    may_reuse: bool = True
    refusal: str | None = None
    is_fresh: bool = False  # a socket was made for it
    protocol: ReceiverConnection | None = None
    has_answer: bool = False

    @property
    def is_reused(self) -> bool:
        return self.protocol is not None and not self.is_fresh

    def missed(self, seconds: float) -> str:
        if self.has_answer:
            return f"the answer did not end within {seconds:g} s"
        return f"no {'connection' if self.protocol is None else 'answer'} within {seconds:g} s"


exchange_under_way: ContextVar[PostExchange] = ContextVar("exchange")


class ConnectionPool(aiohttp.TCPConnector):
    """aiohttp's pool, and the socket factory that every connection passes."""

    def __init__(self, names: AbstractResolver, sockets: aiohttp.SocketFactoryType, ssl: SSLContext) -> None:
        # No limit here: the sender limits the concurrency.
        super().__init__(limit=0, keepalive_timeout=_IDLE_SECONDS, resolver=names, socket_factory=sockets, ssl=ssl)
        kind: type[ResponseHandler] = ReceiverConnection
        self._factory = partial(kind, loop=self._loop)

    async def connect(
        self,
        req: aiohttp.ClientRequest,
        traces: list[Trace],
        timeout: aiohttp.ClientTimeout,  # noqa: ASYNC109 (aiohttp's own signature)
    ) -> Connection:
        """A connection that has received nothing since the last answer.

        Unrequested bytes would be read as the answer to this request, and the event would count as delivered.
        """
        exchange = exchange_under_way.get()
        while True:
            connection = await super().connect(req, traces, timeout)
            protocol = connection.protocol
            assert isinstance(protocol, ReceiverConnection)
            if exchange.is_fresh or (exchange.may_reuse and not protocol.should_close):
                protocol.received = 0
                exchange.protocol = protocol
                return connection
            connection.close()
