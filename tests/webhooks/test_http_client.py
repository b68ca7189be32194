"""One POST to a stranger: what is sent, what is made of every answer, and what of none."""

import asyncio
import gzip
import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from malipo.webhooks.http_client import NoResponse, ReceiverResponse, WebhookClient
from tests.both_loops import anyio_backend as anyio_backend
from tests.both_loops import is_on
from tests.conftest import free_port
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.webhooks.dns_server import NameServer
from tests.webhooks.webhook_posts import BODY, HALF, HOOK, SENT, connections, posting, send, status
from tests.webhooks.webhook_posts import names as names
from tests.webhooks.webhook_posts import post as post
from tests.webhooks.webhook_posts import server as server


async def until_nothing_is_poured(server: ScriptedServer) -> None:
    """The other side has hung up. It does not wait for a farewell: that alone may take 30 seconds."""
    for _ in range(100):
        poured = server.poured
        await asyncio.sleep(0.05)
        if poured == server.poured:
            break
    assert server.poured < 20_000_000


@pytest.mark.parametrize("line", ["200 OK", "201 Created", "204 No Content", "299 Odd"])
async def test_two_hundred_and_something_is_success(post: WebhookClient, server: ScriptedServer, line: str) -> None:
    server.expect(HOOK, http(line))
    answer = await send(post, server.port)
    assert isinstance(answer, ReceiverResponse)
    assert (answer.status, answer.is_success) == (int(line[:3]), True)
    assert answer.seconds > 0


@pytest.mark.parametrize(
    "line", ["199 Odd", "300 Many", "304 Same", "400 Bad", "404 No", "408 Late", "410 Gone", "500 Oh"]
)
async def test_any_other_status_is_an_answer_and_no_success(
    post: WebhookClient, server: ScriptedServer, line: str
) -> None:
    final = http("500 Oh") if line == "199 Odd" else Reply()  # which is no answer yet
    server.expect(HOOK, Reply(http(line).sent + final.sent))
    answer = await send(post, server.port)
    assert isinstance(answer, ReceiverResponse)
    assert (answer.status, answer.is_success) == (500 if final.sent else int(line[:3]), False)
    assert len(server.requests) == 1


async def test_a_webhook_is_sent_as_it_was_given_and_with_few_other_headers(
    post: WebhookClient, server: ScriptedServer
) -> None:
    server.expect(HOOK, http("200 OK"))
    await send(post, server.port)
    [request] = server.requests
    assert request.body == BODY
    assert dict(request.headers) == {
        "Host": f"127.0.0.1:{server.port}",
        "User-Agent": "malipo",
        "Accept": "*/*",
        "Content-Length": str(len(BODY)),
        **SENT,
    }


async def test_an_answer_is_kept_in_part(post: WebhookClient, server: ScriptedServer) -> None:
    many = [f"X-{each}: {each}" for each in range(60)]
    server.expect(HOOK, http("200 OK", b"x" * 3000, *many))
    answer = await send(post, server.port)
    assert isinstance(answer, ReceiverResponse)
    assert answer.body == b"x" * 2048
    assert answer.headers[:3] == [("Content-Type", "application/json"), ("Content-Length", "3000"), ("X-0", "0")]
    assert len(answer.headers) == 50

    server.expect(HOOK, http("200 OK", "", *[f"X-{each}: {'x' * 1000}" for each in range(5)]))
    answer = await send(post, server.port)
    assert isinstance(answer, ReceiverResponse)
    assert [name for name, _ in answer.headers] == ["Content-Type", "Content-Length", "X-0", "X-1", "X-2", "X-3"]


async def test_any_bytes_of_a_header_become_text_that_can_be_stored(
    post: WebhookClient, server: ScriptedServer
) -> None:
    odd = bytes(each for each in range(0x80, 0x100))
    server.expect(HOOK, Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nX: \xed\xa0\x80 " + odd + b"\r\n\r\n"))
    answer = await send(post, server.port)
    assert isinstance(answer, ReceiverResponse)
    assert answer.headers[1] == ("X", "\xed\xa0\x80 " + odd.decode("latin-1"))
    assert msgspec.json.decode(msgspec.json.encode(answer.headers), type=list[tuple[str, str]]) == answer.headers


async def test_a_packed_answer_stays_packed(post: WebhookClient, server: ScriptedServer) -> None:
    bomb = gzip.compress(b"x" * 1_000_000)
    server.expect(HOOK, http("200 OK", bomb, "Content-Encoding: gzip"))
    answer = await send(post, server.port)
    assert isinstance(answer, ReceiverResponse)
    assert answer.body == bomb[:2048]


async def test_a_long_answer_counts_and_ends_the_line(post: WebhookClient, server: ScriptedServer) -> None:
    allowed = Reply(http("200 OK", b"x" * 65_536).sent, piece=65_300, pause_seconds=0.05)
    too_long = Reply(http("200 OK", b"x" * 66_100).sent, piece=65_900, pause_seconds=0.3)
    server.expect(HOOK, allowed, too_long, http("200 OK"))
    assert [await status(post, server.port) for _ in range(3)] == [200] * 3
    assert connections(server) == [1, 1, 2]


WHOLE = {
    "a body without an end": Reply(b"HTTP/1.1 200 OK\r\n\r\n", After.POUR),
    "a body that is far too long": Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", After.POUR),
    "one huge chunk": Reply(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffff\r\n", After.POUR),
    "HTTP/1.0, ended by hanging up": Reply(b"HTTP/1.0 200 OK\r\n\r\nthanks", After.CLOSE),
    "100 Continue before it": Reply(b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + http("200 OK").sent),
    "103 Early Hints before it": Reply(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + http("200 OK").sent),
    "in pieces of one byte": Reply(http("200 OK", "thanks").sent, piece=1),
    "in chunks": Reply(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"),
    "100 headers": http("200 OK", "", *[f"X-{each}: y" for each in range(100)]),
}


@pytest.mark.parametrize("said", WHOLE.values(), ids=WHOLE.keys())
async def test_a_response_that_can_be_parsed_is_an_answer(
    post: WebhookClient, server: ScriptedServer, said: Reply
) -> None:
    server.expect(HOOK, said)
    assert await status(post, server.port) == 200
    await until_nothing_is_poured(server)


async def test_an_upgrade_is_an_answer_and_the_line_is_not_used_again(
    post: WebhookClient, server: ScriptedServer
) -> None:
    upgrade = b"HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: websocket\r\n\r\n"
    server.expect(HOOK, Reply(upgrade + b"\x81\x05hello"), http("200 OK"))
    assert [await status(post, server.port) for _ in range(2)] == [101, 200]
    assert connections(server) == [1, 2]


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
NOT_HTTP = "the answer is not valid HTTP, or its headers are too long"
BROKE_OFF = "the answer broke off"
BROKEN = {
    "hangs up": (Reply(after=After.CLOSE), "the connection was closed without an answer"),
    "resets": (Reply(after=After.RESET), "connection reset by peer"),
    "half of the head, and hangs up": (Reply(HALF[:25], After.CLOSE), BROKE_OFF),
    "half of the head, and resets": (Reply(HALF[:25], After.RESET), "connection reset by peer"),
    "half of the body, and hangs up": (Reply(HALF, After.CLOSE), BROKE_OFF),
    "half of the body, and resets": (Reply(HALF, After.RESET), BROKE_OFF),
    "half a chunk": (Reply(CHUNKED + b"ff\r\n{}", After.CLOSE), BROKE_OFF),
    "no last chunk": (Reply(CHUNKED + b"2\r\n{}\r\n", After.CLOSE), BROKE_OFF),
    "a chunk of nonsense": (Reply(CHUNKED + b"-2\r\n{}\r\n0\r\n\r\n", After.HANG), NOT_HTTP),
    "two lengths": (Reply(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"), NOT_HTTP),
    "a length below zero": (Reply(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n"), NOT_HTTP),
    "both a length and chunks": (Reply(CHUNKED[:-2] + b"Content-Length: 3\r\n\r\n0\r\n\r\n"), NOT_HTTP),
    "NUL in a header": (Reply(b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 0\r\n\r\n"), NOT_HTTP),
    "a header without end": (Reply(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, After.HANG), NOT_HTTP),
    "a header of spaces without end": (Reply(b"HTTP/1.1 200 OK\r\nX: ", After.POUR), NOT_HTTP),
    "headers without end": (http("200 OK", "", *[f"X-{each}: y" for each in range(1000)]), NOT_HTTP),
    "interim answers without end": (Reply(b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000, After.HANG), NOT_HTTP),
    "a status of four digits": (http("2000 OK"), NOT_HTTP),
    "HTTP/2": (Reply(b"\0\0\x12\x04\0\0\0\0\0\0\x03\0\0\0\x80", After.HANG), NOT_HTTP),
    "HTTP/0.9": (Reply(b"thanks", After.CLOSE), NOT_HTTP),
    "mail": (Reply(b"220 smtp.example.com ESMTP\r\n", After.HANG), NOT_HTTP),
    "every byte there is": (Reply(bytes(range(256)) * 20, After.HANG), NOT_HTTP),
}


@pytest.mark.parametrize(("said", "reason"), BROKEN.values(), ids=BROKEN.keys())
async def test_a_response_that_cannot_be_parsed_is_no_answer(
    post: WebhookClient, server: ScriptedServer, said: Reply, reason: str
) -> None:
    server.expect(HOOK, said)
    assert await send(post, server.port) == NoResponse(reason)
    assert len(server.requests) == 1, "on a fresh line it is sent once"
    await until_nothing_is_poured(server)


async def test_a_response_that_takes_too_long_is_no_answer(names: NameServer, server: ScriptedServer) -> None:
    slow = {
        "nothing": (Reply(after=After.HANG), "no answer within 3 s"),
        "half of the head": (Reply(HALF[:25], After.HANG), "no answer within 3 s"),
        "half of the body": (Reply(HALF, After.HANG), "the answer did not end within 3 s"),
        "a head that drips": (Reply(http("200 OK").sent, piece=1, pause_seconds=0.2), "no answer within 3 s"),
        "a body that drips": (
            Reply(http("200 OK", b"x" * 9999).sent, piece=100, pause_seconds=0.2),
            "the answer did not end within 3 s",
        ),
    }
    for name, (said, _) in slow.items():
        server.expect(f"POST /{name.replace(' ', '-')}", said)
    names.says("silent.example.com", None)
    # Long enough for what comes before the silence, on a busy machine too.
    async with posting(timeout_seconds=3, nameservers=[names.address]) as post:
        urls = [f"http://127.0.0.1:{server.port}/{name.replace(' ', '-')}" for name in slow]
        urls.append("http://silent.example.com/")
        *answers, last = await asyncio.gather(*(post(url, headers=SENT, body=BODY) for url in urls))
    assert last == NoResponse("no connection within 3 s")
    assert dict(zip(slow, answers, strict=True)) == {name: NoResponse(reason) for name, (_, reason) in slow.items()}


async def test_no_bytes_at_all_break_it(post: WebhookClient, server: ScriptedServer) -> None:
    chance = random.Random(20261115)
    start = [b"", b"HTTP/1.1 200 OK\r\n", HALF, CHUNKED, b"HTTP/1.1 2"]
    for _ in range(60):
        said = chance.choice(start) + chance.randbytes(chance.randrange(200))
        server.expect(HOOK, Reply(said, After.CLOSE))
        assert isinstance(await send(post, server.port), ReceiverResponse | NoResponse)


async def test_a_closed_port_is_said_to_refuse(post: WebhookClient) -> None:
    assert await send(post, free_port()) == NoResponse("connection refused")
    assert await send(post, free_port(), "localhost") == NoResponse("connection refused")


@pytest.mark.parametrize("line", ["301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"])
async def test_a_redirection_is_not_followed(post: WebhookClient, server: ScriptedServer, line: str) -> None:
    server.expect(HOOK, http(line, "", f"Location: http://127.0.0.1:{server.port}/elsewhere"))
    assert await status(post, server.port) == int(line[:3])
    assert server.lines == [HOOK]


async def test_the_client_takes_nothing_from_the_environment(
    post: WebhookClient, server: ScriptedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login asha password hunter2\n")
    monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
    for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    server.expect(HOOK, http("200 OK"))
    assert await status(post, server.port) == 200
    assert "authorization" not in server.requests[0].header_names


async def test_a_cookie_is_not_kept(post: WebhookClient, server: ScriptedServer) -> None:
    server.always(HOOK, http("200 OK", "", "Set-Cookie: session=1; Path=/"))
    for _ in range(2):
        await send(post, server.port)
    assert all("cookie" not in each.header_names for each in server.requests)


async def test_it_runs_on_the_loop_that_it_names(anyio_backend: tuple[str, dict[str, Any]]) -> None:
    assert is_on(anyio_backend)
