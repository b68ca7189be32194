"""`bench remote` puts PostgreSQL further away: its proxy delays every byte, loses none, and changes no order."""

import asyncio
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import cast

import asyncpg

from benchmarks import remote
from benchmarks.latency_proxy import Line
from benchmarks.load import Measured
from benchmarks.remote import Created, Plan, Report, Run, Whole
from benchmarks.reports.remote_report import _text, _value

ROUND_TRIP_MS = 20


def test_a_piece_arrives_after_the_delay_and_not_before() -> None:
    line = Line(0.5)
    line.put(b"a", now=10.0)
    assert (line.take(10.4), line.next_at) == ([], 10.5)
    assert (line.take(10.5), line.next_at) == ([b"a"], None)


def test_pieces_arrive_in_the_order_in_which_they_were_sent_even_those_of_the_same_moment() -> None:
    line = Line(0.5)
    for piece, now in ((b"a", 10.0), (b"b", 10.0), (b"", 10.2)):
        line.put(piece, now)
    assert line.take(10.6) == [b"a", b"b"]
    assert line.take(10.8) == [b""]


class Echo(asyncio.Protocol):
    """Says what it hears, and hangs up after an x."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)
        if data.endswith(b"x"):
            self._transport.close()


@asynccontextmanager
async def through_proxy(socket: Path) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    with remote.proxy(socket, ROUND_TRIP_MS) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        try:
            yield reader, writer
        finally:
            writer.close()
            await writer.wait_closed()


async def test_all_bytes_arrive_in_order_a_round_trip_later_and_then_the_end(tmp_path: Path) -> None:
    sent = secrets.token_bytes(1_000_000).replace(b"x", b"y") + b"x"
    async with (
        await asyncio.get_running_loop().create_unix_server(Echo, tmp_path / "echo"),
        through_proxy(tmp_path / "echo") as (reader, writer),
    ):
        began = time.monotonic()
        writer.write(b"hello")
        assert await reader.readexactly(5) == b"hello"
        assert time.monotonic() - began >= ROUND_TRIP_MS / 1000
        writer.write(sent)
        assert await reader.read() == sent


async def test_who_connects_to_a_server_that_is_away_is_cut_off(tmp_path: Path) -> None:
    async with through_proxy(tmp_path / "nobody") as (reader, _):
        assert await reader.read() == b""


async def test_the_services_reach_the_same_database_through_the_proxy_as_directly(postgres: str) -> None:
    with remote.route(postgres, 1) as way:
        connection = await asyncpg.connect(way.url)
        assert await connection.fetchval("SELECT current_database()") == "malipo"
        await connection.close()
        assert way.proxy_seconds > 0


def run(per_second: float, proxy_us: float) -> Run:
    created = Created(Measured(1000, per_second, 1.0, 2.0, 64), {"api": 200.0, "postgresql": 100.0, "proxy": proxy_us})
    cpu_us = {"api": 500.0, "worker": 600.0, "postgresql": 400.0, "proxy": proxy_us}
    return Run(0.1, created, Whole(per_second / 5, 600, 900, cpu_us))


def test_the_proxys_time_is_told_apart_and_rates_are_beside_the_local_one() -> None:
    report = Report(Plan(rounds=1), "18.0, fsync on", 1.0, {None: [run(4000, 0)], 0.5: [run(3000, 77)]})
    value = _value(report)
    assert value["ratios"] == {"create_proxy, +0.5 ms": 0.75, "journey_proxy, +0.5 ms": 0.75}
    assert [result["create"]["cpu_us"]["proxy"] for result in value["results"]] == [0, 77]
    assert (
        "proxy, +0.5 ms            0.10      3,000      1.0      2.0       300         200         100          77"
        in (_text(report))
    )
