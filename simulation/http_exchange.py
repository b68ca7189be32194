"""One HTTP request of a merchant or a customer, on a connection of its own."""

import asyncio
from dataclasses import dataclass
from typing import Any

from simulation.world import HOST

ANSWER_SECONDS = 12.0


@dataclass(frozen=True)
class HttpReply:
    status: int
    headers: dict[str, str]  # by their names in small letters
    body: bytes


class _Response(asyncio.Protocol):
    """Reads one answer."""

    def __init__(self, answer: "asyncio.Future[HttpReply]") -> None:
        self._answer = answer
        self._data = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._data += data
        head, end, body = self._data.partition(b"\r\n\r\n")
        if not end:
            return
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if len(body) >= int(headers["content-length"]) and not self._answer.done():
            self._answer.set_result(HttpReply(int(first.split()[1]), headers, body))
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:
        if not self._answer.done():
            self._answer.set_exception(ConnectionResetError("no answer"))


async def exchange(port: int, method: str, path: str, headers: dict[str, str], content: bytes) -> HttpReply:
    """OSError or TimeoutError if no answer came."""
    loop = asyncio.get_running_loop()
    lines = [f"{method} {path} HTTP/1.1", f"Host: {HOST}", *(f"{name}: {value}" for name, value in headers.items())]
    lines += [f"Content-Length: {len(content)}", "", ""]
    answer: asyncio.Future[HttpReply] = loop.create_future()
    async with asyncio.timeout(ANSWER_SECONDS):
        transport, _ = await loop.create_connection(lambda: _Response(answer), HOST, port)
        transport.write("\r\n".join(lines).encode() + content)
        return await answer
