"""A server that stops waits for bodies that are coming, and not for those that are withheld."""

import asyncio

import pytest

from malipo.api.http import timeouts
from tests.api.http.applications import CHUNKED, POST, Gated
from tests.api.http.connections import LONG, Line, serving
from tests.api.raw_http import request

NO_BODY = POST[: -len(b"some words")]
EXPECTING = request("POST", "/thing", b"some words", headers=(b"expect: 100-continue",))[: -len(b"some words")]
LARGE = request("POST", "/thing", b"x" * 20_000)


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "STALLED_SECONDS", 0.5)


async def _is_let_go(line: Line) -> bool:
    answer = await line.read_answer()
    assert (answer.status, answer.headers["x-error-code"]) == (503, "unavailable")
    assert answer.headers["connection"] == "close"
    return await line.read_rest() == b""


@pytest.mark.parametrize("sent", [NO_BODY, POST[:-1], CHUNKED[:-1], LARGE[:-1]])
async def test_a_request_whose_body_does_not_come_does_not_keep_a_server_from_stopping(sent: bytes) -> None:
    app = Gated("/thing")
    async with serving(app) as place:
        line = await place.call()
        await line.say(sent)
        line.other_end.shutdown()

        assert await _is_let_go(line)
        assert app.begun == []


async def test_nor_does_one_whose_body_was_asked_for() -> None:
    async with serving(Gated("/thing")) as place:
        line = await place.call()
        await line.say(EXPECTING)
        assert (await line.read_answer()).status == 100
        line.other_end.shutdown()

        assert await _is_let_go(line)


@pytest.mark.parametrize("is_new", [False, True])
async def test_nor_does_one_whose_head_comes_while_the_server_stops(is_new: bool) -> None:
    async with serving(Gated("/thing")) as place:
        line = await place.call()
        line.other_end.shutdown()
        line = await place.call() if is_new else line
        await line.say(NO_BODY)

        assert await _is_let_go(line)


async def test_nor_does_one_whose_body_comes_byte_by_byte() -> None:
    app = Gated("/thing")
    async with serving(app) as place:
        line = await place.call()
        await line.say(LARGE[:-10_000])
        line.other_end.shutdown()
        async with asyncio.timeout(LONG):
            while not line.other_end.is_lost.is_set():
                line.throw(b"x")
                await asyncio.sleep(0.02)

        assert app.begun == []


async def test_a_body_that_is_coming_gets_its_time_and_is_answered_as_the_last() -> None:
    app = Gated("/thing")
    async with serving(app) as place:
        line = await place.call()
        await line.say(LARGE[:-20_000])
        line.other_end.shutdown()
        for _ in range(10):  # twice as long as somebody may be silent
            await asyncio.sleep(0.1)
            await line.say(b"x" * 2000)

        answer = await line.read_answer()
        assert (answer.body, answer.headers["connection"]) == (b"/thing", "close")
        assert app.bodies == [b"x" * 20_000]
        assert await line.read_rest() == b""


@pytest.mark.parametrize("sent", [POST, CHUNKED])
async def test_what_was_received_whole_is_answered_however_long_it_takes(sent: bytes) -> None:
    app = Gated()
    async with serving(app) as place:
        line = await place.call()
        await line.say(sent[:-3])
        line.other_end.shutdown()
        await line.say(sent[-3:])
        assert await line.is_silent(seconds=0.8)
        app.let("/thing")

        answer = await line.read_answer()
        assert (answer.body, answer.headers["connection"]) == (b"/thing", "close")
