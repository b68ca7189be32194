"""One POST through TLS: certificates, versions, and answers without end."""

import asyncio
import contextlib
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from malipo.webhooks.http_client import NoResponse, WebhookClient
from tests.both_loops import anyio_backend as anyio_backend
from tests.networks.scripted_server import ScriptedServer, http
from tests.webhooks.certificates import authority
from tests.webhooks.dns_server import NameServer
from tests.webhooks.webhook_posts import HOOK, connections, posting, send
from tests.webhooks.webhook_posts import post as post


@asynccontextmanager
async def shop(tls: ssl.SSLContext) -> AsyncIterator[tuple[ScriptedServer, Callable[[], Any]]]:
    """A server of this certificate, and how to send to it by name."""
    async with NameServer.opened() as names, ScriptedServer.opened(tls=tls) as server:
        names.says("shop.example.com", ["127.0.0.1"])
        async with posting(nameservers=[names.address], ssl_context=authority().trusted()) as post:
            yield server, lambda: send(post, server.port, "shop.example.com", "https")


async def test_a_trusted_certificate_is_asked_for_by_name_and_accepted() -> None:
    tls = authority().server("shop.example.com")
    asked_for: list[str | None] = []
    tls.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    async with shop(tls) as (server, send_to_shop):
        server.always(HOOK, http("200 OK", "thanks"))
        for _ in range(2):
            answer = await send_to_shop()
            assert (answer.status, answer.body) == (200, b"thanks")
        assert connections(server) == [1, 1]
    assert asked_for == ["shop.example.com"]


@pytest.mark.parametrize(
    ("tls", "why"),
    [
        (lambda: authority().server("other.example.com"), "Hostname mismatch, certificate is not valid for 'shop.ex"),
        (lambda: authority().server("shop.example.com", days=-1), "certificate has expired"),
        (lambda: authority("A stranger").server("shop.example.com"), "unable to get local issuer certificate"),
        (lambda: authority("shop.example.com").itself(), "self-signed certificate"),
    ],
    ids=["another name", "expired", "unknown authority", "self-signed"],
)
async def test_a_wrong_certificate_is_refused_before_a_word_is_said(tls: Callable[[], Any], why: str) -> None:
    async with shop(tls()) as (server, send_to_shop):
        answer = await send_to_shop()
        assert isinstance(answer, NoResponse)
        assert answer.reason.startswith(f"the certificate is not trusted: {why}")
        assert server.requests == []


async def test_a_server_without_tls_is_said_to_have_none(post: WebhookClient) -> None:
    async def say_hello(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await reader.read()
        writer.close()

    server = await asyncio.start_server(say_hello, "127.0.0.1", 0)
    answer = await send(post, server.sockets[0].getsockname()[1], scheme="https")
    server.close()
    assert isinstance(answer, NoResponse)
    assert answer.reason.startswith("no TLS connection: ")


def versions_offered(hello: bytes) -> list[int]:
    """What a ClientHello says in its extension 43, supported_versions."""
    place = 4 + 2 + 32  # behind the handshake's header, the version that is always 1.2, and the random bytes
    place += 1 + hello[place]  # the session's id
    place += 2 + int.from_bytes(hello[place : place + 2], "big")  # the ciphers
    place += 1 + hello[place] + 2  # the compressions, and the length of what follows
    while place < len(hello):
        kind, length = struct.unpack_from("!HH", hello, place)
        if kind == 43:
            return list(struct.unpack_from(f"!{hello[place + 4] // 2}H", hello, place + 5))
        place += 4 + length
    return []


# A ServerHello that chooses TLS 1.1: no session, ECDHE-RSA-AES128-GCM-SHA256, no compression, safe renegotiation.
_CHOSEN = bytes.fromhex("0302" + 32 * "00" + "00" + "c02f" + "00" + "0005ff01000100")
_HELLO = b"\x02" + len(_CHOSEN).to_bytes(3, "big") + _CHOSEN
_TLS_1_1 = b"\x16\x03\x02" + len(_HELLO).to_bytes(2, "big") + _HELLO


async def test_an_old_tls_is_refused(post: WebhookClient) -> None:
    """By malipo, whatever this machine's libraries would still agree to. So the server's half is written by hand."""
    offered: list[int] = []
    said = asyncio.get_running_loop().create_future()

    async def choose_tls_1_1(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readexactly(5)
        offered.extend(versions_offered(await reader.readexactly(int.from_bytes(head[3:], "big"))))
        writer.write(_TLS_1_1)
        said.set_result(await reader.read())
        writer.close()

    server = await asyncio.start_server(choose_tls_1_1, "127.0.0.1", 0)
    answer = await send(post, server.sockets[0].getsockname()[1], scheme="https")
    server.close()
    assert isinstance(answer, NoResponse)
    assert answer.reason.startswith("no TLS connection: ")
    assert 0x0303 in offered
    assert min(offered) == 0x0303, "nothing older than TLS 1.2 is offered"
    last = await asyncio.wait_for(said, 60)
    # asyncio hangs up without a word.
    assert last == b"" or (len(last) == 7 and last[0] == 21 and last[5] == 2), "at most one fatal alert"


async def test_an_endless_answer_is_cut_off_over_tls_too() -> None:
    """TLS has a farewell, for which asyncio waits half a minute, reading all the while. This one never says it."""
    tls = authority().server("127.0.0.1")

    def pour(listener: socket.socket) -> None:
        accepted, _ = listener.accept()
        with contextlib.suppress(OSError), tls.wrap_socket(accepted, server_side=True) as line:
            line.settimeout(10)
            line.recv(65536)
            line.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            while True:
                line.sendall(b" " * 65536)

    async with posting(ssl_context=authority().trusted()) as post:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            pouring = asyncio.create_task(asyncio.to_thread(pour, listener))
            answer = await send(post, listener.getsockname()[1], scheme="https")
            assert answer.is_success, answer
            await asyncio.wait({pouring}, timeout=10)
            assert pouring.done()
