"""Clients that keep their connections and send request after request, and never repeat one.

A client whose answer says `connection: close`, or who finds its connection closed before it sends, connects anew, as
every HTTP library does. Whatever else it meets without an answer is lost.
"""

import asyncio
import itertools
import json
import random
import select
from dataclasses import dataclass, field
from typing import Any

from tests.conftest import COLLECTION

_ANSWER_SECONDS = 30


@dataclass
class KeepAliveClients:
    port: int
    key: str
    pause_seconds: float = 0.0  # at most, of every second client between its requests
    is_over: bool = False
    lost: list[str] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    ids: list[str] = field(default_factory=list)  # of the payments whose creation was answered
    sent: int = 0
    connects: int = 0
    slowest_seconds: float = 0.0
    created_at: list[float] = field(default_factory=list)

    @property
    def answered(self) -> int:
        return sum(self.statuses.values())

    @property
    def longest_gap_seconds(self) -> float:
        """Between two payments whose creation was answered."""
        return max((later - earlier for earlier, later in itertools.pairwise(self.created_at)), default=0.0)

    async def run(self, connections: int) -> None:
        pauses = (self.pause_seconds * (number % 2) for number in range(connections))
        await asyncio.gather(*(self._client(random.Random(number), pause) for number, pause in enumerate(pauses)))

    async def until_more(self, number: int) -> None:
        """Return when so many more were answered, or lost."""
        wanted = self.answered + len(self.lost) + number
        while self.answered + len(self.lost) < wanted:  # noqa: ASYNC110
            await asyncio.sleep(0.01)

    async def _client(self, chance: random.Random, pause_seconds: float) -> None:
        connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        while not self.is_over:
            if pause_seconds:
                await asyncio.sleep(chance.uniform(0, pause_seconds))
            self.sent += 1
            number = self.sent
            began = asyncio.get_running_loop().time()
            try:
                if connection is not None and _is_closed(connection[1]):
                    connection[1].close()
                    connection = None
                if connection is None:
                    self.connects += 1
                    connection = await asyncio.open_connection("127.0.0.1", self.port)
                async with asyncio.timeout(_ANSWER_SECONDS):
                    is_last = await self._ask(number, *connection)
            except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
                self.lost.append(f"{number}: {error!r}")
                is_last = True
            self.slowest_seconds = max(self.slowest_seconds, asyncio.get_running_loop().time() - began)
            if is_last and connection is not None:
                connection[1].close()
                connection = None
        if connection is not None:
            connection[1].close()
            await connection[1].wait_closed()

    async def _ask(self, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the answer is the last on its connection. Three of four requests are payments."""
        is_payment = number % 4 != 0
        body = json.dumps(COLLECTION).encode() if is_payment else b""
        head = f"{'POST' if is_payment else 'GET'} /v1/{'payments' if is_payment else 'wallet'} HTTP/1.1\r\n"
        head += f"host: 127.0.0.1\r\nx-api-key: {self.key}\r\ncontent-length: {len(body)}\r\n"
        if is_payment:
            head += f"content-type: application/json\r\nidempotency-key: order-{number}\r\n"
        writer.write(f"{head}\r\n".encode() + body)
        status, headers, answer = await _read(reader)
        self.statuses[status] = self.statuses.get(status, 0) + 1
        if status == 201:
            self.ids.append(answer["transaction"]["id"])
            self.created_at.append(asyncio.get_running_loop().time())
        return headers.get("connection") == "close"


def _is_closed(writer: asyncio.StreamWriter) -> bool:
    """Whether there is something to read where no response is expected. HTTP libraries ask so before each request."""
    asked = select.poll()
    asked.register(writer.get_extra_info("socket").fileno(), select.POLLIN | select.POLLRDHUP)
    return bool(asked.poll(0))


async def _read(reader: asyncio.StreamReader) -> tuple[int, dict[str, str], Any]:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
    first, *lines = head.rstrip().split("\r\n")
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    return int(first.split(" ")[1]), headers, json.loads(await reader.readexactly(int(headers["content-length"])))
