"""AzamPay's token: asked for once, renewed once, and without it nothing is sent."""

import asyncio

import pytest
from msgspec.structs import replace

from malipo.networks.connector import Channel, Verdict
from tests.networks.azampay.connector import Connect, assert_headers
from tests.networks.azampay.connector import azampay as azampay
from tests.networks.azampay_spec import (
    ACCEPTED,
    ACCEPTED_ORDER,
    ASK,
    DISBURSEMENT,
    GET_TOKEN,
    LOOK_UP,
    NEXT_TOKEN,
    NEXT_TOKEN_GIVEN,
    NOT_LET_IN,
    PAID_OUT,
    PAY_OUT,
    TOKEN,
    TOKEN_ENDED,
    TOKEN_GIVEN,
    token_given,
)
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.networks.verdict_words import FAIL_CFG, PENDING, SUCCESS, UNKNOWN


async def test_one_token_serves_many_calls_at_once(server: ScriptedServer, azampay: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.always(PAY_OUT, ACCEPTED)
    connector = azampay()
    orders = [replace(DISBURSEMENT, key=f"0K3ABCDEFGHJ{n:04}") for n in range(30)]
    answers = await asyncio.gather(*map(connector.send, orders))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert len({each.body for each in server.on(PAY_OUT)}) == 30


async def test_an_ended_token_is_renewed_once_and_the_same_bytes_go_again(
    server: ScriptedServer, azampay: Connect
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(PAY_OUT, TOKEN_ENDED, ACCEPTED)
    PENDING.check(await azampay().send(DISBURSEMENT))
    first, second = server.on(PAY_OUT)
    assert first.body == second.body
    assert_headers(first, TOKEN)
    assert_headers(second, NEXT_TOKEN)


async def test_a_token_refused_again_is_our_configuration(server: ScriptedServer, azampay: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(PAY_OUT, TOKEN_ENDED, TOKEN_ENDED)
    FAIL_CFG.check(await azampay().send(DISBURSEMENT))


async def test_a_question_whose_token_ended_is_put_again_and_refused_again_says_nothing(
    server: ScriptedServer, azampay: Connect
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(ASK, TOKEN_ENDED, PAID_OUT, TOKEN_ENDED, TOKEN_ENDED)
    connector = azampay()
    SUCCESS.check(await connector.ask(ACCEPTED_ORDER))
    UNKNOWN.check(await connector.ask(ACCEPTED_ORDER))


@pytest.mark.parametrize(
    "said",
    [
        NOT_LET_IN,
        http("401 Unauthorized", '{"message":"Unauthorized"}'),
        http("200 OK", "{}"),
        http("200 OK", '{"data":null,"success":true}'),
        http("200 OK", '{"data":{"accessToken":""},"success":true}'),
        http("200 OK", '{"data":{"accessToken":"a b"},"success":true}'),
        http("200 OK", '{"data":{"accessToken":"a\\r\\nX-Evil: 1"},"success":true}'),
        http("200 OK", '{"data":{"accessToken":["a"]},"success":true}'),
        http("200 OK", '{"data":{"accessToken":"abc"},"success":false}'),
        http("423 Locked", "<html></html>", media_type="text/html"),
        http("429 Too Many Requests", '{"message":"Slow down"}'),
        http("500 Internal Server Error", '{"data":{"accessToken":"abc"},"success":true}'),
        Reply(after=After.RESET),
    ],
)
async def test_without_a_token_nothing_is_sent(server: ScriptedServer, azampay: Connect, said: Reply) -> None:
    server.always(GET_TOKEN, said)
    answer = await azampay().send(DISBURSEMENT)
    # Only refused credentials may end a payment; anything else is passing trouble.
    is_refusal = said is NOT_LET_IN or said.sent.startswith(b"HTTP/1.1 401")
    assert answer.verdict is (Verdict.REFUSED if is_refusal else Verdict.UNSENT), answer
    assert answer.refuses_us if is_refusal else answer.is_fault
    UNKNOWN.check(await azampay().ask(ACCEPTED_ORDER))
    assert (await azampay().look_up(Channel.HALOPESA, DISBURSEMENT.phone)).name is None
    assert set(server.lines) == {GET_TOKEN}
    assert server.on(LOOK_UP) == []


@pytest.mark.parametrize(
    "expire",
    [
        "2099-04-27T22:00:00Z",
        "2099-04-27T22:00:00",  # without a zone: not understood, and used for a while
        "not a time",
        None,
        ["2099"],
        "0001-01-01T00:00:00+14:00",  # over, says their clock or ours: for a minute at least
        "9999-12-31T23:59:59-14:00",
    ],
)
async def test_no_end_of_a_token_brings_it_down(server: ScriptedServer, azampay: Connect, expire: object) -> None:
    server.always(GET_TOKEN, token_given(TOKEN, expire))
    server.always(PAY_OUT, ACCEPTED)
    connector = azampay()
    for _ in range(2):
        PENDING.check(await connector.send(DISBURSEMENT))
    assert len(server.on(GET_TOKEN)) == 1
