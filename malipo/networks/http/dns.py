"""A DNS cache for the networks: a look-up is shared by all callers, and cached for a few seconds.

Each call has a connection of its own; without the cache each would also make a DNS query.
"""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Iterable
from functools import cache, partial
from ipaddress import ip_address

from malipo.networks.token_cache import TokenCache

_BELIEVED_SECONDS = 10.0


async def look_up(host: str) -> Iterable[str]:
    """Resolve a name in a thread, because only the system's blocking resolver knows hosts files and search lists."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG)
    return [str(address[0]) for *_, address in found]


class DnsCache:
    def __init__(self, look_up: Callable[[str], Awaitable[Iterable[str]]] = look_up) -> None:
        self._look_up = look_up
        self._addresses: dict[str, TokenCache] = {}
        self._best: dict[str, str] = {}

    async def addresses(self, host: str) -> list[str]:
        """The addresses of a host in the order in which to try them, at least one. OSError if the name does not
        resolve."""
        if _is_address(host):
            return [host]
        if host not in self._addresses:
            self._addresses[host] = TokenCache(partial(self._find, host))
        found = (await self._addresses[host].get()).split()
        return sorted(found, key=lambda each: each != self._best.get(host))

    def prefer(self, host: str, address: str) -> None:
        """This address accepted a connection, so it is tried first the next time."""
        self._best[host] = address

    async def _find(self, host: str) -> tuple[str, float]:
        """The addresses, separated by spaces."""
        found = dict.fromkeys(await self._look_up(host))
        if not found:
            raise OSError("a name without addresses")
        return " ".join(found), _BELIEVED_SECONDS


@cache
def _is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True
