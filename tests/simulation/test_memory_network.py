"""The network of the simulation: the fate of requests and replies, and connections whose peer dies."""

import asyncio
from typing import Any

import pytest

from simulation.event_loop import SimulatedLoop
from simulation.memory_network import NO_FAULT, RequestFate
from tests.simulation.loops import opened

HOST, PORT = "127.0.0.1", 8081
LATENCY = 0.01


class Echo(asyncio.Protocol):
    """A server that notes what it gets, and when, and repeats it."""

    def __init__(self, loop: SimulatedLoop, received: list[tuple[float, bytes]]) -> None:
        self._loop = loop
        self._received = received

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received.append((round(self._loop.time(), 3), data))
        self._transport.write(b"re: " + data)


class Caller(asyncio.Protocol):
    def __init__(self, loop: SimulatedLoop) -> None:
        self._loop = loop
        self.replies: list[tuple[float, bytes]] = []
        self.lost_at: float | None = None

    def connection_made(self, transport: Any) -> None:
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.replies.append((round(self._loop.time(), 3), data))

    def connection_lost(self, error: Exception | None) -> None:
        self.lost_at = round(self._loop.time(), 3)


class Net:
    def __init__(self, loop: SimulatedLoop, *fates: RequestFate) -> None:
        self.loop = loop
        self.received: list[tuple[float, bytes]] = []
        self.asked: list[tuple[str, str, int]] = []
        self._fates = list(fates)
        loop.network.latency = lambda: LATENCY
        loop.network.fate = self._next_fate
        loop.network.listen(HOST, PORT, "server", lambda: Echo(loop, self.received))

    def _next_fate(self, process: str, host: str, port: int) -> RequestFate:
        self.asked.append((process, host, port))
        return self._fates.pop(0) if self._fates else NO_FAULT

    async def connect(self) -> Caller:
        _, caller = await self.loop.create_connection(lambda: Caller(self.loop), HOST, PORT)
        assert isinstance(caller, Caller)
        return caller

    def send(self, *requests: bytes) -> Caller:
        """One connection; the next request follows after a second."""

        async def send() -> Caller:
            caller = await self.connect()
            for request in requests:
                caller.transport.write(request)
                await asyncio.sleep(1)
            await asyncio.sleep(60)
            return caller

        caller: Caller = self.loop.run_until_complete(self.loop.start("client", send()))
        return caller


def test_a_request_and_its_reply_arrive_after_the_latency_of_each_way() -> None:
    with opened() as loop:
        net = Net(loop)
        caller = net.send(b"pay")
        assert net.received == [(0.02, b"pay")]
        assert caller.replies == [(0.03, b"re: pay")]
        assert net.asked == [("client", HOST, PORT)]


def test_a_lost_request_never_arrives_and_the_connection_ends() -> None:
    with opened() as loop:
        net = Net(loop, RequestFate(is_request_lost=True))
        caller = net.send(b"pay")
        assert (net.received, caller.replies) == ([], [])
        assert caller.lost_at is not None


def test_a_lost_reply_leaves_the_request_done_and_the_connection_ended() -> None:
    with opened() as loop:
        net = Net(loop, RequestFate(is_reply_lost=True))
        caller = net.send(b"pay")
        assert net.received == [(0.02, b"pay")]
        assert caller.replies == []
        assert caller.lost_at is not None


@pytest.mark.parametrize(
    ("fate", "arrives", "is_answered"),
    [(RequestFate(request_delay=4), 4.02, 4.03), (RequestFate(reply_delay=4), 0.02, 4.03)],
)
def test_a_late_request_or_reply_arrives_late(fate: RequestFate, arrives: float, is_answered: float) -> None:
    with opened() as loop:
        net = Net(loop, fate)
        caller = net.send(b"pay")
        assert net.received == [(arrives, b"pay")]
        assert caller.replies == [(is_answered, b"re: pay")]


def test_what_is_sent_after_something_late_does_not_overtake_it() -> None:
    with opened() as loop:
        net = Net(loop, RequestFate(request_delay=4))

        async def send() -> None:
            caller = await net.connect()
            caller.transport.write(b"first half, ")
            loop.network.latency = lambda: 0.0
            caller.transport.writelines([b"second ", b"half"])
            await asyncio.sleep(60)

        loop.run_until_complete(loop.start("client", send()))
        assert net.received == [(4.02, b"first half, "), (4.02, b"second half")]


def test_a_late_reply_is_not_overtaken_by_the_end_of_the_connection() -> None:
    with opened() as loop:
        net = Net(loop, RequestFate(reply_delay=4))

        async def send() -> Caller:
            caller = await net.connect()
            caller.transport.write(b"pay")
            await asyncio.sleep(1)
            loop.kill("server")
            await asyncio.sleep(60)
            return caller

        caller: Caller = loop.run_until_complete(loop.start("client", send()))
        assert caller.replies == [(4.03, b"re: pay")]
        assert caller.lost_at is not None
        assert caller.lost_at >= 4.03


def test_a_request_that_comes_twice_is_answered_once() -> None:
    with opened() as loop:
        net = Net(loop, RequestFate(repeated_after=3))
        caller = net.send(b"pay")
        assert net.received == [(0.02, b"pay"), (3.02, b"pay")]
        assert caller.replies == [(0.03, b"re: pay")]


def test_a_refused_connection_carries_nothing() -> None:
    with opened() as loop:
        net = Net(loop, RequestFate(is_refused=True))
        with pytest.raises(ConnectionRefusedError):
            net.send(b"pay")
        assert net.received == []
        assert net.send(b"again").replies


def test_each_request_on_a_connection_that_is_kept_has_a_fate_of_its_own() -> None:
    with opened() as loop:
        net = Net(loop, NO_FAULT, RequestFate(reply_delay=2), NO_FAULT)
        caller = net.send(b"one", b"two")
        assert [reply for _, reply in caller.replies] == [b"re: one", b"re: two"]
        assert [at for at, _ in caller.replies] == [0.03, 3.03]
        assert len(net.asked) == 2


@pytest.mark.parametrize("dead", ["server", "client"])
def test_when_a_process_dies_its_peer_sees_the_connection_end(dead: str) -> None:
    with opened() as loop:
        net = Net(loop)
        ended: list[str] = []

        class Noting(Echo):
            def connection_lost(self, error: Exception | None) -> None:
                ended.append("server")

        loop.network.listen(HOST, PORT, "server", lambda: Noting(loop, net.received))
        callers: list[Caller] = []

        async def hold() -> None:
            callers.append(await net.connect())

        async def watch() -> None:
            await loop.start("client", hold())
            loop.kill(dead)
            await asyncio.sleep(5)

        loop.run_until_complete(watch())
        assert (callers[0].lost_at is not None, ended) == ((True, []) if dead == "server" else (False, ["server"]))


def test_nobody_connects_to_a_dead_process_or_to_a_port_where_nobody_listens() -> None:
    with opened() as loop:
        net = Net(loop)
        with pytest.raises(ConnectionRefusedError):
            loop.run_until_complete(loop.create_connection(lambda: Caller(loop), HOST, PORT + 1))
        loop.kill("server")
        with pytest.raises(ConnectionRefusedError):
            net.send(b"pay")
