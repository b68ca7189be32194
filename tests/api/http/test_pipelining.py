"""Several requests on one connection before the first is answered: each is answered, in their order."""

import asyncio

import pytest

from malipo.api.http import timeouts
from tests.api.http.applications import CHUNKED, POST, Gated, echo, get, hello
from tests.api.http.connections import serving, until
from tests.api.raw_http import request


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

        assert [(await line.read_answer()).body.decode() for _ in paths] == paths
        assert app.begun == paths
        await line.say(get("/1"))  # And the line is as good as before.
        assert (await line.read_answer()).body == b"/1"


async def test_a_line_is_read_again_after_requests_in_one_packet_that_nobody_reads() -> None:
    async with serving(hello) as place:
        line = await place.call()
        line.throw(get() * 3)
        for _ in range(3):
            assert (await line.read_answer()).body == b"hello"
        await line.say(get())
        assert (await line.read_answer()).body == b"hello"


async def test_requests_with_bodies_in_one_packet_get_each_their_own() -> None:
    async with serving(echo) as place:
        line = await place.call()
        line.throw(b"".join(request("POST", f"/{each}", b"%d" % each * 10) for each in range(3)))

        for each in range(3):
            answer = (await line.read_answer()).json
            assert (answer["asked"], answer["body"]) == (f"POST /{each}", str(each) * 10)


@pytest.mark.parametrize("is_answered_first", [False, True])
async def test_the_body_of_a_request_behind_another_may_come_later(is_answered_first: bool) -> None:
    app = Gated("/thing")
    async with serving(app) as place:
        line = await place.call()
        line.throw(get("/slow") + POST[:-3])
        await until(lambda: app.begun == ["/slow"])
        if is_answered_first:
            app.let("/slow")
            assert (await line.read_answer()).body == b"/slow"
            assert await line.is_silent()
            line.throw(POST[-3:])
        else:
            line.throw(POST[-3:])
            assert await line.is_silent()
            app.let("/slow")
            assert (await line.read_answer()).body == b"/slow"

        assert (await line.read_answer()).body == b"/thing"
        assert app.bodies == [b"", b"some words"]


async def test_nothing_behind_a_request_that_closes_the_line_is_begun() -> None:
    app = Gated("/1", "/2")
    async with serving(app) as place:
        line = await place.call()
        line.throw(get("/1", b"connection: close") + get("/2"))

        assert (await line.read_answer()).body == b"/1"
        assert await line.read_rest() == b""
    assert app.begun == ["/1"]


async def test_half_a_head_behind_a_request_does_not_cost_it_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeouts, "HEAD_SECONDS", 0.1)
    app = Gated()
    async with serving(app) as place:
        line = await place.call()
        line.throw(get("/1"))
        await until(lambda: app.begun == ["/1"])
        line.throw(get("/2")[:5])
        await asyncio.sleep(0.15)
        app.let("/1")

        assert (await line.read_answer()).body == b"/1"
        assert await line.read_rest() == b""


async def test_requests_behind_one_that_is_being_answered_are_not_parsed() -> None:
    app = Gated("/x")
    async with serving(app) as place:
        line = await place.call()
        line.throw(get("/slow") + get("/x") * 1000)
        assert await line.is_silent(seconds=0.1)
        assert line.other_end.parsed == 1

        app.let("/slow")
        assert (await line.read_answer()).body == b"/slow"
        for _ in range(1000):
            assert (await line.read_answer()).body == b"/x"


async def test_a_line_is_not_read_while_much_waits_behind_an_answer() -> None:
    long = request("GET", "/x", headers=(b"x-long: " + b"x" * 30_000,))
    app = Gated("/x")
    async with serving(app) as place:
        line = await place.call()
        line.throw(get("/slow") + long * 400)
        assert await line.is_silent(seconds=0.1)
        assert line.other_end.received_bytes < 1_000_000

        app.let("/slow")
        assert (await line.read_answer()).body == b"/slow"
        for _ in range(400):
            assert (await line.read_answer()).body == b"/x"


ALL_KINDS = get("/1") + POST + CHUNKED + request("POST", "/4", b"\r\n\r\n") + get("/5")


async def test_requests_may_be_cut_anywhere() -> None:
    async with serving(echo) as place:
        line = await place.call()
        for cut in range(1, len(ALL_KINDS)):
            line.throw(ALL_KINDS[:cut])
            await asyncio.sleep(0)
            line.throw(ALL_KINDS[cut:])
            answer = [(await line.read_answer()).json for _ in range(5)]
            assert [(each["asked"], each["body"]) for each in answer] == [
                ("GET /1", ""),
                ("POST /thing", "some words"),
                ("POST /thing", "some words"),
                ("POST /4", "\r\n\r\n"),
                ("GET /5", ""),
            ]


async def test_no_request_is_parsed_before_the_one_before_it_is_answered_wherever_they_are_cut() -> None:
    both = get("/slow") + get("/x")
    for cut in range(1, len(both)):
        app = Gated("/x")
        async with serving(app) as place:
            line = await place.call()
            await line.say(both[:cut], both[cut:])
            await until(lambda: app.begun == ["/slow"])  # noqa: B023
            assert line.other_end.parsed == 1
            app.let("/slow")
            assert [(await line.read_answer()).body for _ in range(2)] == [b"/slow", b"/x"]
