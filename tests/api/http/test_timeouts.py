"""When a connection is cut because nothing comes: idle ones, and heads and bodies that do not arrive."""

import asyncio
from collections.abc import Awaitable

import pytest

from malipo.api import request_timeouts
from tests.api.http.applications import POST, Gated, get, hello
from tests.api.http.connections import LONG, serving


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
    monkeypatch.setattr(request_timeouts, "HEAD_SECONDS", 0.1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("sent", [b"", b"\r\n", get()[:-1]])
@pytest.mark.parametrize("before", [0, 2])
async def test_a_head_that_does_not_come_is_hung_up_on(sent: bytes, before: int) -> None:
    async with serving(hello, keep_alive=0.1 if before and not sent else LONG) as place:
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


async def test_a_line_whose_body_never_comes_is_idle_once_it_is_answered() -> None:
    async with serving(hello, keep_alive=0.1) as place:
        line = await place.call()
        await line.say(POST[:-5])
        await line.hear()

        assert await line.hear_the_rest() == b""
