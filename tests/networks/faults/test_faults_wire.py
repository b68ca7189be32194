"""Faults of the connection: silence, half an answer, nonsense. None of them fails a payment or sends it twice. Never a
failure, never a second sending."""

import asyncio
import gzip
from dataclasses import replace

import pytest

from malipo.networks.connector import Verdict
from malipo.networks.http.client import HttpClient
from tests.networks.faults.broken_replies import BROKEN, CUT_HEAD, EACH, check_lost, split
from tests.networks.hostile_bodies import UNREADABLE, WRONG_SHAPES
from tests.networks.payment_calls import CALLS, Call
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.networks.verdict_words import UNKNOWN

PAYMENTS = pytest.mark.parametrize("call", [call for call in CALLS if call.is_payment], ids=str)


@pytest.mark.parametrize("what", BROKEN)
async def test_a_reply_that_breaks_is_an_answer_not_heard(
    server: ScriptedServer, http_client: HttpClient, what: str
) -> None:
    for call in CALLS:
        call.let_in(server)
        # The library may put a question again on a line that died; a payment it may not.
        (server.expect if call.is_payment else server.always)(call.line, BROKEN[what])
        check_lost(await call.make(call.connect(server.port, http_client)), call)


@EACH
@pytest.mark.parametrize("after", [After.CLOSE, After.RESET])
async def test_a_reply_cut_anywhere_is_an_answer_not_heard(
    server: ScriptedServer, http_client: HttpClient, call: Call, after: After
) -> None:
    call.let_in(server)
    connector = call.connect(server.port, http_client)
    head, body = split(call.reply)
    whole = len(call.reply.sent)
    for length in (1, len(head) - 2, len(head) + 4, len(head) + 5, whole - len(body) // 2, whole - 1):
        server.always(call.line, Reply(call.reply.sent[:length], after))
        check_lost(await call.make(connector), call)
    if call.is_payment:
        assert len(server.on(call.line)) == 6


@EACH
async def test_good_news_shorter_than_announced_is_not_believed(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    """All of the JSON came, but not all of the bytes: who knows what the rest would have said."""
    call.let_in(server)
    _, body = split(call.reply)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    connector = call.connect(server.port, http_client)
    for sent in (
        head + b"Content-Length: %d\r\n\r\n" % (len(body) + 7) + body,
        head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n" % len(body) + body + b"\r\n",
    ):
        server.always(call.line, Reply(sent, After.CLOSE))
        check_lost(await call.make(connector), call)


@pytest.mark.parametrize("name", UNREADABLE | WRONG_SHAPES)
async def test_a_body_that_cannot_be_understood_says_nothing(
    server: ScriptedServer, http_client: HttpClient, name: str
) -> None:
    for call in CALLS:
        call.let_in(server)
        connector = call.connect(server.port, http_client)
        for status in ("201 Created", "400 Bad Request"):
            server.expect(call.line, http(status, (UNREADABLE | WRONG_SHAPES)[name]))
            answer = await call.make(connector)
            UNKNOWN.check(answer)
            assert answer.is_fault or name in WRONG_SHAPES, (call, answer)


@EACH
async def test_a_payment_does_not_follow_a_redirection(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    call.let_in(server)
    connector = call.connect(server.port, http_client)
    for status in (301, 302, 303, 307, 308):
        for place in ("/elsewhere/", f"http://127.0.0.1:{server.port}/elsewhere/", call.line.partition(" ")[2]):
            said = http(f"{status} Moved", "<html></html>", f"Location: {place}", media_type="text/html")
            server.expect(call.line, said)
            UNKNOWN.check(await call.make(connector))
    assert server.unexpected == []


async def test_silence_is_never_a_failure(http_client: HttpClient) -> None:
    """All kinds of it at once, for they take their time."""

    async def listen(call: Call, what: str, reply: Reply) -> str | None:
        async with ScriptedServer.opened() as server:
            call.let_in(server)
            server.always(call.line, reply)
            # Time enough for a token, for there are many at once and the machine may be busy.
            connector = call.connect(server.port, http_client, timeout_seconds=4)
            began = asyncio.get_running_loop().time()
            answer = await call.make(connector)
            took = asyncio.get_running_loop().time() - began
            is_right = answer.verdict is Verdict.UNKNOWN and answer.is_fault and answer.failure_code is None
            # The slowest of them would take half a minute to its end.
            is_in_time = 3.9 < took < connector.timeout_seconds + 20
            is_once = len(server.on(call.line)) == 1
            return None if is_right and is_in_time and is_once else f"{call}, {what}: {answer} after {took:.2f} s"

    def silences(reply: Reply) -> dict[str, Reply]:
        head, _ = split(reply)
        return {
            "not a word": Reply(after=After.HANG),
            "half a head": Reply(CUT_HEAD, After.HANG),
            "a head": Reply(head + b"\r\n\r\n", After.HANG),
            "all but a byte": Reply(reply.sent[:-1], After.HANG),
            "a byte now and then": replace(reply, piece=1, pause_seconds=0.05),
            "good report without an end": Reply(
                reply.sent.replace(b"\r\nContent-Length: ", b"\r\nX-Length: "), After.HANG
            ),
        }

    wrong = await asyncio.gather(
        *(listen(call, what, reply) for call in CALLS for what, reply in silences(call.reply).items())
    )
    assert [each for each in wrong if each] == []


@EACH
async def test_a_reply_without_end_is_given_up(server: ScriptedServer, http_client: HttpClient, call: Call) -> None:
    call.let_in(server)
    server.expect(call.line, Reply(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", After.POUR))
    check_lost(await call.make(call.connect(server.port, http_client, timeout_seconds=2)), call)
    assert server.poured < 64 * 2**20


async def test_a_late_reply_is_not_taken_for_the_next_payments(http_client: HttpClient) -> None:
    """All at once, for they take their time."""

    async def try_one(call: Call) -> None:
        async with ScriptedServer.opened() as server:
            gate = asyncio.Event()
            call.let_in(server)
            server.expect(call.line, replace(call.reply, held_by=gate), Reply(after=After.CLOSE))
            connector = call.connect(server.port, http_client, timeout_seconds=3)
            check_lost(await call.make(connector), call)
            gate.set()
            await asyncio.sleep(0.05)
            check_lost(await call.make(connector), call)

    await asyncio.gather(*(try_one(call) for call in CALLS))


@PAYMENTS
@pytest.mark.parametrize("pause_seconds", [0, 0.02])
async def test_a_reply_said_twice_is_not_taken_for_the_next_payments(
    server: ScriptedServer, http_client: HttpClient, call: Call, pause_seconds: float
) -> None:
    """The second copy may come late, on a line that nobody should use again for a payment."""
    call.let_in(server)
    length = len(call.reply.sent)
    twice = Reply(call.reply.sent * 2, piece=length if pause_seconds else None, pause_seconds=pause_seconds)
    server.expect(call.line, twice, Reply(after=After.CLOSE))
    connector = call.connect(server.port, http_client)
    call.outcome.check(await call.make(connector))
    await asyncio.sleep(0.05)
    check_lost(await call.make(connector), call)


@PAYMENTS
async def test_a_payment_goes_on_a_line_that_nobody_used_before(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    """What is left on a used line would be taken for its answer."""
    call.let_in(server)
    server.expect(call.line, call.reply, call.reply, call.reply)
    connector = call.connect(server.port, http_client)
    for _ in range(3):
        await call.make(connector)
    lines = [each.connection for each in server.requests]
    assert len(set(lines)) == len(lines)


@EACH
async def test_a_whole_reply_is_understood_however_it_comes(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    call.let_in(server)
    connector = call.connect(server.port, http_client)
    _, body = split(call.reply)
    bare = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
    packed = gzip.compress(body)
    for reply in (
        replace(call.reply, piece=7),
        Reply(
            bare
            + b"Transfer-Encoding: chunked\r\n\r\n"
            + b"".join(b"1\r\n%c\r\n" % each for each in body)
            + b"0\r\n\r\n"
        ),
        Reply(bare + b"Connection: close\r\n\r\n" + body, After.CLOSE),
        Reply(b"HTTP/1.0 200 OK\r\nContent-Type: application/json\r\n\r\n" + body, After.CLOSE),
        Reply(b"HTTP/1.1 100 Continue\r\n\r\n" + call.reply.sent),
        Reply(bare + b"Content-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed) + packed),
        http("200 OK", body, media_type="text/plain; charset=ISO-8859-1"),
        http("200 OK", (b"" if body.startswith(b"<?xml") else b"\r\n  ") + body + b"\n"),
        Reply(b"HTTP/1.1 200\r\ncontent-length:%d\r\n\r\n" % len(body) + body),
    ):
        server.expect(call.line, reply)
        call.outcome.check(await call.make(connector))


@EACH
async def test_a_line_closed_while_nobody_spoke_costs_no_payment(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    call.let_in(server)
    server.expect(call.line, replace(call.reply, after=After.CLOSE), call.reply)
    connector = call.connect(server.port, http_client)
    await call.make(connector)
    await asyncio.sleep(0.05)
    call.outcome.check(await call.make(connector))
