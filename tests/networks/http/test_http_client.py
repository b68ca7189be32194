"""One HTTP request and its result: a reply, provably nothing sent, or an unknown outcome."""

import asyncio
import gzip
import socket
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from malipo.networks.http.client import HttpClient, Reply, ReplyLost, RequestUnsent, json_object, text_of
from tests.both_loops import anyio_backend as anyio_backend
from tests.both_loops import is_on
from tests.conftest import free_port
from tests.networks.scripted_server import After, ScriptedServer, http
from tests.networks.scripted_server import Reply as Said

PAY = "POST /pay"
ASK = "GET /ask"


async def call(
    http_client: HttpClient,
    port: int,
    line: str = PAY,
    *,
    timeout_seconds: float = 60,
    host: str = "127.0.0.1",
) -> Reply | RequestUnsent | ReplyLost:
    method, _, path = line.partition(" ")
    return await http_client.call(
        method,
        f"http://{host}:{port}{path}",
        headers={"X-Key": "hunter2"},
        timeout_seconds=timeout_seconds,
        body=b'{"amount": 1000}' if method == "POST" else None,
    )


@pytest.mark.parametrize("status", ["200 OK", "201 Created", "302 Found", "400 Bad Request", "404 Not Found", "500 Oh"])
async def test_whatever_the_network_answers_is_a_reply(
    http_client: HttpClient, server: ScriptedServer, status: str
) -> None:
    server.expect(PAY, http(status, '{"code": "INS-0"}', "Location: /elsewhere"))

    reply = await call(http_client, server.port)

    assert reply == Reply(int(status[:3]), b'{"code": "INS-0"}')
    assert isinstance(reply, Reply)
    assert reply.json() == {"code": "INS-0"}
    assert reply.is_fault == (status == "500 Oh")
    [request] = server.requests
    assert (request.line, request.body) == (PAY, b'{"amount": 1000}')
    assert request.header("x-key") == "hunter2"
    assert not {"accept-encoding", "user-agent", "cookie"} & set(request.header_names)


async def test_a_redirection_is_an_answer_and_not_an_order(http_client: HttpClient, server: ScriptedServer) -> None:
    for status in ("301 Moved", "302 Found", "303 See Other", "307 Temporary", "308 Permanent"):
        server.expect(PAY, http(status, "", f"Location: http://127.0.0.1:{server.port}/elsewhere"))
        assert isinstance(await call(http_client, server.port), Reply)
    assert {each.line for each in server.requests} == {PAY}


async def test_a_refused_connection_sent_nothing(http_client: HttpClient) -> None:
    answer = await call(http_client, free_port())
    assert answer == RequestUnsent("no connection: Connection refused")


@pytest.mark.parametrize("host", ["nobody.invalid", "no such host", "127.0.0.1:x", ""])
async def test_an_address_that_leads_nowhere_sent_nothing(http_client: HttpClient, host: str) -> None:
    assert isinstance(await call(http_client, 80, host=host), RequestUnsent)


async def test_a_header_that_would_break_the_request_sent_nothing(
    http_client: HttpClient, server: ScriptedServer
) -> None:
    url = f"http://127.0.0.1:{server.port}/pay"
    answer = await http_client.call("POST", url, headers={"X-Key": "a\r\nX-Other: b"}, timeout_seconds=5, body=b"{}")
    assert isinstance(answer, RequestUnsent)


async def test_a_connection_that_is_never_made_sent_nothing(http_client: HttpClient) -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for each in waiting:
            each.setblocking(False)
            each.connect_ex(("127.0.0.1", port))
        await asyncio.sleep(0.05)
        answer = await call(http_client, port, timeout_seconds=0.3)
        for each in waiting:
            each.close()
    assert answer == RequestUnsent("no answer in time")


async def call_once_connected(http_client: HttpClient, port: int, line: str) -> Reply | RequestUnsent | ReplyLost:
    """Without an answer it takes as long as it may. Where a busy machine makes no connection in that time, nothing was
    sent, and it may take longer."""
    answer: Reply | RequestUnsent | ReplyLost = RequestUnsent("")
    for seconds in (0.15, 1, 10, 60):
        answer = await call(http_client, port, line, timeout_seconds=seconds)
        if answer != RequestUnsent("no answer in time"):
            break
    return answer


HALF = b'HTTP/1.1 200 OK\r\nContent-Length: 20\r\n\r\n{"code":'
LOST = {
    "hangs up": Said(after=After.CLOSE),
    "resets": Said(after=After.RESET),
    "hangs": Said(after=After.HANG),
    "says half of the body and hangs up": Said(HALF, After.CLOSE),
    "says half of the body and resets": Said(HALF, After.RESET),
    "says half of the body and hangs": Said(HALF, After.HANG),
    "stops in the middle of a chunk": Said(
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{}", After.CLOSE
    ),
    "never ends": Said(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n", After.POUR),
    "speaks another protocol": Said(b"220 smtp.example.com ESMTP\r\n", After.CLOSE),
    "speaks nonsense": Said(bytes(range(256)) * 20, After.CLOSE),
    "packs badly": http("200 OK", b"this is not gzip", "Content-Encoding: gzip"),
    "has a header without end": Said(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000, After.CLOSE),
    "wants to speak something else": Said(
        b"HTTP/1.1 101 Now\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n", After.HANG
    ),
    "only promises an answer": Said(b"HTTP/1.1 100 Continue\r\n\r\n", After.HANG),
    "goes on after its end": Said(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}}", After.HANG),
    "ends with the line, which breaks": Said(b"HTTP/1.1 200 OK\r\n\r\n{}", After.RESET),
}


@pytest.mark.parametrize("said", LOST.values(), ids=LOST.keys())
@pytest.mark.parametrize("line", [PAY, ASK])
async def test_an_answer_that_is_not_whole_is_lost(
    http_client: HttpClient, server: ScriptedServer, said: Said, line: str
) -> None:
    server.always(line, said)
    for _ in range(2):
        answer = await call_once_connected(http_client, server.port, line)
        assert isinstance(answer, ReplyLost), answer
        assert "hunter2" not in answer.reason
        assert str(server.port) not in answer.reason
    if line == PAY:
        assert len(server.requests) == 2, "each was sent once"


async def test_an_answer_is_at_most_so_long(http_client: HttpClient, server: ScriptedServer) -> None:
    server.expect(PAY, http("200 OK", b"x" * 262_144), http("200 OK", b"x" * 262_145))
    assert isinstance(await call(http_client, server.port), Reply)
    assert await call(http_client, server.port) == ReplyLost("the answer is too long")


async def test_an_answer_that_unpacks_to_too_much_is_lost(http_client: HttpClient, server: ScriptedServer) -> None:
    server.expect(PAY, http("200 OK", gzip.compress(b"x" * 5_000_000), "Content-Encoding: gzip"))
    assert isinstance(await call(http_client, server.port), ReplyLost)


async def test_a_call_takes_no_longer_than_it_may_however_slowly_the_answer_drips(
    http_client: HttpClient, server: ScriptedServer
) -> None:
    server.always(PAY, Said(http("200 OK", b"x" * 100).sent, piece=1, pause_seconds=0.05))
    assert await call_once_connected(http_client, server.port, PAY) == ReplyLost("no answer in time")


async def test_no_proxy_is_taken_from_the_environment(
    http_client: HttpClient, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    server.expect(PAY, http("200 OK"))
    assert await call(http_client, server.port) == Reply(200, b"")


async def test_a_payment_goes_on_a_line_of_its_own(http_client: HttpClient, server: ScriptedServer) -> None:
    server.always(PAY, http("200 OK"))
    server.always(ASK, http("200 OK"))
    for line in (PAY, ASK, PAY, ASK):
        assert await call(http_client, server.port, line) == Reply(200, b"")
    assert [each.connection for each in server.requests] == [1, 2, 3, 4]


async def test_a_cookie_is_not_kept(http_client: HttpClient, server: ScriptedServer) -> None:
    server.always(ASK, http("200 OK", "", "Set-Cookie: session=1; Path=/"))
    for _ in range(2):
        await call(http_client, server.port, ASK)
    assert all("cookie" not in each.header_names for each in server.requests)


async def test_calls_that_wait_do_not_keep_others_waiting(http_client: HttpClient, server: ScriptedServer) -> None:
    let_go = asyncio.Event()
    server.expect(PAY, *[Said(http("200 OK").sent, held_by=let_go)] * 150)
    slow = [asyncio.create_task(call(http_client, server.port)) for _ in range(150)]
    while len(server.requests) < 150:  # noqa: ASYNC110
        await asyncio.sleep(0.005)
    server.expect(ASK, http("200 OK"))
    assert await call(http_client, server.port, ASK) == Reply(200, b"")
    let_go.set()
    assert set(await asyncio.gather(*slow)) == {Reply(200, b"")}


@pytest.mark.parametrize("status", [408, 500, 502, 503, 504])
def test_a_fault_says_nothing_of_the_payment(status: int) -> None:
    assert Reply(status, b"").is_fault


@pytest.mark.parametrize("status", [200, 201, 302, 400, 401, 404, 409, 429])
def test_anything_else_is_an_answer(status: int) -> None:
    assert not Reply(status, b"").is_fault


@given(st.binary(max_size=200) | st.text(max_size=50).map(str.encode))
def test_whatever_the_body_is_reading_it_never_breaks(body: bytes) -> None:
    found = json_object(body)
    assert found is None or isinstance(found, dict)


@pytest.mark.parametrize("body", [b"", b"[]", b'"x"', b"1", b"null", b"{", b"<html>", b"\xff\xfe", b"[" * 100_000])
def test_what_is_no_json_object_is_nothing(body: bytes) -> None:
    assert json_object(body) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [("a", "a"), (" a ", "a"), (7, "7"), (1.5, "1.5"), (True, ""), (None, ""), ([], ""), ({}, ""), ("a\x00b\n", "ab")],
)
def test_a_field_is_text_or_nothing(value: object, text: str) -> None:
    assert text_of(value) == text


async def test_it_runs_on_the_loop_that_it_names(anyio_backend: tuple[str, dict[str, Any]]) -> None:
    assert is_on(anyio_backend)
