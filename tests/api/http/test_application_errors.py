"""Applications that fail, before their answer, in the middle of it or after it."""

from collections.abc import Awaitable, Callable

import pytest
from starlette.types import Receive, Scope, Send

from tests.api.http.applications import POST, answer, get, part, start
from tests.api.http.connections import serving
from tests.api.raw_http import request


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
@pytest.mark.parametrize("sent", [get(), POST, request("POST", "/", b"x" * 100_000)[:-99_995]])
async def test_an_application_that_fails_before_its_answer_is_there_is_a_500_and_nothing_else(
    fail: Callable[[Send], Awaitable[None]], sent: bytes
) -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await fail(send)

    async with serving(app) as place:
        line, other = await place.call(), await place.call()
        for each in (line, other):
            await each.say(sent)
            answers = await each.read_answer()
            assert (answers.status, answers.body) == (500, b"Internal Server Error")
            assert "x-mine" not in answers.headers
            assert await each.read_rest() == b""


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
        status, _ = await line.read_head()
        assert status == 200
        assert await line.read_rest() == (b"first" if length else b"5\r\nfirst\r\n")


async def test_an_application_that_fails_after_its_answer_has_answered() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, b"hello")
        raise KeyError

    async with serving(app) as place:
        line = await place.call()
        await line.say(get())
        assert (await line.read_answer()).body == b"hello"
        assert await line.read_rest() == b""
