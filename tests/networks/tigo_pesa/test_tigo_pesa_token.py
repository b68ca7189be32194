"""Tigo Pesa's token: asked for once, renewed in time, and without it nothing is pushed."""

import asyncio
from dataclasses import replace

import pytest

from malipo.networks.connector import Verdict
from malipo.networks.http.client import HttpClient
from malipo.networks.tigo_pesa import TigoPesa
from malipo.settings import Settings
from tests.networks.scripted_server import After, Reply, ScriptedServer, http
from tests.networks.tigo_pesa.connector import Connect, assert_push_headers, echo, order
from tests.networks.tigo_pesa.connector import tigo as tigo
from tests.networks.tigo_pesa_spec import (
    CASH_IN,
    COLLECTION,
    DISBURSEMENT,
    GET_TOKEN,
    NEXT_TOKEN,
    NEXT_TOKEN_GIVEN,
    PAID_OUT,
    POSTED,
    PUSH,
    PUSHED,
    QUERY,
    TOKEN,
    TOKEN_ENDED,
    TOKEN_GIVEN,
    settings,
)
from tests.networks.verdict_words import FAIL_CFG, PENDING, assert_fit_to_keep


async def test_one_token_serves_many_pushes_and_neither_question_nor_payout_needs_one(
    server: ScriptedServer, tigo: Connect
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PUSH, PUSHED, PUSHED)
    server.expect(QUERY, POSTED)
    server.expect(CASH_IN, PAID_OUT)
    connector = tigo()
    await connector.ask(COLLECTION)
    await connector.send(DISBURSEMENT)
    assert server.lines == [QUERY, CASH_IN]
    await connector.send(COLLECTION)
    await connector.send(COLLECTION)
    for request in server.on(PUSH):
        assert_push_headers(request, TOKEN)


async def test_thirty_pushes_at_once_ask_for_one_token(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(GET_TOKEN, replace(TOKEN_GIVEN, delay_seconds=0.05))
    server.always(PUSH, echo)
    connector = tigo()
    answers = await asyncio.gather(*(connector.send(order(COLLECTION, key=f"0K3ABCDEFGHJ{n:04}")) for n in range(30)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert len({each.body for each in server.on(PUSH)}) == len(server.on(PUSH)) == 30


@pytest.mark.parametrize(
    "status", ["200 OK", "201 Created", "302 Found", "400 Bad Request", "500 Internal Server Error"]
)
async def test_a_token_counts_whatever_the_status(server: ScriptedServer, tigo: Connect, status: str) -> None:
    server.expect(GET_TOKEN, http(status, f'{{"access_token":"{TOKEN}","expires_in":3600}}'))
    server.expect(PUSH, PUSHED)
    PENDING.check(await tigo().send(COLLECTION))


async def test_a_token_is_renewed_half_a_minute_before_it_ends(http_client: HttpClient) -> None:
    async def renew(expires_in: str) -> list[str]:
        async with ScriptedServer.opened() as server:
            server.expect(
                GET_TOKEN, http("200 OK", f'{{"access_token":"{TOKEN}","expires_in":{expires_in}}}'), NEXT_TOKEN_GIVEN
            )
            server.always(PUSH, PUSHED)
            connector = TigoPesa(Settings(**settings(server.port)), http_client)
            await connector.send(COLLECTION)
            await asyncio.sleep(0.4)
            await connector.send(COLLECTION)
            return [each.header("Authorization") for each in server.on(PUSH)]

    old, new = f"bearer {TOKEN}", f"bearer {NEXT_TOKEN}"
    bearers = await asyncio.gather(renew("30.3"), renew('"30.3"'), renew("60"), renew("5"))
    assert list(bearers) == [[old, new], [old, new], [old, old], [old, new]]


@pytest.mark.parametrize(
    "refusal",
    [
        http(
            "400 Bad Request", '{"error":"invalid_grant","error_description":"The user name or password is incorrect"}'
        ),
        http("200 OK", '{"error":"invalid_grant","error_description":"The user name or password is incorrect"}'),
        http("400 Bad Request", '{"error":"unsupported_grant_type"}'),
        http("401 Unauthorized", '{"error":"invalid_client"}'),
        http("200 OK", '{"access_token":"","error":"invalid_grant"}'),
        http("200 OK", '{"access_token":null,"error":"invalid_grant"}'),
    ],
)
async def test_refused_credentials_refuse_the_payment_and_call_the_operator(
    server: ScriptedServer, tigo: Connect, refusal: Reply
) -> None:
    server.expect(GET_TOKEN, refusal)
    FAIL_CFG.check(await tigo().send(COLLECTION))


@pytest.mark.parametrize(
    "reply",
    [
        http("500 Internal Server Error", '{"error":"invalid_grant"}'),
        http("503 Service Unavailable", "<html></html>", media_type="text/html"),
        http("403 Forbidden", "<html>blocked</html>", media_type="text/html"),
        http("200 OK", "{}"),
        http("200 OK", "[]"),
        http("200 OK"),
        http("200 OK", '{"access_token":""}'),
        http("200 OK", '{"access_token":null}'),
        http("200 OK", '{"access_token":true}'),
        http("200 OK", '{"access_token":["a"]}'),
        http("200 OK", '{"access_token":"a\\r\\nX-Evil: 1"}'),
        http("200 OK", '{"Access_Token":"abc"}'),
        http("429 Too Many Requests", "{}"),
        Reply(after=After.RESET),
        Reply(after=After.CLOSE),
    ],
)
async def test_without_a_token_nothing_was_pushed_and_it_may_be_tried_again(
    server: ScriptedServer, tigo: Connect, reply: Reply
) -> None:
    server.expect(GET_TOKEN, reply)
    answer = await tigo().send(COLLECTION)
    assert (answer.verdict, answer.is_fault, answer.failure_code) == (Verdict.UNSENT, True, None), answer
    assert_fit_to_keep(answer)


@pytest.mark.parametrize(
    "refusal",
    [TOKEN_ENDED, http("401 Unauthorized"), http("401 Unauthorized", "<html></html>", media_type="text/html")],
)
async def test_an_ended_token_is_renewed_once_and_the_same_bytes_go_again(
    server: ScriptedServer, tigo: Connect, refusal: Reply
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(PUSH, refusal, PUSHED)
    PENDING.check(await tigo().send(COLLECTION))
    first, second = server.on(PUSH)
    assert first.body == second.body
    assert_push_headers(first, TOKEN)
    assert_push_headers(second, NEXT_TOKEN)


async def test_a_token_refused_again_refuses_the_payment_and_calls_the_operator(
    server: ScriptedServer, tigo: Connect
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(PUSH, TOKEN_ENDED, TOKEN_ENDED)
    FAIL_CFG.check(await tigo().send(COLLECTION))
