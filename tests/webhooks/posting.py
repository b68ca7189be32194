"""Posting to real servers on this machine: what is sent, to whom, and how many connections it took."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest

from malipo.webhooks.address import why_not
from malipo.webhooks.post import Answered, Post, Unanswered
from tests.networks.teller import Teller
from tests.webhooks.names import NameServer

HOOK = "POST /hook"
SENT = {"Content-Type": "application/json", "X-Service-Event": "payment.completed"}
BODY = b'{"event":"payment.completed"}'
PLENTY = 20.0  # seconds, where the time limit is not what is tested


@pytest.fixture(scope="module", params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """uvloop is what runs in production; it does not break in the same places."""
    return "asyncio", {"use_uvloop": request.param}


@pytest.fixture
async def teller() -> AsyncIterator[Teller]:
    async with Teller.opened() as teller:
        yield teller
    assert teller.unexpected == []
    assert teller.unsaid == []


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with NameServer.opened() as server:
        yield server


@asynccontextmanager
async def posting(**changes: Any) -> AsyncIterator[Post]:
    given: dict[str, Any] = {"allow_private": True, "ports": (), "timeout_seconds": PLENTY}
    post = Post(**given | changes)
    try:
        yield post
    finally:
        await post.close()


@pytest.fixture
async def post() -> AsyncIterator[Post]:
    async with posting() as post:
        yield post


async def send(post: Post, port: int, host: str = "127.0.0.1", scheme: str = "http") -> Answered | Unanswered:
    return await post(f"{scheme}://{host}:{port}/hook", headers=SENT, body=BODY)


async def status(post: Post, port: int) -> int:
    answer = await send(post, port)
    assert isinstance(answer, Answered), answer
    return answer.status


def connections(teller: Teller) -> list[int]:
    return [each.connection for each in teller.heard]


def at_home(address: IPv4Address | IPv6Address) -> str | None:
    """For want of a public server, 127.0.0.1 is one here, and all else is what it is."""
    return None if str(address) == "127.0.0.1" else why_not(address)


HALF = b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"thank":'
