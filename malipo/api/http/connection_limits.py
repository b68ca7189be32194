"""The limits of a process: how many connections, how many of one address, and how many bytes they hold together.

A request in one packet holds nothing here. The count covers bytes that must be kept: incomplete heads and bodies,
requests after one that is being answered, and answers that the client does not read.
"""

from typing import ClassVar
from weakref import WeakKeyDictionary

from uvicorn.server import ServerState

from malipo.api.http.address_limit import AddressLimit, CountedConnection, TooManyConnections
from malipo.errors import Unavailable
from malipo.http.client_address import is_among, parsed
from malipo.settings.parsers import Network

# Bytes that are read of requests after the one that is being answered. The rest stays in the socket, which stops the
# sender.
MOST_UNREAD_BYTES = 64 * 1024
# Bytes that all connections hold together.
MOST_BYTES = 64 * 1024 * 1024
MOST_CONNECTIONS = 10_000

# Files that are not connections of clients: the database's beside the pool, logs, certificates, the listener.
_OTHER_FILES = 64
_FEWEST_CONNECTIONS = 16
# When there is no room, several are closed at once, so that not each new connection searches all of them.
_CLOSED_AT_ONCE = 16


class ConnectionLimits:
    """Shared by all connections of one server."""

    _of_server: ClassVar[WeakKeyDictionary[ServerState, "ConnectionLimits"]] = WeakKeyDictionary()

    def __init__(self) -> None:
        self.most = MOST_CONNECTIONS
        self.most_bytes = MOST_BYTES
        self.per_address = AddressLimit()
        self.proxies: tuple[Network, ...] = ()  # that are trusted
        self.is_stopping = False
        self.connections: dict[CountedConnection, None] = {}
        # Connections whose head or body is not complete, and since when; the one that has taken longest first.
        self.incomplete: dict[CountedConnection, float] = {}
        self.held_bytes = 0

    @classmethod
    def of(cls, server: ServerState) -> "ConnectionLimits":
        return cls._of_server.setdefault(server, cls())

    def is_proxy(self, address: str | None) -> bool:
        known = None if address is None else parsed(address)
        return known is not None and is_among(known, self.proxies)

    @property
    def is_too_much(self) -> bool:
        return self.held_bytes > self.most_bytes

    def admit(self, connection: CountedConnection) -> Unavailable | None:
        """Why there is no room for one more, if there is none.

        Closes first a connection that has sent nothing, then the one that has been idle longest.
        """
        siblings = self.per_address.siblings(connection)
        if siblings is not None:
            stalled = self.per_address.stalled(siblings)
            if stalled is None:
                return TooManyConnections()
            self._evict(stalled)
        if len(self.connections) >= self.most and not self._make_room():
            return Unavailable()
        self.connections[connection] = None
        self.per_address.add(connection)
        return None

    def largest(self, asking: CountedConnection) -> CountedConnection:
        """The connection to close when all together hold too much: of the one that asks and those with incomplete
        requests, the one that holds most bytes."""
        return max(asking, *self.incomplete, key=lambda each: each.held_bytes) if self.incomplete else asking

    def forget(self, connection: CountedConnection) -> None:
        self.connections.pop(connection, None)
        self.incomplete.pop(connection, None)
        self.per_address.forget(connection)

    def _make_room(self) -> bool:
        number = max(1, self.most // _CLOSED_AT_ONCE)
        chosen = list(self.incomplete)[:number]
        if not chosen:
            idle = [(each.idle_since, each) for each in self.connections if each.idle_since is not None]
            chosen = [each for _, each in sorted(idle, key=lambda pair: pair[0])[:number]]
        for each in chosen:
            self._evict(each)
        return bool(chosen)

    def _evict(self, connection: CountedConnection) -> None:
        self.forget(connection)
        connection.evict()


def most_connections(*, files: int, database_pool: int) -> int:
    """The largest number of connections for a process that may have so many files open."""
    return max(_FEWEST_CONNECTIONS, min(MOST_CONNECTIONS, files - database_pool - _OTHER_FILES))
