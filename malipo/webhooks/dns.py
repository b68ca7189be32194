"""DNS look-ups of merchants' servers."""

import socket
from collections.abc import Sequence

import aiodns
import pycares
from aiohttp.abc import AbstractResolver, ResolveResult

# A name can have hundreds of addresses, and aiohttp would try all of them, most more than once.
_MOST_ADDRESSES = 8
# Two tries, the second twice as long; together shorter than our own timeout, so that the error names the name server.
_LOOKUP_SECONDS = 2.5
_LOOKUPS = 2


class Resolver(AbstractResolver):
    """DNS look-ups without threads, so that a name server that does not answer does not block other look-ups."""

    def __init__(self, nameservers: Sequence[str] | None) -> None:
        # Without the machine's search list, so that exactly the merchant's name is looked up.
        flags = pycares.ARES_FLAG_NOSEARCH | pycares.ARES_FLAG_EDNS
        self._dns = aiodns.DNSResolver(nameservers, timeout=_LOOKUP_SECONDS, tries=_LOOKUPS, flags=flags)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        try:
            found = await self._dns.getaddrinfo(host, family=family, port=port, type=socket.SOCK_STREAM)
        except aiodns.error.DNSError as error:
            raise OSError(None, _unresolved(error.args[0])) from error
        return [
            ResolveResult(
                hostname=host,
                host=node.addr[0].decode(),
                port=port,
                family=node.family,
                proto=0,
                flags=socket.AI_NUMERICHOST,
            )
            for node in found.nodes[:_MOST_ADDRESSES]
        ]

    async def close(self) -> None:
        await self._dns.close()


def _unresolved(code: int) -> str:
    if code in (pycares.errno.ARES_ENOTFOUND, pycares.errno.ARES_ENODATA):
        return "the name does not resolve"
    if code == pycares.errno.ARES_ETIMEOUT:
        return "the name does not resolve: its name server does not answer"
    return f"the name does not resolve: {str(pycares.errno.strerror(code)).lower()}"
