"""ClickPesa's token: asked for once, renewed once, and without it nothing is sent."""

import asyncio
import json
from dataclasses import replace

import pytest

from malipo.networks.connector import Type, Verdict
from tests.networks.clickpesa.connector import TYPES, Connect, assert_headers, order
from tests.networks.clickpesa.connector import clickpesa as clickpesa
from tests.networks.clickpesa_spec import (
    ASK,
    CHECKSUM_KEY,
    COLLECTED,
    COLLECTION,
    DONE,
    GET_TOKEN,
    NEXT_TOKEN,
    NEXT_TOKEN_GIVEN,
    ORDERS,
    PAY,
    PUSH,
    REPLIES,
    STARTED,
    TOKEN,
    TOKEN_ENDED,
    TOKEN_GIVEN,
    reply,
)
from tests.networks.scripted_server import After, Reply, Request, ScriptedServer, http
from tests.networks.verdict_words import PENDING, SUCCESS, UNKNOWN


@pytest.mark.parametrize("said", ["Bearer " + TOKEN, TOKEN])
async def test_a_token_is_taken_with_its_first_word_or_without(
    server: ScriptedServer, clickpesa: Connect, said: str
) -> None:
    server.expect(GET_TOKEN, http("200 OK", json.dumps({"success": True, "token": said})))
    server.expect(PUSH, STARTED)
    PENDING.check(await clickpesa().send(COLLECTION))
    assert server.heard[1].header("Authorization") == f"Bearer {TOKEN}"


async def test_a_long_token_is_sent_whole(server: ScriptedServer, clickpesa: Connect) -> None:
    token = "eyJ" + "x" * 1500
    server.expect(GET_TOKEN, http("200 OK", json.dumps({"success": True, "token": f"Bearer {token}"})))
    server.expect(PUSH, STARTED)
    PENDING.check(await clickpesa().send(COLLECTION))
    assert server.heard[1].header("Authorization") == f"Bearer {token}"


async def test_one_token_serves_many_calls_at_once(server: ScriptedServer, clickpesa: Connect) -> None:
    def echo(request: Request) -> Reply:
        return reply(Type.COLLECTION, status="PROCESSING", orderReference=json.loads(request.body)["orderReference"])

    server.expect(GET_TOKEN, replace(TOKEN_GIVEN, delay_seconds=0.05))
    server.always(PUSH, echo)
    server.always(ASK[Type.COLLECTION], COLLECTED)
    connector = clickpesa()
    answers = await asyncio.gather(*(connector.send(order(COLLECTION, key=f"0K3ABCDEFGHJ{n:04}")) for n in range(30)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    SUCCESS.check(await connector.ask(COLLECTION))
    assert len({each.body for each in server.on(PUSH)}) == len(server.on(PUSH)) == 30


@TYPES
async def test_an_ended_token_is_renewed_once_and_the_same_bytes_go_again(
    server: ScriptedServer, clickpesa: Connect, type_: Type
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(PAY[type_], TOKEN_ENDED, REPLIES[type_])
    PENDING.check(await clickpesa(clickpesa_checksum_key=CHECKSUM_KEY).send(ORDERS[type_]))
    first, second = server.on(PAY[type_])
    assert first.body == second.body
    assert_headers(first, TOKEN)
    assert_headers(second, NEXT_TOKEN)


@TYPES
async def test_a_token_refused_again_is_not_tried_a_third_time(
    server: ScriptedServer, clickpesa: Connect, type_: Type
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(PAY[type_], TOKEN_ENDED, TOKEN_ENDED)
    answer = await clickpesa().send(ORDERS[type_])
    assert answer.verdict in (Verdict.REFUSED, Verdict.UNKNOWN), answer
    assert answer.verdict is Verdict.UNKNOWN or answer.alert is not None


@TYPES
async def test_a_question_whose_token_ended_is_put_again(
    server: ScriptedServer, clickpesa: Connect, type_: Type
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(ASK[type_], TOKEN_ENDED, DONE[type_])
    SUCCESS.check(await clickpesa().ask(ORDERS[type_]))


@TYPES
async def test_a_question_whose_token_is_refused_again_says_nothing(
    server: ScriptedServer, clickpesa: Connect, type_: Type
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(ASK[type_], TOKEN_ENDED, TOKEN_ENDED)
    UNKNOWN.check(await clickpesa().ask(ORDERS[type_]))


@pytest.mark.parametrize(
    "said",
    [
        http("401 Unauthorized", '{"message":"Invalid API key"}'),
        http("403 Forbidden", '{"message":"Forbidden"}'),
        http("200 OK", "{}"),
        http("200 OK", '{"success":false,"token":""}'),
        http("200 OK", '{"success":true,"token":null}'),
        http("200 OK", '{"success":true,"token":"Bearer "}'),
        http("200 OK", '{"success":true,"token":"Bearer a\\r\\nX-Evil: 1"}'),
        http("200 OK", '{"success":true,"token":["Bearer a"]}'),
        http("429 Too Many Requests", '{"message":"Slow down"}'),
        http("500 Internal Server Error", '{"success":true}'),
        http("200 OK", "<html></html>", media_type="text/html"),
        Reply(after=After.RESET),
    ],
)
@TYPES
async def test_without_a_token_nothing_is_sent(
    server: ScriptedServer, clickpesa: Connect, said: Reply, type_: Type
) -> None:
    server.expect(GET_TOKEN, said, said)
    answer = await clickpesa().send(ORDERS[type_])
    assert answer.verdict in (Verdict.UNSENT, Verdict.REFUSED), answer
    # Only refused credentials may end a payment; anything else is passing trouble.
    is_refusal = said.sent.startswith((b"HTTP/1.1 401", b"HTTP/1.1 403"))
    assert answer.verdict is Verdict.UNSENT or (is_refusal and answer.alert is not None), answer
    assert answer.verdict is Verdict.REFUSED or answer.is_fault, answer
    UNKNOWN.check(await clickpesa().ask(ORDERS[type_]))
    assert server.lines == [GET_TOKEN, GET_TOKEN]
