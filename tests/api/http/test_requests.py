"""A request over a real socket: in whatever packets it comes, it is read whole, and its body is its own."""

import pytest
from starlette.types import Receive, Scope, Send

from malipo.api.http.protocol import WHOLE_BODY
from malipo.http.body_limit import MOST_BODY_BYTES
from tests.api.http.applications import CHUNKED, POST, Gated, answer, body_of, echo, get, hello
from tests.api.http.connections import serving
from tests.api.raw_http import request


@pytest.mark.parametrize("sent", [POST, CHUNKED], ids=["with a length", "in chunks"])
async def test_a_body_that_comes_with_its_head_is_in_the_scope(sent: bytes) -> None:
    async with serving(echo) as place:
        line = await place.call()
        await line.say(sent)

        assert (await line.read_answer()).json == {"asked": "POST /thing", "body": "some words", "whole": "some words"}


async def test_a_request_without_a_body_has_an_empty_one_in_the_scope() -> None:
    async with serving(echo) as place:
        line = await place.call()
        await line.say(get("/thing"))

        assert (await line.read_answer()).json == {"asked": "GET /thing", "body": "", "whole": ""}


@pytest.mark.parametrize("sent", [POST, CHUNKED], ids=["with a length", "in chunks"])
@pytest.mark.parametrize("with_the_head", [0, 1, 9])
async def test_a_body_that_comes_later_is_waited_for_and_is_in_the_scope_too(sent: bytes, with_the_head: int) -> None:
    at = sent.index(b"\r\n\r\n") + 4 + with_the_head
    async with serving(echo) as place:
        line = await place.call()
        await line.say(sent[:at])
        assert await line.is_silent()
        await line.say(sent[at:])

        assert (await line.read_answer()).json == {"asked": "POST /thing", "body": "some words", "whole": "some words"}


@pytest.mark.parametrize("sent", [POST, CHUNKED], ids=["with a length", "in chunks"])
async def test_an_application_does_not_begin_before_the_whole_body_is_there(sent: bytes) -> None:
    """It reads who may do what as the first thing: nobody may put anything between that and the act."""
    app = Gated("/thing")
    async with serving(app) as place:
        line = await place.call()
        await line.say(sent[:-1])
        assert await line.is_silent()
        assert app.begun == []
        await line.say(sent[-1:])

        assert (await line.read_answer()).body == b"/thing"


@pytest.mark.parametrize(
    "sent",
    [
        request("POST", "/", b"x" * (MOST_BODY_BYTES + 1))[: -MOST_BODY_BYTES - 1],
        request("POST", "/", headers=(b"transfer-encoding: chunked",)) + b"10001\r\n" + b"x" * (MOST_BODY_BYTES + 1),
    ],
    ids=["with a length", "in chunks"],
)
async def test_a_body_that_is_too_large_is_not_waited_for(sent: bytes) -> None:
    async with serving(hello) as place:
        line = await place.call()
        await line.say(sent)

        assert (await line.read_answer()).body == b"hello"


async def test_the_largest_body_is_waited_for_and_read_whole() -> None:
    sent = request("POST", "/", b"x" * MOST_BODY_BYTES)
    async with serving(echo) as place:
        line = await place.call()
        await line.say(sent[:-1], sent[-1:])

        assert (await line.read_answer()).json["whole"] == "x" * MOST_BODY_BYTES


@pytest.mark.parametrize("sent", [POST, CHUNKED], ids=["with a length", "in chunks"])
async def test_a_request_may_come_byte_by_byte(sent: bytes) -> None:
    async with serving(echo) as place:
        line = await place.call()
        for _ in range(2):
            await line.say(*(sent[at : at + 1] for at in range(len(sent))))
            assert (await line.read_answer()).json == {
                "asked": "POST /thing",
                "body": "some words",
                "whole": "some words",
            }


async def test_a_line_carries_one_request_after_the_other() -> None:
    async with serving(echo) as place:
        line = await place.call()
        for number in range(20):
            sent = request("POST", f"/{number}", b"%d" % number)
            await line.say(*([sent] if number % 2 else [sent[:-1], sent[-1:]]))
            answers = (await line.read_answer()).json
            assert answers["asked"] == f"POST /{number}"
            assert answers["body"] == str(number)
            assert answers["whole"] == str(number)


async def test_an_application_is_told_what_was_asked_and_by_whom() -> None:
    seen: list[Scope] = []

    async def look(scope: Scope, receive: Receive, send: Send) -> None:
        seen.append(scope)
        await answer(send, b"")

    async with serving(look) as place:
        line = await place.call()
        await line.say(request("PUT", "/caf%C3%A9/a?b=%20c&d", b"", headers=(b"X-Some: Thing", b"x-some:  other")))
        await line.read_answer()
        ends = line.ends

    (scope,) = seen
    reported = {name: scope[name] for name in ("type", "method", "path", "raw_path", "query_string", "http_version")}
    assert reported == {
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

        answers = await line.read_answer()
        assert answers.body == b"None \xff"
        assert answers.headers["connection"] == "close"
        assert await line.read_rest() == b""


async def echo_bytes(scope: Scope, receive: Receive, send: Send) -> None:
    whole = scope.get(WHOLE_BODY)
    await answer(send, b"%b %b" % (str(whole).encode(), await body_of(receive)))
