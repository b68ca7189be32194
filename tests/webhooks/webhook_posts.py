"""Posting to real servers on this machine: what is sent, to whom, and how many connections it took."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address, IPv6Address
from typing import Any

import pytest

from malipo.webhooks.http_client import NoResponse, ReceiverResponse, WebhookClient
from malipo.webhooks.ssrf import why_not
from tests.networks.scripted_server import ScriptedServer
from tests.webhooks.dns_server import NameServer

HOOK = "POST /hook"
SENT = {"Content-Type": "application/json", "X-Service-Event": "payment.completed"}
BODY = b'{"event":"payment.completed"}'
PLENTY = 20.0  # seconds, where the time limit is not what is tested


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer.opened() as server:
        yield server
    assert server.unexpected == []
    assert server.unsaid == []


@pytest.fixture
async def names() -> AsyncIterator[NameServer]:
    async with NameServer.opened() as server:
        yield server


@asynccontextmanager
async def posting(**changes: Any) -> AsyncIterator[WebhookClient]:
    given: dict[str, Any] = {"allow_private": True, "ports": (), "timeout_seconds": PLENTY}
    post = WebhookClient(**given | changes)
    try:
        yield post
    finally:
        await post.close()


@pytest.fixture
async def post() -> AsyncIterator[WebhookClient]:
    async with posting() as post:
        yield post


async def send(
    post: WebhookClient, port: int, host: str = "127.0.0.1", scheme: str = "http"
) -> ReceiverResponse | NoResponse:
    return await post(f"{scheme}://{host}:{port}/hook", headers=SENT, body=BODY)


async def status(post: WebhookClient, port: int) -> int:
    answer = await send(post, port)
    assert isinstance(answer, ReceiverResponse), answer
    return answer.status


def connections(server: ScriptedServer) -> list[int]:
    return [each.connection for each in server.requests]


def at_home(address: IPv4Address | IPv6Address) -> str | None:
    """For want of a public server, 127.0.0.1 is one here, and all else is what it is."""
    return None if str(address) == "127.0.0.1" else why_not(address)


HALF = b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"thank":'
