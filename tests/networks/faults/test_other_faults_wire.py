"""What a wire can do to a payment through the networks that came later. Never a failure, never a second sending."""

import asyncio
from dataclasses import replace

import pytest

from malipo.networks.connector import Verdict
from malipo.networks.http.client import HttpClient
from tests.networks.faults.broken_replies import BROKEN
from tests.networks.faults.other_replies import EACH, WITH_A_DOOR, check_lost, check_nothing_sent, split
from tests.networks.hostile_bodies import UNREADABLE, WRONG_SHAPES
from tests.networks.other_payment_calls import NO_ENTRY, OTHER_CALLS
from tests.networks.payment_calls import Call
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.networks.verdict_words import UNKNOWN


@pytest.mark.parametrize("what", BROKEN)
async def test_a_reply_that_breaks_is_an_answer_not_heard(
    server: ScriptedServer, http_client: HttpClient, what: str
) -> None:
    for call in OTHER_CALLS:
        call.let_in(server)
        (server.expect if call.is_payment else server.always)(call.line, BROKEN[what])
        answer = await call.make(call.connect(server.port, http_client))
        UNKNOWN.check(answer)
        assert answer.is_fault or what == "is a page of a guard", (call, answer)


@EACH
@pytest.mark.parametrize("after", [After.CLOSE, After.RESET])
async def test_a_reply_cut_anywhere_is_an_answer_not_heard(
    server: ScriptedServer, http_client: HttpClient, call: Call, after: After
) -> None:
    call.let_in(server)
    connector = call.connect(server.port, http_client)
    head, body = split(call.reply)
    whole = len(call.reply.sent)
    for length in (1, len(head) - 2, len(head) + 4, whole - len(body) // 2, whole - 1):
        server.always(call.line, Reply(call.reply.sent[:length], after))
        check_lost(await call.make(connector), call)
    if call.is_payment:
        assert len(server.on(call.line)) == 5


@pytest.mark.parametrize("name", UNREADABLE | WRONG_SHAPES)
async def test_a_body_that_cannot_be_understood_says_nothing(
    server: ScriptedServer, http_client: HttpClient, name: str
) -> None:
    for call in OTHER_CALLS:
        call.let_in(server)
        connector = call.connect(server.port, http_client)
        for status in ("200 OK", "400 Bad Request"):
            server.expect(call.line, http(status, (UNREADABLE | WRONG_SHAPES)[name]))
            UNKNOWN.check(await call.make(connector))


async def test_silence_is_an_answer_not_heard(http_client: HttpClient) -> None:
    async def wait(call: Call, silence: Reply) -> tuple[str, Verdict, bool, int]:
        async with ScriptedServer.opened() as server:
            call.let_in(server)
            server.always(call.line, silence)
            answer = await call.make(call.connect(server.port, http_client, timeout_seconds=1))
            return (call.name, answer.verdict, answer.is_fault, len(server.on(call.line)))

    cases = [
        (call, silence)
        for call in OTHER_CALLS
        for silence in (Reply(after=After.HANG), Reply(call.reply.sent[:-1], After.HANG), Reply(after=After.POUR))
    ]
    answers = await asyncio.gather(*(wait(*case) for case in cases))
    assert answers == [(call.name, Verdict.UNKNOWN, True, 1) for call, _ in cases]


async def test_silence_at_the_door_sent_nothing(http_client: HttpClient) -> None:
    async def knock(call: Call) -> None:
        async with ScriptedServer.opened() as server:
            server.always(call.entry, Reply(after=After.HANG))
            check_nothing_sent(call, await call.make(call.connect(server.port, http_client, timeout_seconds=1)))
            assert server.on(call.line) == []

    await asyncio.gather(*(knock(call) for call in WITH_A_DOOR))


async def test_a_call_takes_no_longer_than_the_connector_says(http_client: HttpClient) -> None:
    """The way in is slow, twice, and the last step never ends."""

    async def crawl(call: Call) -> float:
        async with ScriptedServer.opened() as server:
            server.always(call.entry, replace(call.entry_given, delay_seconds=0.45))
            server.expect(call.line, http("401 Unauthorized"), Reply(after=After.HANG))
            connector = call.connect(server.port, http_client, timeout_seconds=1)
            began = asyncio.get_running_loop().time()
            await call.make(connector)
            return asyncio.get_running_loop().time() - began - connector.timeout_seconds

    assert max(await asyncio.gather(*(crawl(call) for call in WITH_A_DOOR))) < 0.5


@EACH
async def test_a_closed_door_was_told_nothing(http_client: HttpClient, call: Call) -> None:
    async with ScriptedServer.opened() as server:
        pass
    check_nothing_sent(call, await call.make(call.connect(server.port, http_client)))
    assert (await call.connect(server.port, http_client).probe()).is_fault


@EACH
@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_payment_does_not_follow_a_redirection(
    server: ScriptedServer, http_client: HttpClient, call: Call, status: int
) -> None:
    call.let_in(server)
    server.expect(call.line, http(f"{status} Moved", "", f"Location: http://127.0.0.1:{server.port}/elsewhere/"))
    UNKNOWN.check(await call.make(call.connect(server.port, http_client)))
    assert server.unexpected == []


@pytest.mark.parametrize("call", [call for call in OTHER_CALLS if call.is_payment], ids=str)
async def test_a_reply_said_twice_is_not_taken_for_the_next_payments(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    """The second copy comes late, on a line that nobody should use again for a payment."""
    call.let_in(server)
    twice = Reply(call.reply.sent * 2, After.STAY, piece=len(call.reply.sent), pause_seconds=0.02)
    server.expect(call.line, twice, Reply(after=After.CLOSE))
    connector = call.connect(server.port, http_client)
    call.outcome.check(await call.make(connector))
    await asyncio.sleep(0.05)
    check_lost(await call.make(connector), call)


def test_calls_without_a_door_have_none() -> None:
    assert {call.name for call in OTHER_CALLS if call.entry == NO_ENTRY[0]} == {
        "Tigo payout",
        "Tigo query",
        "HaloPesa push",
    }
