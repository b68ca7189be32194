"""How many connections one address has at most, IPv6 by the /64, as for log-in attempts.

A proxy's connections are everybody's: those of trusted proxies are not counted, nor those of this machine, where a
proxy often is. A connection that does nothing is closed to make room for another of the same address, but not right
after it was made or answered: a payment may be on its way.
"""

import ipaddress
from collections.abc import Collection
from operator import attrgetter
from typing import Protocol

from malipo.accounts.login_attempts import counted_address
from malipo.api.http.timeouts import STALLED_SECONDS
from malipo.clock import loop_time
from malipo.errors import Unavailable
from malipo.http.client_address import is_among, parsed
from malipo.settings.parsers import Network

LOOPBACK: tuple[Network, ...] = (ipaddress.IPv4Network("127.0.0.0/8"), ipaddress.IPv6Network("::1/128"))


class TooManyConnections(Unavailable):
    def __init__(self) -> None:
        super().__init__("There are too many connections from your address. Nothing was done; close some of them.")


class CountedConnection(Protocol):
    """The part of a connection that the limits of addresses and of the process read."""

    @property
    def address(self) -> str | None:
        """The client's address; None if the socket has none."""

    @property
    def incomplete_since(self) -> float | None:
        """Since when the rest of a head or a body is awaited; None if nothing is awaited."""

    @property
    def idle_since(self) -> float | None:
        """Since when the connection is idle; None while a request arrives or is answered."""

    @property
    def held_bytes(self) -> int: ...

    def evict(self) -> None: ...

    def let_go(self) -> None: ...


class AddressLimit:
    def __init__(self) -> None:
        self.most = 0  # no limit
        self.uncounted = LOOPBACK
        self.stalled_seconds = STALLED_SECONDS
        self._of_address: dict[str, dict[CountedConnection, None]] = {}

    @property
    def addresses(self) -> int:
        """The number of addresses with counted connections."""
        return len(self._of_address)

    def counted(self, address: str | None) -> str | None:
        """The key under which an address is counted; None if it is not counted."""
        known = parsed(address) if self.most and address is not None else None
        return None if known is None or is_among(known, self.uncounted) else counted_address(str(known))

    def siblings(self, connection: CountedConnection) -> Collection[CountedConnection] | None:
        """The other connections of its address, if the address has reached its limit."""
        others = self._of_address.get(self.counted(connection.address) or "", {})
        return others if self.most and len(others) >= self.most else None

    def stalled(self, connections: Collection[CountedConnection]) -> CountedConnection | None:
        """The connection to close: the one that has waited longest for the rest of a request, or else the one that was
        idle longest."""
        before = loop_time() - self.stalled_seconds
        for since_of in (attrgetter("incomplete_since"), attrgetter("idle_since")):
            waiting = [(since, each) for each in connections if (since := since_of(each)) is not None]
            if waiting and (longest := min(waiting, key=lambda pair: pair[0]))[0] <= before:
                return longest[1]
        return None

    def add(self, connection: CountedConnection) -> None:
        counted = self.counted(connection.address)
        if counted is not None:
            self._of_address.setdefault(counted, {})[connection] = None

    def forget(self, connection: CountedConnection) -> None:
        counted = self.counted(connection.address)
        others = self._of_address.get(counted or "")
        if others is not None and counted is not None:
            others.pop(connection, None)
            if not others:
                del self._of_address[counted]
