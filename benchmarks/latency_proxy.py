"""A proxy that makes a server answer later, as if it were further away: `python -m benchmarks.latency_proxy`.

It listens on a port of 127.0.0.1 and passes everything on to a Unix socket, each byte half of the round trip later, in
both directions. Bandwidth, lost packets and the CPU of a real network card are not imitated. It is a process of its
own, so that its processor time can be counted apart.
"""

import argparse
import asyncio
import selectors
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast


class Line:
    """One direction: what was put in comes out in the same order, each piece after the same time."""

    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._pieces: deque[tuple[float, bytes]] = deque()

    def put(self, piece: bytes, now: float) -> None:
        """An empty piece is the end: whoever sent has hung up."""
        self._pieces.append((now + self._delay, piece))

    def take(self, now: float) -> list[bytes]:
        """What has arrived."""
        arrived = []
        while self._pieces and self._pieces[0][0] <= now:
            arrived.append(self._pieces.popleft()[1])
        return arrived

    @property
    def next_at(self) -> float | None:
        """When the next piece arrives."""
        return self._pieces[0][0] if self._pieces else None


class _End(asyncio.Protocol):
    """One end of a connection. What it receives, the other end sends."""

    def __init__(self, delay: float, made: "Callable[[_End], None]" = lambda end: None) -> None:
        self._loop = asyncio.get_running_loop()
        self._made = made
        self._line = Line(delay)
        self._timer: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport | None = None
        self.other: _End | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._made(self)

    def data_received(self, data: bytes) -> None:
        self._line.put(data, self._loop.time())
        self.pass_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._line.put(b"", self._loop.time())
        self.pass_on()

    def join(self, other: "_End") -> None:
        self.other, other.other = other, self
        self.pass_on()
        other.pass_on()

    def cut_off(self) -> None:
        assert self._transport is not None
        self._transport.abort()

    def pass_on(self) -> None:
        """Send what has arrived, and come back for what is under way."""
        if self.other is None or self.other._transport is None or self._timer is not None:
            return
        for piece in self._line.take(self._loop.time()):
            if piece:
                self.other._transport.write(piece)
            else:
                self.other._transport.close()
        if (next_at := self._line.next_at) is not None:
            self._timer = self._loop.call_at(next_at, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self.pass_on()


async def listen(port: int, socket: Path, round_trip: float) -> asyncio.Server:
    """A server on 127.0.0.1 behind which the Unix socket is `round_trip` seconds further away; port 0 is a free one."""
    loop = asyncio.get_running_loop()
    connecting: set[asyncio.Task[None]] = set()

    def accept(near: _End) -> None:
        task = loop.create_task(connect(near))
        connecting.add(task)
        task.add_done_callback(connecting.discard)

    async def connect(near: _End) -> None:
        try:
            _, far = await loop.create_unix_connection(lambda: _End(round_trip / 2), str(socket))
        except OSError:
            near.cut_off()
        else:
            near.join(far)

    return await loop.create_server(lambda: _End(round_trip / 2, accept), "127.0.0.1", port)


def new_event_loop() -> asyncio.AbstractEventLoop:
    """epoll rounds each timeout up to a whole millisecond; select does not."""
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description="Passes a port of 127.0.0.1 on to a Unix socket, later.")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--socket", type=Path, required=True)
    parser.add_argument("--round-trip-ms", type=float, required=True)
    parsed = parser.parse_args(arguments)

    async def serve() -> None:
        server = await listen(parsed.port, parsed.socket, parsed.round_trip_ms / 1000)
        print("listening", flush=True)
        await server.serve_forever()

    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(serve())


if __name__ == "__main__":
    main()
