"""One request on a connection of its own: what is sent, what is a whole answer, and when nothing was sent."""

import asyncio
import contextlib
import gzip
import os
import socket
import ssl
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from malipo.networks.exchange import Exchanges, NotSent, target_of, written
from malipo.networks.line import Answer, Broken
from malipo.networks.names import Names
from tests.conftest import free_port
from tests.networks.teller import After, Reply, Teller, http
from tests.webhooks.papers import authority

PAY = "POST /pay"
NAME = "gateway.example.com"
PLENTY = 20.0  # seconds, where the time limit is not what is tested
OK = b"HTTP/1.1 200 OK\r\n"


@pytest.fixture(scope="module", params=[False, True], ids=["asyncio", "uvloop"])
def anyio_backend(request: pytest.FixtureRequest) -> tuple[str, dict[str, Any]]:
    """uvloop is what runs in production; it does not break in the same places."""
    return "asyncio", {"use_uvloop": request.param}


@asynccontextmanager
async def opened(*addresses: str) -> AsyncIterator[Exchanges]:
    """All names lead to these addresses."""

    async def look_up(host: str) -> tuple[str, ...]:
        return addresses

    exchanges = Exchanges(authority().trusted(), Names(look_up))
    try:
        yield exchanges
    finally:
        await exchanges.close()


@pytest.fixture
async def exchanges() -> AsyncIterator[Exchanges]:
    async with opened("127.0.0.1") as exchanges:
        yield exchanges


async def pay(
    exchanges: Exchanges, port: int, *, at: str = "http://127.0.0.1", body: bytes = b"{}", seconds: float = PLENTY
) -> Answer:
    return await exchanges.make("POST", f"{at}:{port}/pay", headers={}, body=body, timeout_seconds=seconds)


Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@asynccontextmanager
async def listening(
    serve: Serve, host: str = "127.0.0.1", *, port: int = 0, tls: ssl.SSLContext | None = None
) -> AsyncIterator[int]:
    handled: set[asyncio.Task[None]] = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await serve(reader, writer)
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()

    def begin(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        handled.add(asyncio.create_task(handle(reader, writer)))

    async with await asyncio.start_server(begin, host, port, ssl=tls) as server:
        yield int(server.sockets[0].getsockname()[1])
    await asyncio.gather(*handled)


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
async def test_what_is_no_address_is_sent_nothing(exchanges: Exchanges, url: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011
        target_of(url)
    with pytest.raises(NotSent):
        await exchanges.make("POST", url, headers={}, body=b"{}", timeout_seconds=PLENTY)


@pytest.mark.parametrize("value", ["a\r\nX-Other: b", "a\nb", "a\rb", "a\0b"])
async def test_a_header_cannot_bring_another(exchanges: Exchanges, teller: Teller, value: str) -> None:
    url = f"http://127.0.0.1:{teller.port}/pay"
    with pytest.raises(NotSent):
        await exchanges.make("POST", url, headers={"X-Key": value}, body=b"{}", timeout_seconds=PLENTY)


async def test_a_long_body_arrives_whole(exchanges: Exchanges, teller: Teller) -> None:
    body = bytes(range(256)) * 256
    teller.expect(PAY, http("200 OK", "{}"))
    assert await pay(exchanges, teller.port, body=body) == (200, b"{}")
    assert teller.heard[0].body == body


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
async def test_an_answer_is_heard_whole(exchanges: Exchanges, teller: Teller, sent: bytes, piece: int | None) -> None:
    teller.expect(PAY, Reply(sent, After.CLOSE, piece=piece and 1 + len(sent) // 500))
    assert await pay(exchanges, teller.port) == (200, b"{}")


@pytest.mark.parametrize("status", [204, 304])
async def test_some_answers_have_no_body(exchanges: Exchanges, teller: Teller, status: int) -> None:
    teller.expect(
        PAY, Reply(b"HTTP/1.1 %d X\r\nContent-Encoding: gzip\r\nContent-Length: 5\r\n\r\n" % status, After.HANG)
    )
    assert await pay(exchanges, teller.port) == (status, b"")


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
    exchanges: Exchanges, teller: Teller, sent: bytes, piece: int | None
) -> None:
    teller.expect(PAY, Reply(sent, After.CLOSE, piece=piece and 1 + len(sent) // 500))
    with pytest.raises(Broken):
        await pay(exchanges, teller.port)


GOES_ON = {
    "goes on after its end": OK + b"Content-Length: 2\r\n\r\n{}{}",
    "goes on after its end, and said it would close": OK + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}{}",
    "has a body where there is none": b"HTTP/1.1 204 No\r\nConnection: close\r\n\r\n{}",
}


@pytest.mark.parametrize("sent", GOES_ON.values(), ids=GOES_ON.keys())
async def test_an_answer_that_goes_on_after_its_end_is_none(exchanges: Exchanges, teller: Teller, sent: bytes) -> None:
    teller.expect(PAY, Reply(sent, After.CLOSE))
    with pytest.raises(Broken):
        await pay(exchanges, teller.port)


@pytest.mark.parametrize("sent", [b"", OK, OK + b"\r\n", OK + b"\r\n{}", OK + b"Content-Length: 3\r\n\r\n{}", CHUNKED])
async def test_an_answer_that_is_torn_off_is_none(exchanges: Exchanges, teller: Teller, sent: bytes) -> None:
    """However whole it looks: what ends with the connection must end in peace."""
    teller.expect(PAY, Reply(sent, After.RESET))
    with pytest.raises(Broken):
        await pay(exchanges, teller.port)


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
async def test_a_flood_is_cut_off_at_once(exchanges: Exchanges, flood: tuple[bytes, bytes]) -> None:
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
        with pytest.raises(Broken, match="the answer is too long"):
            await pay(exchanges, port)
        assert await hung_up < 50_000_000


async def test_an_answer_to_half_a_request_is_none(exchanges: Exchanges) -> None:
    is_over = asyncio.Event()

    async def answer_unasked(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        writer.write(http("200 OK", "{}").sent)
        await is_over.wait()

    async with listening(answer_unasked) as port:
        with pytest.raises(Broken, match="before all was asked"):
            await pay(exchanges, port, body=b" " * 20_000_000)
        is_over.set()


# When nothing was sent.


async def test_a_name_that_leads_nowhere_is_said_so() -> None:
    exchanges = Exchanges(authority().trusted())
    with pytest.raises(NotSent, match=r"^no connection: .*[Nn]ame") as caught:
        await pay(exchanges, 80, at="http://nobody.invalid")
    assert "invalid" not in str(caught.value)
    with pytest.raises(NotSent):
        await pay(exchanges, 80, at="http://what..ever")


async def test_a_real_name_is_found(teller: Teller) -> None:
    exchanges = Exchanges(authority().trusted())
    teller.expect(PAY, http("200 OK", "{}"))
    assert await pay(exchanges, teller.port, at="http://localhost") == (200, b"{}")
    assert teller.heard[0].header("host") == f"localhost:{teller.port}"


async def test_the_sixth_version_is_spoken(exchanges: Exchanges) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        body = head.split(b"\r\n")[1]
        writer.write(http("200 OK", body).sent)

    try:
        async with listening(serve, "::1") as port:
            assert await pay(exchanges, port, at="http://[::1]") == (200, b"Host: [::1]:%d" % port)
    except OSError:
        pytest.skip("this machine does not speak it")


async def test_the_next_address_is_tried_if_the_first_lets_nobody_in(teller: Teller) -> None:
    async with opened("127.0.0.2", "127.0.0.3", "127.0.0.1") as exchanges:
        teller.expect(PAY, http("200 OK", "{}"))
        assert await pay(exchanges, teller.port, at=f"http://{NAME}") == (200, b"{}")
        teller.leave()
        with pytest.raises(NotSent, match=r"^no connection: Connection refused$"):
            await pay(exchanges, teller.port, at=f"http://{NAME}")


async def test_the_next_address_is_not_tried_once_there_was_a_connection(teller: Teller) -> None:
    async def slam(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.abort()

    async with opened("127.0.0.2", "127.0.0.1") as exchanges, listening(slam, "127.0.0.2", port=teller.port) as port:
        with pytest.raises(Broken):
            await pay(exchanges, port, at=f"http://{NAME}")
    assert teller.heard == []


@contextlib.contextmanager
def deaf(host: str, port: int) -> Any:
    """Nobody is let in, and nobody is told."""
    with contextlib.ExitStack() as stack:
        full = stack.enter_context(socket.socket())
        full.bind((host, port))
        full.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex((host, full.getsockname()[1]))
        yield full.getsockname()[1]


async def test_an_address_that_is_silent_leaves_time_for_the_next_and_comes_last_from_then_on(teller: Teller) -> None:
    teller.always(PAY, http("200 OK", "{}"))
    with deaf("127.0.0.2", teller.port):
        await asyncio.sleep(0.05)
        async with opened("127.0.0.2", "127.0.0.1") as exchanges:
            assert await pay(exchanges, teller.port, at=f"http://{NAME}", seconds=1) == (200, b"{}")
            async with asyncio.timeout(4):
                assert await pay(exchanges, teller.port, at=f"http://{NAME}", seconds=20) == (200, b"{}")


async def test_a_name_is_looked_up_once_for_everybody_and_again_if_it_failed(teller: Teller) -> None:
    asked: list[str] = []

    async def look_up(host: str) -> list[str]:
        asked.append(host)
        await asyncio.sleep(0.01)
        if len(asked) == 1:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return ["127.0.0.1"] if len(asked) == 3 else []

    teller.always(PAY, http("200 OK", "{}"))
    exchanges = Exchanges(authority().trusted(), Names(look_up))
    with pytest.raises(NotSent, match=r"^no connection: Temporary failure in name resolution$"):
        await pay(exchanges, teller.port, at=f"http://{NAME}")
    with pytest.raises(NotSent, match=r"^no connection: "):
        await pay(exchanges, teller.port, at=f"http://{NAME}")
    many = await asyncio.gather(*(pay(exchanges, teller.port, at=f"http://{NAME}") for _ in range(10)))
    assert set(many) == {Answer(200, b"{}")}
    assert await pay(exchanges, teller.port, at=f"http://{NAME}") == (200, b"{}")
    assert asked == [NAME] * 3


async def test_a_lookup_that_takes_too_long_sent_nothing(teller: Teller) -> None:
    async def look_up(host: str) -> list[str]:
        await asyncio.sleep(60)
        return ["127.0.0.1"]

    exchanges = Exchanges(authority().trusted(), Names(look_up))
    with pytest.raises(NotSent, match=r"^no answer in time$"):
        await pay(exchanges, teller.port, at=f"http://{NAME}", seconds=0.2)


# Through TLS.


async def test_the_name_is_what_the_other_side_must_prove(exchanges: Exchanges) -> None:
    tls = authority().server(NAME)
    asked_for: list[str | None] = []
    tls.sni_callback = lambda _socket, name, _context: asked_for.append(name)
    async with Teller.opened(tls=tls) as teller:
        teller.always(PAY, http("200 OK", "{}"))
        assert await pay(exchanges, teller.port, at=f"https://{NAME}") == (200, b"{}")
        for other in ("https://other.example.com", "https://127.0.0.1"):
            with pytest.raises(NotSent, match=r"^no connection: certificate verify failed$"):
                await pay(exchanges, teller.port, at=other)
        assert len(teller.heard) == 1
    assert asked_for[0] == NAME


@pytest.mark.parametrize(
    "tls",
    [lambda: authority("A stranger").server(NAME), lambda: authority().server(NAME, days=-1), lambda: None],
    ids=["a stranger", "too old", "no TLS at all"],
)
async def test_who_cannot_prove_it_is_told_nothing(
    exchanges: Exchanges, tls: Callable[[], ssl.SSLContext | None]
) -> None:
    async with Teller.opened(tls=tls()) as teller:
        with pytest.raises(NotSent):
            await pay(exchanges, teller.port, at=f"https://{NAME}", seconds=1)
    assert teller.heard == []


async def test_the_next_address_is_tried_if_the_first_cannot_prove_it() -> None:
    async with Teller.opened(tls=authority().server(NAME)) as teller, opened("127.0.0.2", "127.0.0.1") as exchanges:
        teller.expect(PAY, http("200 OK", "{}"))
        stranger = authority("A stranger").server(NAME)

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            raise AssertionError("nobody gets here")

        async with listening(serve, "127.0.0.2", port=teller.port, tls=stranger):
            assert await pay(exchanges, teller.port, at=f"https://{NAME}") == (200, b"{}")


TORN = {
    "the whole is whole without a goodbye": (http("200 OK", "{}").sent, False, Answer(200, b"{}")),
    "what ends with a goodbye is whole": (OK + b"\r\n{}", True, Answer(200, b"{}")),
    "what ends without a goodbye may have been cut": (OK + b"\r\n{}", False, Broken),
    "what is short is not whole for all their goodbyes": (OK + b"Content-Length: 3\r\n\r\n{}", True, Broken),
}


@pytest.mark.parametrize("case", TORN.values(), ids=TORN.keys())
async def test_who_cuts_the_line_cannot_make_an_answer(
    exchanges: Exchanges, case: tuple[bytes, bool, Answer | type[Broken]]
) -> None:
    sent, says_goodbye, expected = case

    def serve(listener: socket.socket) -> None:
        with authority().server(NAME).wrap_socket(listener.accept()[0], server_side=True) as line:
            line.recv(65536)
            line.sendall(sent)
            with contextlib.suppress(OSError):
                line.unwrap() if says_goodbye else line.shutdown(socket.SHUT_WR)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(serve, listener))
        call = pay(exchanges, listener.getsockname()[1], at=f"https://{NAME}")
        if isinstance(expected, Answer):
            assert await call == expected
        else:
            with pytest.raises(expected):
                await call
        await serving


# Afterwards.


async def test_the_connection_is_closed_after_the_answer(exchanges: Exchanges) -> None:
    hung_up = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n{}")
        writer.write(http("200 OK", "{}").sent)
        assert await reader.read() == b""
        hung_up.set()

    async with listening(serve) as port:
        assert await pay(exchanges, port) == (200, b"{}")
        async with asyncio.timeout(PLENTY):
            await hung_up.wait()


async def test_through_tls_we_say_goodbye(exchanges: Exchanges) -> None:
    def serve(listener: socket.socket) -> bytes:
        tls = authority().server(NAME)
        tls.options &= ~ssl.OP_IGNORE_UNEXPECTED_EOF
        line = tls.wrap_socket(listener.accept()[0], server_side=True, suppress_ragged_eofs=False)
        with line:
            line.recv(65536)
            line.sendall(http("200 OK", "{}").sent)
            return line.recv(65536)  # It raises for a connection that just ends.

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(serve, listener))
        assert await pay(exchanges, listener.getsockname()[1], at=f"https://{NAME}") == (200, b"{}")
        async with asyncio.timeout(PLENTY):
            assert await serving == b""


async def test_who_never_says_goodbye_is_not_waited_for_long(exchanges: Exchanges) -> None:
    def serve(listener: socket.socket) -> None:
        with authority().server(NAME).wrap_socket(listener.accept()[0], server_side=True) as line:
            line.recv(65536)
            line.sendall(http("200 OK", "{}").sent)
            with contextlib.suppress(ConnectionError):
                while os.read(line.fileno(), 65536):  # under the TLS: it does not see their goodbye
                    pass

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(serve, listener))
        assert await pay(exchanges, listener.getsockname()[1], at=f"https://{NAME}") == (200, b"{}")
        async with asyncio.timeout(PLENTY):
            await serving


async def test_the_other_side_closes_first_and_if_it_does_not_we_do(exchanges: Exchanges) -> None:
    """Whoever closes first keeps the port for a minute, and we have fewer ports than a network has payments."""

    def serve(listener: socket.socket) -> str:
        with listener.accept()[0] as line:
            line.recv(65536)
            line.sendall(http("200 OK", "{}").sent)
            line.settimeout(0.3)
            with contextlib.suppress(TimeoutError):
                return f"{line.recv(1)!r} at once"
            line.settimeout(PLENTY)
            return repr(line.recv(1))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        serving = asyncio.create_task(asyncio.to_thread(serve, listener))
        assert await pay(exchanges, listener.getsockname()[1]) == (200, b"{}")
        async with asyncio.timeout(PLENTY):
            assert await serving == "b''"


async def _gone(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        await reader.read()


@pytest.mark.parametrize("at", ["http", "https"])
@pytest.mark.parametrize("is_late", [False, True], ids=["given up", "too late"])
async def test_who_gives_up_hangs_up(exchanges: Exchanges, at: str, is_late: bool) -> None:
    asked, hung_up = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n{}")
        asked.set()
        await _gone(reader)
        hung_up.set()

    async with listening(serve, tls=authority().server(NAME) if at == "https" else None) as port:
        call = asyncio.create_task(pay(exchanges, port, at=f"{at}://{NAME}", seconds=0.5 if is_late else PLENTY))
        await asked.wait()
        if not is_late:
            call.cancel()
        with pytest.raises(Broken if is_late else asyncio.CancelledError):
            await call
        async with asyncio.timeout(PLENTY):
            await hung_up.wait()


@pytest.mark.parametrize("is_late", [False, True], ids=["given up", "too late"])
async def test_who_gives_up_before_the_other_side_has_shown_who_it_is_sent_nothing(
    exchanges: Exchanges, is_late: bool
) -> None:
    greeted, hung_up = asyncio.Event(), asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        greeted.set()
        await _gone(reader)
        hung_up.set()

    async with listening(serve) as port:
        call = asyncio.create_task(pay(exchanges, port, at=f"https://{NAME}", seconds=0.5 if is_late else PLENTY))
        await greeted.wait()
        if not is_late:
            call.cancel()
        with pytest.raises(NotSent if is_late else asyncio.CancelledError):
            await call
        async with asyncio.timeout(PLENTY):
            await hung_up.wait()


async def test_closing_ends_what_is_under_way(teller: Teller) -> None:
    teller.expect(PAY, Reply(after=After.HANG))
    exchanges = Exchanges(authority().trusted())
    call = asyncio.create_task(pay(exchanges, teller.port))
    await teller.was_called.wait()
    await exchanges.close()
    with pytest.raises(Broken, match="the connection was closed"):
        await call


async def test_nobody_listens() -> None:
    async with opened("127.0.0.1", "127.0.0.1") as exchanges:
        with pytest.raises(NotSent, match=r"^no connection: Connection refused$"):
            await pay(exchanges, free_port(), at=f"http://{NAME}")
