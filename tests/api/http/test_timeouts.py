"""When a connection is cut because nothing comes: idle ones, and heads and bodies that do not arrive."""

import asyncio
from collections.abc import Awaitable

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send

from malipo.api.http import timeouts
from malipo.errors import BodyTooSlow
from tests.api.http.applications import CHUNKED, POST, Gated, answer, body_of, get, hello, part, start
from tests.api.http.connections import LONG, serving, until
from tests.api.raw_http import request

# Its body is not waited for, and does not come.
TOO_LARGE = request("POST", "/thing", b"x" * 100_000)[:-99_995]


async def test_an_idle_line_is_closed_after_its_time() -> None:
    async with serving(hello, keep_alive=0.1) as place:
        line = await place.call()
        since = _now()
        await line.say(get())
        await line.read_answer()

        assert await _cut_within(line.read_rest(), since, least=0.08)


async def _cut_within(what: Awaitable[bytes], since: float, *, least: float) -> bool:
    """Whether the line was cut not before its time, counted from before that time began, and long before another one."""
    assert await what == b""
    return least < _now() - since < LONG / 2


def _now() -> float:
    return asyncio.get_running_loop().time()


async def test_a_line_is_idle_since_its_last_answer() -> None:
    async with serving(hello, keep_alive=0.25) as place:
        line = await place.call()
        for _ in range(2):
            await line.say(get())
            await line.read_answer()
            assert await line.is_silent(seconds=0.15)
        since = _now()
        await line.say(get())
        await line.read_answer()

        assert await _cut_within(line.read_rest(), since, least=0.23)


@pytest.mark.parametrize("before", [0, 2])
async def test_a_line_that_is_busy_is_not_idle_however_long_it_takes(before: int) -> None:
    app = Gated("/quick")
    async with serving(app, keep_alive=0.1) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(get("/quick"))
            await line.read_answer()
        await line.say(get("/slow"))
        assert await line.is_silent(seconds=0.25)
        since = _now()
        app.let("/slow")
        assert (await line.read_answer()).body == b"/slow"

        assert await _cut_within(line.read_rest(), since, least=0.08)


async def test_a_line_whose_request_waits_behind_another_is_not_idle() -> None:
    app = Gated("/1")
    async with serving(app, keep_alive=0.05) as place:
        line = await place.call()
        line.throw(get("/1") + get("/2"))
        assert (await line.read_answer()).body == b"/1"
        assert await line.is_silent(seconds=0.12)
        app.let("/2")
        assert (await line.read_answer()).body == b"/2"


async def test_a_line_in_the_middle_of_a_head_is_not_idle() -> None:
    async with serving(hello, keep_alive=0.1) as place:
        line = await place.call()
        await line.say(get())
        await line.read_answer()
        await line.say(get()[:10])
        assert await line.is_silent(seconds=0.15)
        await line.say(get()[10:])
        assert (await line.read_answer()).body == b"hello"


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "HEAD_SECONDS", 0.1)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("sent", [b"", b"\r\n", get()[:-1]])
@pytest.mark.parametrize("before", [0, 2])
async def test_a_head_that_does_not_come_is_hung_up_on(sent: bytes, before: int) -> None:
    async with serving(hello, keep_alive=0.1 if before and not sent else LONG) as place:
        since = _now()
        line = await place.call()
        for _ in range(before):
            since = _now()
            await line.say(get())
            await line.read_answer()
        if sent:
            since = _now()
            await line.say(sent)

        assert await _cut_within(line.read_rest(), since, least=0.08)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("before", [0, 1])
async def test_a_head_that_trickles_gains_no_time(before: int) -> None:
    async with serving(hello) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(get())
            await line.read_answer()
        loop = asyncio.get_running_loop()
        began = loop.time()
        line.throw(b"GET / HTTP/1.1\r\nx-a: ")
        while not line.other_end.is_lost.is_set():
            line.throw(b"x")
            await asyncio.sleep(0.02)
            assert loop.time() - began < LONG

        assert loop.time() - began > 0.08


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("before", [0, 2])
async def test_a_head_that_has_come_is_not_waited_for_any_more(before: int) -> None:
    app = Gated("/quick")
    async with serving(app) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(get("/quick"))
            await line.read_answer()
        await line.say(get("/slow")[:5], get("/slow")[5:])
        assert await line.is_silent(seconds=0.15)
        app.let("/slow")
        assert (await line.read_answer()).body == b"/slow"
        assert await line.is_silent(seconds=0.15)  # Between two requests only the line's own time counts.


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("sent", [b"", get()[:-1]], ids=["idle", "in a head"])
@pytest.mark.parametrize("before", [0, 1])
async def test_a_line_that_has_ended_leaves_no_timer_behind(sent: bytes, before: int) -> None:
    async with serving(hello, keep_alive=0.1) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(get())
            await line.read_answer()
        await line.say(sent)
        await line.hang_up()
        await asyncio.sleep(0.12)
        assert line.other_end.went_off == 0


async def test_a_line_whose_body_never_comes_is_idle_once_it_is_answered() -> None:
    async with serving(hello, keep_alive=0.1) as place:
        line = await place.call()
        await line.say(TOO_LARGE)
        await line.read_answer()

        assert await line.read_rest() == b""


@pytest.fixture
def no_patience_for_bodies(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "BODY_SECONDS", 0.1)


async def _say_that_it_is_late(scope: Scope, receive: Receive, send: Send) -> None:
    try:
        await body_of(receive)
    except BodyTooSlow:
        await answer(send, b"late", status=408)
    else:
        await answer(send, b"here")


@pytest.mark.usefixtures("no_patience_for_bodies")
@pytest.mark.parametrize("sent", [POST[:-10], POST[:-5], CHUNKED[:-5]], ids=["no body", "half a body", "chunks"])
@pytest.mark.parametrize("before", [0, 2])
async def test_a_body_that_does_not_come_is_refused_and_the_line_closed(sent: bytes, before: int) -> None:
    async with serving(_say_that_it_is_late) as place:
        line = await place.call()
        for _ in range(before):
            await line.say(POST)
            assert (await line.read_answer()).body == b"here"
        await line.say(sent)

        answers = await line.read_answer()
        assert (answers.status, answers.headers["connection"]) == (408, "close")
        assert await line.read_rest() == b""


@pytest.mark.usefixtures("no_patience_for_bodies")
async def test_a_body_that_trickles_gains_no_time() -> None:
    async with serving(_say_that_it_is_late) as place:
        line = await place.call()
        line.throw(request("POST", "/", b"x" * 10_000)[:-10_000])
        while not line.other_end.is_lost.is_set():
            line.throw(b"x")
            await asyncio.sleep(0.02)

        # What is sent to a closed line takes what it had said along: we look at what it wrote.
        assert b"".join(line.other_end.written).startswith(b"HTTP/1.1 408 ")


@pytest.mark.usefixtures("no_patience_for_bodies")
async def test_a_line_whose_body_nobody_waits_for_is_closed_after_the_body_s_time() -> None:
    async with serving(hello) as place:
        line = await place.call()
        await line.say(TOO_LARGE)
        assert (await line.read_answer()).body == b"hello"

        assert await line.read_rest() == b""


@pytest.mark.usefixtures("no_patience_for_bodies")
async def test_a_body_that_has_come_is_not_waited_for_any_more() -> None:
    app = Gated()
    async with serving(app) as place:
        line = await place.call()
        await line.say(POST[:-5], POST[-5:])
        assert await line.is_silent(seconds=0.2)
        app.let("/thing")
        assert (await line.read_answer()).body == b"/thing"


# Those who do not read


@pytest.fixture
def no_patience_for_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "WRITE_SECONDS", 0.1)


MUCH = b"x" * 8_000_000


async def _in_parts(scope: Scope, receive: Receive, send: Send) -> None:
    await send(start(None))
    for _ in range(10):
        await send(part(MUCH, more=True))
    await send(part(b""))


async def _at_once(scope: Scope, receive: Receive, send: Send) -> None:
    await answer(send, MUCH)


@pytest.mark.usefixtures("no_patience_for_readers")
@pytest.mark.parametrize("app", [_in_parts, _at_once], ids=["a download", "one answer"])
@pytest.mark.parametrize("asked", [(), (b"connection: close",)], ids=["to stay", "to close"])
async def test_whoever_does_not_read_an_answer_is_cut_off(app: ASGIApp, asked: tuple[bytes, ...]) -> None:
    async with serving(app) as place:
        line = await place.call()
        await line.say(get("/", *asked))

        await until(line.other_end.is_lost.is_set)


async def test_whoever_reads_slowly_but_reads_gets_all_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        timeouts, "WRITE_SECONDS", 2
    )  # longer than a busy machine stops, and shorter than all of it takes
    async with serving(_in_parts) as place:
        line = await place.call()
        await line.say(get())
        await line.read_head()
        for _ in range(10):
            assert await line.read_chunk() == MUCH
            await asyncio.sleep(0.25)
        assert await line.read_chunk() == b""
        assert await line.is_silent(seconds=0.4)
