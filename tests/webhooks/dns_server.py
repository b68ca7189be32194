"""A name server over real UDP with the answers of a test, and an address that no connection may ever reach."""

import asyncio
import struct
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from ipaddress import ip_address
from typing import cast

from tests.conftest import free_port

_A, _AAAA = 1, 28
_NO_SUCH_NAME = 3

Answer = Sequence[str] | None  # addresses; None is silence


class NameServer(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()  # look-ups of IPv4 addresses, by name
        self.port = 0
        self._zone: dict[str, list[Answer]] = {}
        self._turns: Counter[tuple[str, int]] = Counter()
        self._transport: asyncio.DatagramTransport | None = None

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def says(self, name: str, *answers: Answer) -> None:
        """One answer for each look-up, of which the last goes on for ever. They may be remembered for no second."""
        self._zone[name] = list(answers)

    @classmethod
    @asynccontextmanager
    async def opened(cls) -> AsyncIterator["NameServer"]:
        transport, server = await asyncio.get_running_loop().create_datagram_endpoint(cls, ("127.0.0.1", 0))
        server.port = transport.get_extra_info("sockname")[1]
        try:
            yield server
        finally:
            transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        name, kind, question = _question(data)
        if kind == _A:
            self.asked[name] += 1
        answers = self._zone.get(name)
        if answers is None:
            return self._say(data, question, [], addr, code=_NO_SUCH_NAME)
        turn = self._turns[name, kind]
        self._turns[name, kind] += 1
        answer = answers[min(turn, len(answers) - 1)]
        if answer is None:
            return None
        packed = [ip_address(each).packed for each in answer]
        size = 4 if kind == _A else 16
        return self._say(data, question, [each for each in packed if len(each) == size], addr)

    def _say(self, asked: bytes, question: bytes, found: list[bytes], addr: tuple[str, int], *, code: int = 0) -> None:
        kind = question[-4:-2]
        head = asked[:2] + struct.pack(">HHHHH", 0x8180 | code, 1, len(found), 0, 0)
        # Each begins with a pointer to the name in the question; class IN, kept for 0 seconds.
        records = (b"\xc0\x0c" + kind + struct.pack(">HIH", 1, 0, len(each)) + each for each in found)
        assert self._transport is not None
        self._transport.sendto(head + question + b"".join(records), addr)


def _question(data: bytes) -> tuple[str, int, bytes]:
    """The name, what is asked about it, and the bytes that say so."""
    labels, at = [], 12
    while size := data[at]:
        labels.append(data[at + 1 : at + 1 + size].decode())
        at += 1 + size
    return ".".join(labels).lower(), int.from_bytes(data[at + 1 : at + 3], "big"), data[12 : at + 5]


class Trap:
    """Listens, and remembers who came."""

    def __init__(self) -> None:
        self.port = 0
        self._arrived: list[tuple[str, int]] = []
        self._ours: list[tuple[str, int]] = []
        self._server: asyncio.Server | None = None

    @classmethod
    @asynccontextmanager
    async def opened(cls, *hosts: str, port: int | None = None) -> AsyncIterator["Trap"]:
        trap = cls()
        trap.port = port or free_port()
        trap._server = await asyncio.start_server(trap._count, hosts, trap.port)
        try:
            yield trap
        finally:
            trap._server.close()

    async def _count(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._arrived.append(writer.get_extra_info("peername")[:2])
        writer.close()

    async def visitors(self) -> int:
        """We knock at each door ourselves, and whoever knocked before us has been seen when we are."""
        assert self._server is not None
        for door in self._server.sockets:
            _, writer = await asyncio.open_connection(*door.getsockname()[:2])
            self._ours.append(writer.get_extra_info("sockname")[:2])
            while self._ours[-1] not in self._arrived:  # noqa: ASYNC110
                await asyncio.sleep(0.002)
            writer.close()
        return len([each for each in self._arrived if each not in self._ours])
