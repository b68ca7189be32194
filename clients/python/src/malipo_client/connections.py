"""HTTP for `Malipo`: connections that are kept open, and used by one thread at a time.

No redirect is followed and no proxy is taken from the environment: the API key goes to the service and nowhere else.
"""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING, Any

from malipo_client.errors import ConnectionFailed
from malipo_client.request import Answer, Request
from malipo_client.service_address import ServiceAddress

if TYPE_CHECKING:
    from http.client import HTTPConnection
    from ssl import SSLContext


class Connections:
    def __init__(self, address: ServiceAddress, *, timeout: float, tls: SSLContext | None) -> None:
        self._address = address
        self._timeout = timeout
        self._tls = tls
        self._idle: deque[HTTPConnection] = deque()  # Two threads never get the same one from it.
        self._process = os.getpid()

    def send(self, request: Request[Any]) -> Answer:
        connection = self._idle_one() or self._new_one()
        is_reusable = False
        try:
            if connection.sock is not None:
                connection.sock.settimeout(self._timeout + request.wait_seconds)
            address = self._address
            connection.request(
                request.method,
                address.target_of(request),
                body=request.payload or None,
                headers=address.headers_of(request),
            )
            response = connection.getresponse()
            answer = Answer(
                response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()
            )
            is_reusable = not response.will_close
        except (OSError, _http().HTTPException) as error:
            raise ConnectionFailed(f"No answer from {self._address.url}: {_words(error)}.", was_sent=True) from error
        finally:
            if is_reusable:
                self._idle.append(connection)
            else:
                connection.close()
        return answer

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _idle_one(self) -> HTTPConnection | None:
        if self._process != os.getpid():
            # After a fork the parent uses the same sockets: we would read each other's answers.
            self._idle, self._process = deque(), os.getpid()
        while True:
            try:
                connection = self._idle.pop()
            except IndexError:
                return None
            if connection.sock is not None and not is_closed(connection.sock.fileno()):
                return connection
            connection.close()

    def _new_one(self) -> HTTPConnection:
        http, address = _http(), self._address
        connection: HTTPConnection
        if address.is_tls:
            self._tls = self._tls or _default_tls()
            connection = http.HTTPSConnection(address.host, address.port, timeout=self._timeout, context=self._tls)
        else:
            connection = http.HTTPConnection(address.host, address.port, timeout=self._timeout)
        try:
            connection.connect()
        except OSError as error:
            connection.close()
            raise ConnectionFailed(f"No connection to {address.url}: {_words(error)}.", was_sent=False) from error
        return connection


def is_closed(socket: int) -> bool:
    """Whether the service has closed it meanwhile. A connection at rest has nothing to read, but its end."""
    import select

    if hasattr(select, "poll"):
        poll = select.poll()
        poll.register(socket, select.POLLIN)
        return bool(poll.poll(0))
    return bool(select.select([socket], [], [], 0)[0])


def _words(error: Exception) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _default_tls() -> SSLContext:
    import ssl

    return ssl.create_default_context()


def _http() -> Any:
    import http.client  # Loaded with the first request, so that importing this package stays fast.

    return http.client
