"""Answers over a real socket: what is written, in how many parts, and what is never written."""

import asyncio

import pytest
from starlette.types import Receive, Scope, Send

from tests.api.http.applications import CHUNKED, POST, answer, body_of, echo, get, hello, part, start
from tests.api.http.connections import Line, serving, until
from tests.api.raw_http import request


async def test_a_short_answer_is_one_write() -> None:
    async with serving(echo) as place:
        line = await place.call()
        for sent in (POST, CHUNKED, get(), get("/", b"connection: close")):
            line.other_end.written.clear()
            line.throw(sent)
            assert (await line.read_answer()).status == 200
            assert len(line.other_end.written) == 1


@pytest.mark.parametrize("status", [200, 201, 204, 404, 503])
async def test_an_answer_is_what_the_application_said_and_nothing_else(status: int) -> None:
    body = b"" if status == 204 else b"words\r\n\r\nHTTP/1.1"

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, body, (b"x-one", b"1"), (b"x-two", "é".encode("latin-1")), status=status)

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        answers = await line.read_answer()

    assert (answers.status, answers.body) == (status, body)
    assert answers.headers == {"content-length": str(len(body)), "x-one": "1", "x-two": "é"}


@pytest.mark.parametrize("length", [5, None])
async def test_the_answer_to_head_has_no_body(length: int | None) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(length))
        await send(part(b"hello"))

    async with serving(app) as place:
        line = await place.call()
        for _ in range(2):
            await line.say(request("HEAD", "/"))
            answers = await line.read_answer(is_head=True)
            assert answers.headers.get("content-length") == (None if length is None else "5")
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
            _, headers = await line.read_head()
            assert headers == ({"transfer-encoding": "chunked"} if length is None else {"content-length": "12"})
            assert (await line.read_chunk() if length is None else await line.read_bytes(5)) == b"first"
            assert await line.is_silent()
            go_on.set()
            rest = [await line.read_chunk(), await line.read_chunk()] if length is None else [await line.read_bytes(7)]
            assert b"".join(rest) == b" second"


async def test_a_whole_answer_without_a_length_is_chunked() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(None))
        await send(part(b"hello"))

    async with serving(app) as place:
        line = await place.call()
        for _ in range(2):
            await line.say(get())
            answers = await line.read_answer()
            assert (answers.headers, answers.body) == ({"transfer-encoding": "chunked"}, b"hello")


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
        assert (await line.read_answer()).body == b"hello"
        assert await line.is_silent()
        go_on.set()
        assert (await line.read_answer()).body == b"hello"
        assert await line.is_silent()


async def test_an_application_that_listens_while_it_answers_hears_that_it_has_answered() -> None:
    answers: list[str] = []

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await body_of(receive)
        listening = asyncio.ensure_future(receive())
        await asyncio.sleep(0)
        await answer(send, b"hello")
        answers.append((await listening)["type"])

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        assert (await line.read_answer()).body == b"hello"
        await until(lambda: answers == ["http.disconnect"])


@pytest.mark.parametrize("length", [3, 7])
async def test_an_answer_of_another_length_than_it_says_is_never_taken_for_whole(length: int) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send(start(length))
        await send(part(b"hello"))

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        await line.read_head()
        assert len(await line.read_rest()) != length


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
            assert (await line.read_answer()).body == much
    assert begun == ["/1", "/2", "/3"]


async def test_an_answer_before_the_body_is_there_leaves_the_line_fit_for_the_next_request() -> None:
    async with serving(hello) as place:
        line = await place.call()
        large = request("POST", "/thing", b"x" * 100_000)
        await line.say(large[:-99_995])
        assert (await line.read_answer()).body == b"hello"
        await line.say(large[-99_995:])
        assert await line.is_silent()
        await line.say(get())
        assert (await line.read_answer()).body == b"hello"


async def test_an_application_that_answers_twice_is_heard_once() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"one")
        await answer(send, b"two")

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())

        assert (await line.read_answer()).body == b"one"
        assert await line.read_rest() == b""


async def test_an_application_may_leave_the_headers_out() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200})
        await send(part(b"hello"))

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        answers = await line.read_answer()

        assert (answers.status, answers.body) == (200, b"hello")


@pytest.mark.parametrize("value", [b"a\0b", b"a\x7fb", b"a\x0bb"])
async def test_a_header_with_a_control_character_is_never_written(value: bytes) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"hello", (b"x-a", value))

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())

        assert value not in await line.read_rest()


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

            assert (await line.read_answer()).body == b"one"
            assert (await line.read_rest()).startswith(b"HTTP/1.1 400 " if path == "/refuse" else b"")
