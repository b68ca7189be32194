"""Connections that end: because either side wants it, because the client hangs up, because the server stops."""

import asyncio
import ipaddress

import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from malipo.api.http import timeouts
from malipo.api.http.protocol import Protocol
from tests.api.http.applications import CHUNKED, POST, Gated, answer, get, part, start
from tests.api.http.connections import LONG, serving, until
from tests.api.raw_http import request
from tests.conftest import free_port

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
        answers = await line.read_answer(is_head=is_head)
        assert answers.headers["connection"] == "close"
        assert answers.body == (b"" if is_head else b"hello")
        assert await line.read_rest() == b""


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
    async with asyncio.timeout(LONG):
        assert await idle[0].read() == b""
        app.let("/slow")
        answers = await busy[0].read()
        await serving_

    assert answers.endswith(b"connection: close\r\n\r\n/slow")
    for _, writer in (idle, busy):
        writer.close()


@pytest.mark.parametrize("before", [0, 1])
async def test_what_was_sent_before_the_server_stopped_is_answered_as_the_last(before: int) -> None:
    async with serving(Gated("/x")) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(get("/x"))
            await line.read_answer()
        line.throw(get("/x"))  # It is in the socket, and nobody has read it.
        line.other_end.shutdown()

        answers = await line.read_answer()
        assert (answers.body, answers.headers["connection"]) == (b"/x", "close")
        assert await line.read_rest() == b""


async def test_a_line_that_the_server_gets_while_it_stops_is_answered_once_and_closed() -> None:
    async with serving(Gated("/x")) as place:
        (await place.call()).other_end.shutdown()
        line = await place.call()
        await line.say(get("/x"))

        assert (await line.read_answer()).headers["connection"] == "close"
        assert await line.read_rest() == b""


async def test_an_idle_line_of_a_trusted_proxy_is_kept_for_its_next_request_which_is_the_last() -> None:
    """A proxy sends the next payment on it at any moment, and does not repeat one that we did not answer."""
    async with serving(Gated("/x")) as place:
        lines = [await place.call() for _ in range(2)]
        limits = lines[0].other_end._limits
        limits.proxies = (ipaddress.IPv4Network("127.0.0.1/32"),)
        for line in lines:
            line.other_end.shutdown()
        await asyncio.sleep(2 * timeouts.LAST_REQUEST_SECONDS)
        await lines[0].say(get("/x"))
        assert (await lines[0].read_answer()).headers["connection"] == "close"
        assert await lines[0].read_rest() == b""
        began = asyncio.get_running_loop().time()
        assert await lines[1].read_rest() == b"", "the other one ends too"
        assert asyncio.get_running_loop().time() - began < timeouts.PROXY_LAST_REQUEST_SECONDS


async def test_idle_lines_and_half_heads_do_not_keep_a_server_from_stopping() -> None:
    async with serving(Gated("/x")) as place:
        for sent in (b"", get("/x")[:-1]):
            line = await place.call()
            await line.say(sent)
            line.other_end.shutdown()

            assert await line.read_rest() == b""


# Those who hang up


@pytest.mark.parametrize("sent", [b"", b"GET", get()[:-1], POST[:-5], CHUNKED[:-5]])
async def test_whoever_hangs_up_before_the_request_is_there_has_asked_for_nothing(sent: bytes) -> None:
    app = Gated()
    async with serving(app) as place:
        line = await place.call()
        await line.say(sent)
        await line.hang_up()
        await asyncio.sleep(0)
    assert app.begun == []


@pytest.mark.parametrize("sent", [get(), POST, CHUNKED, request("POST", "/", b"x" * 100_000)[:-99_995]])
async def test_an_application_is_told_when_the_client_hangs_up(sent: bytes) -> None:
    reported: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        while (message := await receive())["type"] != "http.disconnect":
            reported.append(message["type"])
        reported.append("the end")
        await answer(send, b"nobody hears this")

    async with serving(app) as place:
        line = await place.call()
        await line.say(sent)
        await until(lambda: reported == ["http.request"])
        await line.hang_up()
        await until(lambda: reported == ["http.request", "the end"])

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
        assert (await other.read_answer()).body == b"/2"


async def _fail(scope: Scope, receive: Receive, send: Send) -> None:
    raise KeyError


@pytest.mark.parametrize("asked", [(), (b"connection: close",)], ids=["to stay", "to close"])
async def test_an_answer_that_says_close_is_the_last(asked: tuple[bytes, ...]) -> None:
    async with serving(_fail) as place:
        line = await place.call()
        await line.say(get("/", *asked))
        answers = await line.read_answer()

        assert (answers.status, answers.headers["connection"]) == (500, "close")
        assert await line.read_rest() == b""
