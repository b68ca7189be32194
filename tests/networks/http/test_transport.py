"""One request on a connection of its own: what is sent, and what is a whole answer."""

import asyncio
import contextlib
import gzip
import zlib
from typing import Any

import pytest

from malipo.http.tls import client_context
from malipo.networks.http.connection import ConnectionBroken, NetworkConnection
from malipo.networks.http.transport import NotSent, Transport, target_of, written
from tests.both_loops import anyio_backend as anyio_backend
from tests.both_loops import is_on
from tests.networks.http.transports import OK, PAY, PLENTY, listening, pay
from tests.networks.http.transports import exchanges as exchanges
from tests.networks.scripted_server import After, Reply, ScriptedServer, http

# What is sent.


def test_a_request_is_exactly_this() -> None:
    target = target_of("http://gateway.example.com:8080/pay?a=b%20c&d=%2F+e")
    assert written("POST", target, {"X-Key": "hunter2", "Password": "Ñandú"}, b'{"a":1}') == (
        b"POST /pay?a=b%20c&d=%2F+e HTTP/1.1\r\nHost: gateway.example.com:8080\r\nConnection: close\r\nAccept: */*\r\n"
        b"Content-Length: 7\r\nX-Key: hunter2\r\nPassword: \xc3\x91and\xc3\xba\r\n\r\n"
        b'{"a":1}'
    )
    assert written("GET", target_of("https://h"), {"Accept": "text/xml"}, None) == (
        b"GET / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nAccept: text/xml\r\n\r\n"
    )


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_a_request_without_a_body_says_so(method: str) -> None:
    assert b"\r\nContent-Length: 0\r\n" in written(method, target_of("http://h/token"), {}, None)


@pytest.mark.parametrize(
    ("url", "host", "port", "authority", "path"),
    [
        ("http://h", "h", 80, "h", "/"),
        ("http://h:80/", "h", 80, "h", "/"),
        ("http://h:443/", "h", 443, "h:443", "/"),
        ("http://h:0/", "h", 0, "h:0", "/"),
        ("https://h:443/a", "h", 443, "h", "/a"),
        ("https://H.Example:80/A", "h.example", 80, "h.example:80", "/A"),
        ("http://[::1]/", "::1", 80, "[::1]", "/"),
        ("http://[::1]:81/", "::1", 81, "[::1]:81", "/"),
        ("http://h?a=b", "h", 80, "h", "/?a=b"),
        ("http://h/a//b/../%2e%2E/c;d=e#part", "h", 80, "h", "/a//b/../%2e%2E/c;d=e"),
        ("http://h/wéka pesa?q=\u20ac", "h", 80, "h", "/w%C3%A9ka%20pesa?q=%E2%82%AC"),
        ("http://bücher.example/", "xn--bcher-kva.example", 80, "xn--bcher-kva.example", "/"),
    ],
)
def test_an_address_is_taken_as_it_is_given(url: str, host: str, port: int, authority: str, path: str) -> None:
    assert target_of(url) == (host, port, url.startswith("https"), authority, path)


@pytest.mark.parametrize(
    "url",
    [
        *("", "h", "//h", "ftp://h", "http://", "http:///a", "http://h:x", "http://h:65536", "http://[::1"),
        *("http://user@h", "http://" + "é" * 64 + ".example"),
    ],
)
async def test_what_is_no_address_is_sent_nothing(exchanges: Transport, url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        target_of(url)
    with pytest.raises(NotSent):
        await exchanges.make("POST", url, headers={}, body=b"{}", timeout_seconds=PLENTY)


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "a\nb", "a\rb", "a\0b"])
async def test_a_header_cannot_bring_another(exchanges: Transport, server: ScriptedServer, value: str) -> None:
    url = f"http://127.0.0.1:{server.port}/pay"
    with pytest.raises(NotSent):
        await exchanges.make("POST", url, headers={"X-Key": value}, body=b"{}", timeout_seconds=PLENTY)


async def test_a_long_body_arrives_whole(exchanges: Transport, server: ScriptedServer) -> None:
    body = bytes(range(256)) * 256
    server.expect(PAY, http("200 OK", "{}"))
    assert await pay(exchanges, server.port, body=body) == (200, b"{}")
    assert server.requests[0].body == body


# What is a whole answer.

WHOLE = {
    "with a length": OK + b"Content-Length: 2\r\n\r\n{}",
    "with a length and an empty line too many": OK + b"Content-Length: 2\r\n\r\n{}\r\n",
    "in chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n1;a=b\r\n}\r\n0\r\n\r\n",
    "in chunks, with blanks": OK + b"Transfer-Encoding: chunked\r\n\r\n2  \r\n{}\r\n0\r\n\r\n",
    "in chunks, and a word after": OK
    + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nContent-Encoding: gzip\r\nX: y\r\n\r\n",
    "until they close": OK + b"\r\n{}",
    "of old": b"HTTP/1.0 200 OK\r\n\r\n{}",
    "to be continued": b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\n{}",
    "after hints": b"HTTP/1.1 103 Early Hints\r\nContent-Length: 9\r\nContent-Encoding: gzip\r\n\r\n" * 3
    + OK
    + b"\r\n{}",
    "of Apache": OK + b"Upgrade: h2,h2c\r\nConnection: Upgrade, close\r\nContent-Length: 2\r\n\r\n{}",
    "without a reason": b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\n{}",
    "without carriage returns": b"HTTP/1.1 200 OK\nContent-Length: 2\n\n{}",
    "with many headers": OK + b"X-Header: y\r\n" * 2000 + b"Content-Length: 2\r\n\r\n{}",
    "packed": OK + b"Content-Encoding: GZIP\r\n\r\n" + gzip.compress(b"{}"),
    "packed otherwise": OK + b"Content-Encoding: deflate\r\n\r\n" + zlib.compress(b"{}"),
    "packed, they believe": OK + b"Content-Encoding: UTF-8\r\nContent-Length: 2\r\n\r\n{}",
    "and another": (OK + b"Content-Length: 2\r\n\r\n{}") + b"HTTP/1.1 500 Oh\r\nContent-Length: 2\r\n\r\n[]",
}


@pytest.mark.parametrize("piece", [None, 1])
@pytest.mark.parametrize("sent", WHOLE.values(), ids=WHOLE.keys())
async def test_an_answer_is_read_whole(
    exchanges: Transport, server: ScriptedServer, sent: bytes, piece: int | None
) -> None:
    server.expect(PAY, Reply(sent, After.CLOSE, piece=piece and 1 + len(sent) // 500))
    assert await pay(exchanges, server.port) == (200, b"{}")


@pytest.mark.parametrize("status", [204, 304])
async def test_some_answers_have_no_body(exchanges: Transport, server: ScriptedServer, status: int) -> None:
    server.expect(
        PAY, Reply(b"HTTP/1.1 %d X\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n" % status, After.HANG)
    )
    assert await pay(exchanges, server.port) == (status, b"")


CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
BROKEN = {
    "ends too early": OK + b"Content-Length: 3\r\n\r\n{}",
    "ends before its last chunk": CHUNKED + b"2\r\n{}\r\n",
    "ends in its last chunk": CHUNKED + b"2\r\n{}\r\n0\r\n",
    "ends in its head": OK + b"X: y\r\n",
    "ends after its head": OK + b"Content-Length: 2\r\n\r\n",
    "is only to be continued": b"HTTP/1.1 100 Continue\r\n\r\n",
    "has a number that means nothing": b"HTTP/1.1 099 OK\r\nContent-Length: 2\r\n\r\n{}",
    "has a number too long": b"HTTP/1.1 2000 OK\r\nContent-Length: 2\r\n\r\n{}",
    "has two lengths": OK + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
    "has a length and chunks": OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
    "has a length below none": OK + b"Content-Length: -2\r\n\r\n{}",
    "has a length beyond all": OK + b"Content-Length: 99999999999999999999999999\r\n\r\n{}",
    "has a chunk of no length": CHUNKED + b"x\r\n{}\r\n0\r\n\r\n",
    "has chunks of another kind": OK + b"Transfer-Encoding: gzip\r\n\r\n{}",
    "changes the language": b"HTTP/1.1 101 Now\r\nUpgrade: h2c\r\nConnection: Upgrade\r\n\r\n" + OK + b"\r\n{}",
    "changes the language silently": b"HTTP/1.1 101 Now\r\n\r\n" + OK + b"\r\n{}",
    "is half unpacked": OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}")[:-1],
    "is unpacked and more": OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"{}") + b"{}",
    "unpacks to too much": OK + b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b" " * 262_145),
    "is too long, and whole": CHUNKED + b"4000\r\n" + (b" " * 0x4000 + b"\r\n4000\r\n") * 16 + b" " * 0x4000 + b"\r\n0\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("piece", [None, 1])
@pytest.mark.parametrize("sent", BROKEN.values(), ids=BROKEN.keys())
async def test_an_answer_that_is_not_whole_is_none(
    exchanges: Transport, server: ScriptedServer, sent: bytes, piece: int | None
) -> None:
    server.expect(PAY, Reply(sent, After.CLOSE, piece=piece and 1 + len(sent) // 500))
    with pytest.raises(ConnectionBroken):
        await pay(exchanges, server.port)


GOES_ON = {
    "goes on after its end": OK + b"Content-Length: 2\r\n\r\n{}{}",
    "goes on after its end, and said it would close": OK + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}{}",
    "has a body where there is none": b"HTTP/1.1 204 No\r\nConnection: close\r\n\r\n{}",
}


@pytest.mark.parametrize("sent", GOES_ON.values(), ids=GOES_ON.keys())
async def test_an_answer_that_goes_on_after_its_end_is_none(
    exchanges: Transport, server: ScriptedServer, sent: bytes
) -> None:
    server.expect(PAY, Reply(sent, After.CLOSE))
    with pytest.raises(ConnectionBroken):
        await pay(exchanges, server.port)


@pytest.mark.parametrize("sent", [b"", OK, OK + b"\r\n", OK + b"\r\n{}", OK + b"Content-Length: 3\r\n\r\n{}", CHUNKED])
async def test_an_answer_that_is_torn_off_is_none(exchanges: Transport, server: ScriptedServer, sent: bytes) -> None:
    """However whole it looks: what ends with the connection must end in peace."""
    server.expect(PAY, Reply(sent, After.RESET))
    with pytest.raises(ConnectionBroken):
        await pay(exchanges, server.port)


FLOODS = {
    "of a body": (OK + b"\r\n", b" " * 4096),
    "of chunks": (CHUNKED, b"1000\r\n" + b" " * 4096 + b"\r\n"),
    "of what is said about a chunk": (CHUNKED + b"1;", b"x" * 4096),
    "of small chunks": (CHUNKED, b"1;" + b"x" * 4096 + b"\r\n \r\n"),
    "of words after the chunks": (CHUNKED + b"0\r\n", b"X: " + b"y" * 4096 + b"\r\n"),
    "of headers": (OK, b"X: y\r\n" * 600),
    "of one header": (OK + b"X: ", b"y" * 4096),
    "of empty lines": (b"", b"\r\n" * 2048),
    "of promises": (b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 160),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS.keys())
async def test_a_flood_is_cut_off_at_once(exchanges: Transport, flood: tuple[bytes, bytes]) -> None:
    hung_up: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    async def pour(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        poured = 0
        with contextlib.suppress(ConnectionError):
            writer.write(flood[0])
            while not reader.at_eof() and poured < 100_000_000:
                writer.write(flood[1])
                poured += len(flood[1])
                await writer.drain()
        hung_up.set_result(poured)

    async with listening(pour) as port:
        with pytest.raises(ConnectionBroken, match="the answer is too long"):
            await pay(exchanges, port)
        assert await hung_up < 50_000_000


async def test_an_answer_to_half_a_request_is_none(exchanges: Transport) -> None:
    is_over = asyncio.Event()

    async def answer_unasked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(http("200 OK", "{}").sent)
        await is_over.wait()

    async with listening(answer_unasked) as port:
        with pytest.raises(ConnectionBroken, match="before all was asked"):
            await pay(exchanges, port, body=b" " * 20_000_000)
        is_over.set()


async def test_a_deadline_that_comes_with_the_connection_keeps_no_worker_from_ending(
    server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """uvloop closes such a connection, and never reports that it is lost."""
    made = NetworkConnection.connection_made

    def too_late(self: NetworkConnection, transport: asyncio.BaseTransport) -> None:
        made(self, transport)
        paying.cancel()

    monkeypatch.setattr(NetworkConnection, "connection_made", too_late)
    transport = Transport(client_context())
    paying = asyncio.ensure_future(pay(transport, server.port))
    with pytest.raises(asyncio.CancelledError):
        await paying
    async with asyncio.timeout(240):
        await transport.close()


async def test_it_runs_on_the_loop_that_it_names(anyio_backend: tuple[str, dict[str, Any]]) -> None:
    assert is_on(anyio_backend)
