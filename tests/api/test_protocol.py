"""HTTP over a real socket: in whatever packets a request comes, in what order answers go, and when the line is cut.

The applications behind it are a few lines each, so that a test decides when they answer.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
import uvicorn
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.server import ServerState

from malipo.api import protocol
from malipo.api.protocol import WHOLE_BODY, Protocol
from tests.api.wire import RawAnswer, request
from tests.conftest import free_port

_LONG = 5.0


class Watched(Protocol):
    """Counts what it hears, and what it writes."""

    heard = 0
    went_off = 0  # its timers

    def connection_made(self, transport: Any) -> None:
        self.written: list[bytes] = []
        self.is_lost = asyncio.Event()
        super().connection_made(_Transport(transport, self.written))  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.is_lost.set()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self.heard += len(data)

    def _look_whether_idle(self) -> None:
        self.went_off += 1
        super()._look_whether_idle()

    def _hang_up(self) -> None:
        self.went_off += 1
        super()._hang_up()


class _Transport:
    def __init__(self, transport: asyncio.Transport, written: list[bytes]) -> None:
        self._transport = transport
        self._written = written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self._written.append(data)
        self._transport.write(data)


class Line:
    """A client's end of a connection, and the server's."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, other_end: Watched) -> None:
        self._reader = reader
        self._writer = writer
        self._said = 0
        self.other_end = other_end

    @property
    def ends(self) -> tuple[Any, Any]:
        """The client's address, and the server's."""
        return self._writer.get_extra_info("sockname"), self._writer.get_extra_info("peername")

    def throw(self, packet: bytes) -> None:
        """Send, and do not look whether it is read."""
        self._said += len(packet)
        self._writer.write(packet)

    async def say(self, *packets: bytes) -> None:
        """Send each when the one before it has been read."""
        for packet in packets:
            self.throw(packet)
            await until(lambda: self.other_end.heard == self._said)

    async def hear(self, *, is_head: bool = False) -> RawAnswer:
        status, headers = await self.hear_head()
        if is_head or status in (100, 204, 304):
            return RawAnswer(status, headers, b"")
        if headers.get("transfer-encoding") == "chunked":
            body = b""
            while chunk := await self.hear_chunk():
                body += chunk
            return RawAnswer(status, headers, body)
        return RawAnswer(status, headers, await self.hear_bytes(int(headers["content-length"])))

    async def hear_head(self) -> tuple[int, dict[str, str]]:
        async with asyncio.timeout(_LONG):
            head = await self._reader.readuntil(b"\r\n\r\n")
        first, *lines = head[:-4].decode("latin-1").split("\r\n")
        assert first.startswith("HTTP/1.1 ")
        headers = [tuple(line.split(": ", 1)) for line in lines]
        assert len(dict(headers)) == len(headers), f"a header that is there twice: {head!r}"  # type: ignore[arg-type]
        return int(first.split(" ")[1]), dict(headers)  # type: ignore[arg-type]

    async def hear_chunk(self) -> bytes:
        async with asyncio.timeout(_LONG):
            size = int(await self._reader.readuntil(b"\r\n"), 16)
            return (await self._reader.readexactly(size + 2))[:-2]

    async def hear_bytes(self, number: int) -> bytes:
        async with asyncio.timeout(_LONG):
            return await self._reader.readexactly(number)

    async def hear_the_rest(self) -> bytes:
        """Everything until the other side hangs up."""
        async with asyncio.timeout(_LONG):
            return await self._reader.read()

    async def is_silent(self, *, seconds: float = 0.03) -> bool:
        """Whether nothing comes for so long, not even the end."""
        try:
            async with asyncio.timeout(seconds):
                heard = await self._reader.read(1)
        except TimeoutError:
            return True
        assert not heard, heard
        return False

    async def hang_up(self) -> None:
        self._writer.close()
        async with asyncio.timeout(_LONG):
            await self.other_end.is_lost.wait()


class Place:
    """A server, and its lines."""

    def __init__(self, port: int, ends: "list[Watched]") -> None:
        self._port = port
        self._ends = ends
        self._writers: list[asyncio.StreamWriter] = []

    async def call(self) -> Line:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._writers.append(writer)
        await until(lambda: len(self._ends) == len(self._writers))
        return Line(reader, writer, self._ends[-1])

    async def leave(self) -> None:
        for writer in self._writers:
            writer.close()
        for end in self._ends:
            await end.is_lost.wait()


@asynccontextmanager
async def serving(app: ASGIApp, *, keep_alive: float = _LONG) -> AsyncIterator[Place]:
    settings: Any = {"timeout_keep_alive": keep_alive}
    config = uvicorn.Config(app, http=Watched, ws="none", lifespan="off", log_config=None, access_log=False, **settings)
    config.load()
    ends: list[Watched] = []
    state = ServerState()

    def answer_the_call() -> Watched:
        ends.append(Watched(config=config, server_state=state, app_state={}))
        return ends[-1]

    server = await asyncio.get_running_loop().create_server(answer_the_call, "127.0.0.1", 0)
    place = Place(server.sockets[0].getsockname()[1], ends)
    try:
        yield place
    finally:
        server.close()
        async with asyncio.timeout(_LONG):
            await place.leave()
            if state.tasks:
                await asyncio.wait(state.tasks)


async def until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(_LONG):
        while not holds():  # noqa: ASYNC110
            await asyncio.sleep(0.001)


# Applications


async def body_of(receive: Receive) -> bytes:
    body = b""
    while True:
        message = await receive()
        assert message["type"] == "http.request", message
        body += bytes(message["body"])
        if not message["more_body"]:
            return body


def start(length: int | None, *headers: tuple[bytes, bytes], status: int = 200) -> Message:
    known = [] if length is None else [(b"content-length", b"%d" % length)]
    return {"type": "http.response.start", "status": status, "headers": [*known, *headers]}


def part(body: bytes, *, more: bool = False) -> Message:
    return {"type": "http.response.body", "body": body, "more_body": more}


async def answer(send: Send, body: bytes, *headers: tuple[bytes, bytes], status: int = 200) -> None:
    await send(start(len(body), *headers, status=status))
    await send(part(body))


async def echo(scope: Scope, receive: Receive, send: Send) -> None:
    """Says what it was asked."""
    whole = scope.get(WHOLE_BODY)
    heard = await body_of(receive)
    said = {
        "asked": f"{scope['method']} {scope['path']}",
        "body": heard.decode(),
        "whole": None if whole is None else whole.decode(),
    }
    await answer(send, msgspec.json.encode(said))


async def hello(scope: Scope, receive: Receive, send: Send) -> None:
    """Answers without reading."""
    await answer(send, b"hello")


class Gated:
    """Answers each request with its path, when it is allowed to."""

    def __init__(self, *open_: str) -> None:
        self.begun: list[str] = []
        self.bodies: list[bytes] = []
        self._gates: dict[str, asyncio.Event] = {}
        for path in open_:
            self.let(path)

    def let(self, path: str) -> None:
        self._gate(path).set()

    def _gate(self, path: str) -> asyncio.Event:
        return self._gates.setdefault(path, asyncio.Event())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        self.begun.append(path)
        self.bodies.append(await body_of(receive))
        await self._gate(path).wait()
        await answer(send, path.encode())


def get(path: str = "/", *headers: bytes) -> bytes:
    return request("GET", path, headers=headers)


POST = request("POST", "/thing", b"some words")
CHUNKED = request("POST", "/thing", headers=(b"transfer-encoding: chunked",)) + b"4\r\nsome\r\n6\r\n words\r\n0\r\n\r\n"


# In whatever packets a request comes


@pytest.mark.parametrize("sent", [POST, CHUNKED], ids=["with a length", "in chunks"])
async def test_a_body_that_comes_with_its_head_is_in_the_scope(sent: bytes) -> None:
    async with serving(echo) as place:
        line = await place.call()
        await line.say(sent)

        assert (await line.hear()).json == {"asked": "POST /thing", "body": "some words", "whole": "some words"}


async def test_a_request_without_a_body_has_an_empty_one_in_the_scope() -> None:
    async with serving(echo) as place:
        line = await place.call()
        await line.say(get("/thing"))

        assert (await line.hear()).json == {"asked": "GET /thing", "body": "", "whole": ""}


@pytest.mark.parametrize("sent", [POST, CHUNKED], ids=["with a length", "in chunks"])
@pytest.mark.parametrize("with_the_head", [0, 1, 9])
async def test_a_body_that_comes_later_is_waited_for_and_is_not_in_the_scope(sent: bytes, with_the_head: int) -> None:
    at = sent.index(b"\r\n\r\n") + 4 + with_the_head
    async with serving(echo) as place:
        line = await place.call()
        await line.say(sent[:at])
        assert await line.is_silent()
        await line.say(sent[at:])

        assert (await line.hear()).json == {"asked": "POST /thing", "body": "some words", "whole": None}


async def test_an_application_begins_before_the_whole_body_is_there() -> None:
    app = Gated("/thing")
    async with serving(app) as place:
        line = await place.call()
        await line.say(POST[:-1])
        await until(lambda: app.begun == ["/thing"])
        await line.say(POST[-1:])

        assert (await line.hear()).body == b"/thing"


@pytest.mark.parametrize("sent", [POST, CHUNKED], ids=["with a length", "in chunks"])
async def test_a_request_may_come_byte_by_byte(sent: bytes) -> None:
    async with serving(echo) as place:
        line = await place.call()
        for _ in range(2):
            await line.say(*(sent[at : at + 1] for at in range(len(sent))))
            assert (await line.hear()).json == {"asked": "POST /thing", "body": "some words", "whole": None}


async def test_a_line_carries_one_request_after_the_other() -> None:
    async with serving(echo) as place:
        line = await place.call()
        for number in range(20):
            sent = request("POST", f"/{number}", b"%d" % number)
            await line.say(*([sent] if number % 2 else [sent[:-1], sent[-1:]]))
            heard = (await line.hear()).json
            assert heard["asked"] == f"POST /{number}"
            assert heard["body"] == str(number)
            assert heard["whole"] == (str(number) if number % 2 else None)


async def test_an_application_is_told_what_was_asked_and_by_whom() -> None:
    seen: list[Scope] = []

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await answer(send, b"")

    async with serving(look) as place:
        line = await place.call()
        await line.say(request("PUT", "/caf%C3%A9/a?b=%20c&d", b"", headers=(b"X-Some: Thing", b"x-some:  other")))
        await line.hear()
        ends = line.ends

    (scope,) = seen
    told = {name: scope[name] for name in ("type", "method", "path", "raw_path", "query_string", "http_version")}
    assert told == {
        "type": "http",
        "method": "PUT",
        "path": "/café/a",
        "raw_path": b"/caf%C3%A9/a",
        "query_string": b"b=%20c&d",
        "http_version": "1.1",
    }
    assert (scope["scheme"], scope["root_path"]) == ("http", "")
    assert (scope["client"], scope["server"]) == ends
    assert scope["headers"] == [
        (b"host", b"malipo"),
        (b"x-some", b"Thing"),
        (b"x-some", b"other"),
        (b"content-length", b"0"),
    ]


async def test_a_body_that_turns_out_broken_is_not_in_the_scope_and_not_believed() -> None:
    async with serving(echo_bytes) as place:
        line = await place.call()
        line.throw(request("POST", "/", headers=(b"transfer-encoding: chunked",)) + b"4\r\nsome\r\nnonsense\r\n")

        heard = await line.hear()
        assert heard.body == b"None \xff"
        assert heard.headers["connection"] == "close"
        assert await line.hear_the_rest() == b""


async def echo_bytes(scope: Scope, receive: Receive, send: Send) -> None:
    whole = scope.get(WHOLE_BODY)
    await answer(send, b"%b %b" % (str(whole).encode(), await body_of(receive)))


# Several requests at once


@pytest.mark.parametrize("number", [2, 3])
async def test_requests_in_one_packet_are_answered_in_order_though_the_first_is_slow(number: int) -> None:
    paths = [f"/{each}" for each in range(number)]
    app = Gated(*paths[1:])
    async with serving(app) as place:
        line = await place.call()
        line.throw(b"".join(get(path) for path in paths))
        assert await line.is_silent()
        assert app.begun == ["/0"]

        app.let("/0")

        assert [(await line.hear()).body.decode() for _ in paths] == paths
        assert app.begun == paths
        await line.say(get("/1"))  # And the line is as good as before.
        assert (await line.hear()).body == b"/1"


async def test_a_line_is_read_again_after_requests_in_one_packet_that_nobody_reads() -> None:
    async with serving(hello) as place:
        line = await place.call()
        line.throw(get() * 3)
        for _ in range(3):
            assert (await line.hear()).body == b"hello"
        await line.say(get())
        assert (await line.hear()).body == b"hello"


async def test_requests_with_bodies_in_one_packet_get_each_their_own() -> None:
    async with serving(echo) as place:
        line = await place.call()
        line.throw(b"".join(request("POST", f"/{each}", b"%d" % each * 10) for each in range(3)))

        for each in range(3):
            heard = (await line.hear()).json
            assert (heard["asked"], heard["body"]) == (f"POST /{each}", str(each) * 10)


@pytest.mark.parametrize("is_answered_first", [False, True])
async def test_the_body_of_a_request_behind_another_may_come_later(is_answered_first: bool) -> None:
    app = Gated("/thing")
    async with serving(app) as place:
        line = await place.call()
        line.throw(get("/slow") + POST[:-3])
        await until(lambda: app.begun == ["/slow"])
        if is_answered_first:
            app.let("/slow")
            assert (await line.hear()).body == b"/slow"
            assert await line.is_silent()
            line.throw(POST[-3:])
        else:
            line.throw(POST[-3:])
            assert await line.is_silent()
            app.let("/slow")
            assert (await line.hear()).body == b"/slow"

        assert (await line.hear()).body == b"/thing"
        assert app.bodies == [b"", b"some words"]


async def test_nothing_behind_a_request_that_closes_the_line_is_begun() -> None:
    app = Gated("/1", "/2")
    async with serving(app) as place:
        line = await place.call()
        line.throw(get("/1", b"connection: close") + get("/2"))

        assert (await line.hear()).body == b"/1"
        assert await line.hear_the_rest() == b""
    assert app.begun == ["/1"]


# Answers


async def test_a_short_answer_is_one_write() -> None:
    async with serving(echo) as place:
        line = await place.call()
        for sent in (POST, CHUNKED, get(), get("/", b"connection: close")):
            line.other_end.written.clear()
            line.throw(sent)
            assert (await line.hear()).status == 200
            assert len(line.other_end.written) == 1


@pytest.mark.parametrize("status", [200, 201, 204, 404, 503])
async def test_an_answer_is_what_the_application_said_and_nothing_else(status: int) -> None:
    body = b"" if status == 204 else b"words\r\n\r\nHTTP/1.1"

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, body, (b"x-one", b"1"), (b"x-two", "é".encode("latin-1")), status=status)

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        heard = await line.hear()

    assert (heard.status, heard.body) == (status, body)
    assert heard.headers == {"content-length": str(len(body)), "x-one": "1", "x-two": "é"}


@pytest.mark.parametrize("length", [5, None])
async def test_the_answer_to_head_has_no_body(length: int | None) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(length))
        await send(part(b"hello"))

    async with serving(app) as place:
        line = await place.call()
        for _ in range(2):
            await line.say(request("HEAD", "/"))
            heard = await line.hear(is_head=True)
            assert heard.headers.get("content-length") == (None if length is None else "5")
            assert await line.is_silent()


@pytest.mark.parametrize("length", [None, 12])
async def test_an_answer_in_parts_leaves_part_by_part(length: int | None) -> None:
    go_on = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(length))
        await send(part(b"first", more=True))
        await go_on.wait()
        await send(part(b" second", more=True))
        await send(part(b""))

    async with serving(app) as place:
        line = await place.call()
        for _ in range(2):
            go_on.clear()
            await line.say(get())
            _, headers = await line.hear_head()
            assert headers == ({"transfer-encoding": "chunked"} if length is None else {"content-length": "12"})
            assert (await line.hear_chunk() if length is None else await line.hear_bytes(5)) == b"first"
            assert await line.is_silent()
            go_on.set()
            rest = [await line.hear_chunk(), await line.hear_chunk()] if length is None else [await line.hear_bytes(7)]
            assert b"".join(rest) == b" second"


async def test_a_whole_answer_without_a_length_is_chunked() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(None))
        await send(part(b"hello"))

    async with serving(app) as place:
        line = await place.call()
        for _ in range(2):
            await line.say(get())
            heard = await line.hear()
            assert (heard.headers, heard.body) == ({"transfer-encoding": "chunked"}, b"hello")


async def test_an_answer_is_not_over_before_the_application_says_so() -> None:
    go_on = asyncio.Event()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(5))
        await send(part(b"hello", more=True))
        await go_on.wait()
        await send(part(b""))

    async with serving(app) as place:
        line = await place.call()
        line.throw(get() + get())
        assert (await line.hear()).body == b"hello"
        assert await line.is_silent()
        go_on.set()
        assert (await line.hear()).body == b"hello"
        assert await line.is_silent()


async def test_an_application_that_listens_while_it_answers_hears_that_it_has_answered() -> None:
    heard: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await body_of(receive)
        listening = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        await answer(send, b"hello")
        heard.append((await listening)["type"])

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        assert (await line.hear()).body == b"hello"
        await until(lambda: heard == ["http.disconnect"])


@pytest.mark.parametrize("length", [3, 7])
async def test_an_answer_of_another_length_than_it_says_is_never_taken_for_whole(length: int) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(length))
        await send(part(b"hello"))

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        await line.hear_head()
        assert len(await line.hear_the_rest()) != length


EVIL = [b"x\r\nset-cookie: a=b", b"x\nset-cookie: a=b", b"x\rset-cookie: a=b", b"x\r\n\r\n<html>", b"x\n\r", b"x\r\n"]


@pytest.mark.parametrize("evil", EVIL)
@pytest.mark.parametrize("where", ["name", "value"])
@pytest.mark.parametrize("is_whole", [True, False])
async def test_a_header_with_a_new_line_in_it_is_never_written(evil: bytes, where: str, is_whole: bool) -> None:
    header = (evil, b"x") if where == "name" else (b"x-name", evil)

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(5, header))
        await send(part(b"hello", more=not is_whole))

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        await until(lambda: bool(line.other_end.written) or line.other_end.is_lost.is_set())

        written = b"".join(line.other_end.written)

    assert b"set-cookie" not in written
    assert b"html" not in written
    assert b"hello" not in written
    assert written.startswith(b"HTTP/1.1 500 ") or not written


async def test_an_answer_waits_for_a_client_who_does_not_read() -> None:
    much = b"x" * 8_000_000
    begun: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        begun.append(scope["path"])
        await answer(send, much)

    async with serving(app) as place:
        line = await place.call()
        line.throw(get("/1") + get("/2") + get("/3"))
        await until(lambda: begun == ["/1", "/2"])
        await asyncio.sleep(0.02)
        assert begun == ["/1", "/2"]
        assert len(line.other_end.written) == 1

        for _ in range(3):
            assert (await line.hear()).body == much
    assert begun == ["/1", "/2", "/3"]


async def test_an_answer_before_the_body_is_there_leaves_the_line_fit_for_the_next_request() -> None:
    async with serving(hello) as place:
        line = await place.call()
        await line.say(POST[:-5])
        assert (await line.hear()).body == b"hello"
        await line.say(POST[-5:])
        assert await line.is_silent()
        await line.say(get())
        assert (await line.hear()).body == b"hello"


# When a line ends


@pytest.mark.parametrize(
    "sent",
    [
        get("/", b"connection: close"),
        get("/", b"Connection: Close"),
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/1.0\r\nconnection: keep-alive\r\n\r\n",
        b"HEAD / HTTP/1.0\r\n\r\n",
    ],
)
@pytest.mark.parametrize("length", [5, None])
async def test_the_line_is_closed_after_the_answer_if_the_client_wants_it(sent: bytes, length: int | None) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(length))
        await send(part(b"hello"))

    async with serving(app) as place:
        line = await place.call()
        await line.say(sent)
        is_head = sent.startswith(b"HEAD")
        heard = await line.hear(is_head=is_head)
        assert heard.headers["connection"] == "close"
        assert heard.body == (b"" if is_head else b"hello")
        assert await line.hear_the_rest() == b""


async def test_an_idle_line_is_closed_after_its_time() -> None:
    async with serving(hello, keep_alive=0.1) as place:
        line = await place.call()
        await line.say(get())
        await line.hear()

        assert 0.08 < await _seconds(line.hear_the_rest()) < 1


async def _seconds(what: Awaitable[bytes]) -> float:
    """How long the line was silent before it was cut."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    assert await what == b""
    return loop.time() - began


async def test_a_line_is_idle_since_its_last_answer() -> None:
    async with serving(hello, keep_alive=0.25) as place:
        line = await place.call()
        for _ in range(2):
            await line.say(get())
            await line.hear()
            assert await line.is_silent(seconds=0.15)
        await line.say(get())
        await line.hear()

        assert 0.23 < await _seconds(line.hear_the_rest()) < 1


@pytest.mark.parametrize("before", [0, 2])
async def test_a_line_that_is_busy_is_not_idle_however_long_it_takes(before: int) -> None:
    app = Gated("/quick")
    async with serving(app, keep_alive=0.1) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(get("/quick"))
            await line.hear()
        await line.say(get("/slow"))
        assert await line.is_silent(seconds=0.25)
        app.let("/slow")
        assert (await line.hear()).body == b"/slow"

        assert 0.08 < await _seconds(line.hear_the_rest()) < 1


async def test_a_line_whose_request_waits_behind_another_is_not_idle() -> None:
    app = Gated("/1")
    async with serving(app, keep_alive=0.05) as place:
        line = await place.call()
        line.throw(get("/1") + get("/2"))
        assert (await line.hear()).body == b"/1"
        assert await line.is_silent(seconds=0.12)
        app.let("/2")
        assert (await line.hear()).body == b"/2"


async def test_a_line_in_the_middle_of_a_head_is_not_idle() -> None:
    async with serving(hello, keep_alive=0.1) as place:
        line = await place.call()
        await line.say(get())
        await line.hear()
        await line.say(get()[:10])
        assert await line.is_silent(seconds=0.15)
        await line.say(get()[10:])
        assert (await line.hear()).body == b"hello"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_HEAD_SECONDS", 0.1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("sent", [b"", b"\r\n", get()[:-1]])
@pytest.mark.parametrize("before", [0, 2])
async def test_a_head_that_does_not_come_is_hung_up_on(sent: bytes, before: int) -> None:
    async with serving(hello, keep_alive=0.1 if before and not sent else _LONG) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(get())
            await line.hear()
        if sent:
            await line.say(sent)

        assert 0.08 < await _seconds(line.hear_the_rest()) < 1


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("before", [0, 1])
async def test_a_head_that_trickles_gains_no_time(before: int) -> None:
    async with serving(hello) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(get())
            await line.hear()
        loop = asyncio.get_running_loop()
        began = loop.time()
        line.throw(b"GET / HTTP/1.1\r\nx-a: ")
        while not line.other_end.is_lost.is_set():
            line.throw(b"x")
            await asyncio.sleep(0.02)
            assert loop.time() - began < 1

        assert loop.time() - began > 0.08


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("before", [0, 2])
async def test_a_head_that_has_come_is_not_waited_for_any_more(before: int) -> None:
    app = Gated("/quick")
    async with serving(app) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(get("/quick"))
            await line.hear()
        await line.say(get("/slow")[:5], get("/slow")[5:])
        assert await line.is_silent(seconds=0.15)
        app.let("/slow")
        assert (await line.hear()).body == b"/slow"
        assert await line.is_silent(seconds=0.15)  # Between two requests only the line's own time counts.


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("sent", [b"", get()[:-1]], ids=["idle", "in a head"])
@pytest.mark.parametrize("before", [0, 1])
async def test_a_line_that_has_ended_leaves_no_timer_behind(sent: bytes, before: int) -> None:
    async with serving(hello, keep_alive=0.1) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(get())
            await line.hear()
        await line.say(sent)
        await line.hang_up()
        await asyncio.sleep(0.12)
        assert line.other_end.went_off == 0


async def test_a_server_that_stops_answers_what_is_under_way_and_closes_its_lines() -> None:
    app = Gated("/quick")
    port = free_port()
    config = uvicorn.Config(app, port=port, http=Protocol, ws="none", lifespan="off", log_config=None)
    server = uvicorn.Server(config)
    serving_ = asyncio.create_task(server.serve())
    await until(lambda: server.started)
    idle, busy = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
    idle[1].write(get("/quick"))
    assert (await idle[0].readuntil(b"/quick")).startswith(b"HTTP/1.1 200 OK\r\ndate: ")
    busy[1].write(get("/slow"))
    await until(lambda: app.begun == ["/quick", "/slow"])

    server.should_exit = True
    async with asyncio.timeout(_LONG):
        assert await idle[0].read() == b""
        app.let("/slow")
        heard = await busy[0].read()
        await serving_

    assert heard.endswith(b"connection: close\r\n\r\n/slow")
    for _, writer in (idle, busy):
        writer.close()


# Those who ask first whether they may


EXPECTING = request("POST", "/thing", b"some words", headers=(b"expect: 100-continue",))
HEAD, BODY = EXPECTING[:-10], EXPECTING[-10:]


async def test_whoever_asks_whether_to_go_on_is_told_to_when_the_body_is_wanted() -> None:
    async with serving(echo) as place:
        line = await place.call()
        for _ in range(2):
            await line.say(HEAD)
            assert (await line.hear()).status == 100
            assert await line.is_silent()
            await line.say(BODY)
            assert (await line.hear()).json["body"] == "some words"


async def test_whoever_asks_whether_to_go_on_is_not_told_to_when_nobody_wants_the_body() -> None:
    async with serving(hello) as place:
        line = await place.call()
        await line.say(HEAD)
        assert (await line.hear()).status == 200
        assert await line.is_silent()


async def test_whoever_does_not_wait_to_be_told_is_not_told() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, scope[WHOLE_BODY])

    async with serving(app) as place:
        line = await place.call()
        await line.say(EXPECTING)
        heard = await line.hear()
        assert (heard.status, heard.body) == (200, b"some words")


async def test_one_request_that_asked_says_nothing_about_the_next() -> None:
    async with serving(echo) as place:
        line = await place.call()
        await line.say(HEAD)
        assert (await line.hear()).status == 100
        await line.say(BODY)
        assert (await line.hear()).status == 200
        await line.say(POST[:-10])
        assert await line.is_silent()
        await line.say(POST[-10:])
        assert (await line.hear()).status == 200


# Those who hang up


@pytest.mark.parametrize("sent", [b"", b"GET", get()[:-1]])
async def test_whoever_hangs_up_before_the_head_is_there_has_asked_for_nothing(sent: bytes) -> None:
    app = Gated()
    async with serving(app) as place:
        line = await place.call()
        await line.say(sent)
        await line.hang_up()
        await asyncio.sleep(0)
    assert app.begun == []


@pytest.mark.parametrize("sent", [get(), POST[:-5], CHUNKED[:-5]])
async def test_an_application_is_told_when_the_client_hangs_up(sent: bytes) -> None:
    told: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "http.disconnect":
            told.append(message["type"])
        told.append("the end")
        await answer(send, b"nobody hears this")

    async with serving(app) as place:
        line = await place.call()
        await line.say(sent)
        await until(lambda: told == ["http.request"])
        await line.hang_up()
        await until(lambda: told == ["http.request", "the end"])

        assert line.other_end.written == []


async def test_an_answer_to_one_who_has_hung_up_disturbs_nobody() -> None:
    app = Gated("/2")
    async with serving(app) as place:
        line, other = await place.call(), await place.call()
        line.throw(get("/1") + get("/2") + get("/3"))
        await until(lambda: app.begun == ["/1"])
        await line.hang_up()
        app.let("/1")
        await asyncio.sleep(0.01)
        assert app.begun == ["/1"]

        await other.say(get("/2"))
        assert (await other.hear()).body == b"/2"


# Applications that fail


async def _raise_at_once(send: Send) -> None:
    raise KeyError


async def _raise_after_the_start(send: Send) -> None:
    await send(start(5, (b"x-mine", b"1"), status=201))
    raise KeyError


async def _say_nothing(send: Send) -> None:
    pass


async def _say_nothing_after_the_start(send: Send) -> None:
    await send(start(5, (b"x-mine", b"1"), status=201))


@pytest.mark.parametrize("fail", [_raise_at_once, _raise_after_the_start, _say_nothing, _say_nothing_after_the_start])
@pytest.mark.parametrize("sent", [get(), POST, POST[:-5]])
async def test_an_application_that_fails_before_its_answer_is_there_is_a_500_and_nothing_else(
    fail: Callable[[Send], Awaitable[None]], sent: bytes
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await fail(send)

    async with serving(app) as place:
        line, other = await place.call(), await place.call()
        for each in (line, other):
            await each.say(sent)
            heard = await each.hear()
            assert (heard.status, heard.body) == (500, b"Internal Server Error")
            assert "x-mine" not in heard.headers
            assert await each.hear_the_rest() == b""


@pytest.mark.parametrize("length", [None, 12])
@pytest.mark.parametrize("is_raised", [True, False])
async def test_an_application_that_fails_in_the_middle_of_its_answer_is_cut_off(
    length: int | None, is_raised: bool
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(length))
        await send(part(b"first", more=True))
        if is_raised:
            raise KeyError

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        status, _ = await line.hear_head()
        assert status == 200
        assert await line.hear_the_rest() == (b"first" if length else b"5\r\nfirst\r\n")


async def test_an_application_that_fails_after_its_answer_has_answered() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"hello")
        raise KeyError

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        assert (await line.hear()).body == b"hello"
        assert await line.hear_the_rest() == b""


async def test_a_line_whose_body_never_comes_is_idle_once_it_is_answered() -> None:
    async with serving(hello, keep_alive=0.1) as place:
        line = await place.call()
        await line.say(POST[:-5])
        await line.hear()

        assert await line.hear_the_rest() == b""


async def _fail(scope: Scope, receive: Receive, send: Send) -> None:
    raise KeyError


@pytest.mark.parametrize("asked", [(), (b"connection: close",)], ids=["to stay", "to close"])
async def test_an_answer_that_says_close_is_the_last(asked: tuple[bytes, ...]) -> None:
    async with serving(_fail) as place:
        line = await place.call()
        await line.say(get("/", *asked))
        heard = await line.hear()

        assert (heard.status, heard.headers["connection"]) == (500, "close")
        assert await line.hear_the_rest() == b""


async def test_an_application_that_answers_twice_is_heard_once() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"one")
        await answer(send, b"two")

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())

        assert (await line.hear()).body == b"one"
        assert await line.hear_the_rest() == b""


async def test_an_application_may_leave_the_headers_out() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send(part(b"hello"))

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        heard = await line.hear()

        assert (heard.status, heard.body) == (200, b"hello")


async def test_half_a_head_behind_a_request_does_not_cost_it_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "_HEAD_SECONDS", 0.1)
    app = Gated()
    async with serving(app) as place:
        line = await place.call()
        line.throw(get("/1"))
        await until(lambda: app.begun == ["/1"])
        line.throw(get("/2")[:5])
        await asyncio.sleep(0.15)
        app.let("/1")

        assert (await line.hear()).body == b"/1"
        assert await line.hear_the_rest() == b""


@pytest.mark.parametrize("value", [b"a\0b", b"a\x7fb", b"a\x0bb"])
async def test_a_header_with_a_control_character_is_never_written(value: bytes) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"hello", (b"x-a", value))

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())

        assert value not in await line.hear_the_rest()


async def test_an_answer_that_waits_for_the_end_of_its_turn_leaves_before_a_refusal_and_before_the_end() -> None:
    lines: list[Line] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"one")
        # In the same turn: what follows is no HTTP, or we are being stopped.
        lines[-1].other_end.data_received(b"nonsense") if scope["path"] == "/refuse" else lines[-1].other_end.shutdown()

    async with serving(app) as place:
        for path in ("/refuse", "/stop"):
            line = await place.call()
            lines.append(line)
            line.throw(get(path))

            assert (await line.hear()).body == b"one"
            assert (await line.hear_the_rest()).startswith(b"HTTP/1.1 400 " if path == "/refuse" else b"")
