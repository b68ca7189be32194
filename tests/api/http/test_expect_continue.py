"""Those who ask first whether they may send the body (Expect: 100-continue)."""

from starlette.types import Receive, Scope, Send

from malipo.api.http.protocol import WHOLE_BODY
from tests.api.http.applications import POST, answer, echo, hello
from tests.api.http.connections import serving
from tests.api.raw_http import request

EXPECTING = request("POST", "/thing", b"some words", headers=(b"expect: 100-continue",))
HEAD, BODY = EXPECTING[:-10], EXPECTING[-10:]


async def test_whoever_asks_whether_to_go_on_is_told_to_when_the_body_is_wanted() -> None:
    async with serving(echo) as place:
        line = await place.call()
        for _ in range(2):
            await line.say(HEAD)
            assert (await line.read_answer()).status == 100
            assert await line.is_silent()
            await line.say(BODY)
            assert (await line.read_answer()).json["body"] == "some words"


async def test_whoever_asks_whether_to_go_on_is_not_told_to_when_nobody_wants_the_body() -> None:
    async with serving(hello) as place:
        line = await place.call()
        await line.say(request("POST", "/thing", b"x" * 100_000, headers=(b"expect: 100-continue",))[:-100_000])
        assert (await line.read_answer()).status == 200
        assert await line.is_silent()


async def test_whoever_asks_behind_another_request_is_told_after_its_answer() -> None:
    async with serving(echo) as place:
        line = await place.call()
        await line.say(POST + HEAD)
        assert (await line.read_answer()).json["body"] == "some words"
        assert (await line.read_answer()).status == 100
        await line.say(BODY)
        assert (await line.read_answer()).json["body"] == "some words"


async def test_whoever_does_not_wait_to_be_told_is_not_told() -> None:
    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await answer(send, scope[WHOLE_BODY])

    async with serving(app) as place:
        line = await place.call()
        await line.say(EXPECTING)
        answers = await line.read_answer()
        assert (answers.status, answers.body) == (200, b"some words")


async def test_one_request_that_asked_says_nothing_about_the_next() -> None:
    async with serving(echo) as place:
        line = await place.call()
        await line.say(HEAD)
        assert (await line.read_answer()).status == 100
        await line.say(BODY)
        assert (await line.read_answer()).status == 200
        await line.say(POST[:-10])
        assert await line.is_silent()
        await line.say(POST[-10:])
        assert (await line.read_answer()).status == 200
