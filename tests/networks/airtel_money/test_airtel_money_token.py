"""Airtel Money's token: asked for once, renewed in time, and without it nothing is sent."""

import asyncio
from dataclasses import replace

import pytest

from malipo.networks.connector import Type, Verdict
from malipo.networks.http.client import HttpClient
from tests.networks.airtel_money.connector import PAGE, TYPES, Connect, assert_headers, echo, order
from tests.networks.airtel_money_spec import (
    ACCEPTED,
    ASK,
    COLLECT,
    COLLECTED,
    COLLECTION,
    DISBURSE,
    DISBURSEMENT,
    DONE,
    GET_TOKEN,
    NEXT_TOKEN,
    NEXT_TOKEN_GIVEN,
    ORDERS,
    PAID_OUT,
    PAY,
    REPLIES,
    TOKEN,
    TOKEN_ENDED,
    TOKEN_GIVEN,
    coded,
)
from tests.networks.payment_calls import connect_airtel
from tests.networks.scripted_server import Reply, ScriptedServer, http
from tests.networks.verdict_words import FAIL_CFG, PENDING, SUCCESS, UNKNOWN


@pytest.mark.parametrize("expires_in", ['"180"', "180", '"180.0"', "180.5"])
async def test_one_token_serves_many_calls(server: ScriptedServer, airtel: Connect, expires_in: str) -> None:
    server.expect(
        GET_TOKEN, http("200 OK", f'{{"access_token":"{TOKEN}","expires_in":{expires_in},"token_type":"bearer"}}')
    )
    server.expect(COLLECT, ACCEPTED, ACCEPTED)
    server.expect(DISBURSE, PAID_OUT)
    server.expect(ASK[Type.COLLECTION], COLLECTED)
    connector = airtel()
    await connector.send(COLLECTION)
    await connector.send(DISBURSEMENT)
    await connector.ask(COLLECTION)
    await connector.send(COLLECTION)
    for request in server.heard[1:]:
        assert_headers(request, TOKEN)


async def test_fifty_payments_at_once_ask_for_one_token(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, replace(TOKEN_GIVEN, delay_seconds=0.05))
    server.always(COLLECT, echo)
    connector = airtel()
    answers = await asyncio.gather(*(connector.send(order(key=f"0K3ABCDEFGHJ{n:04}")) for n in range(50)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert server.lines.count(GET_TOKEN) == 1
    assert len({each.body for each in server.on(COLLECT)}) == len(server.on(COLLECT)) == 50


async def test_a_token_is_renewed_half_a_minute_before_it_ends(http_client: HttpClient) -> None:
    async def renew(expires_in: str) -> list[str]:
        async with ScriptedServer.opened() as server:
            first = http("200 OK", f'{{"access_token":"{TOKEN}","expires_in":{expires_in}}}')
            server.expect(GET_TOKEN, first, NEXT_TOKEN_GIVEN)
            server.expect(COLLECT, ACCEPTED, ACCEPTED)
            connector = connect_airtel(server.port, http_client)
            await connector.send(COLLECTION)
            await asyncio.sleep(0.4)
            await connector.send(COLLECTION)
            return [each.header("Authorization") for each in server.on(COLLECT)]

    bearers = await asyncio.gather(renew('"30.3"'), renew("30.3"))
    assert list(bearers) == [[f"Bearer {TOKEN}", f"Bearer {NEXT_TOKEN}"]] * 2


@pytest.mark.parametrize(
    "expires_in",
    [
        "0",
        "-5",
        "30",
        '"0"',
        '"soon"',
        '""',
        "null",
        "true",
        "[]",
        "{}",
        "1e308",
        '"1e999"',
        '"nan"',
        '"inf"',
        "9" * 400,
    ],
)
async def test_a_token_of_strange_length_still_serves_the_call_it_was_fetched_for(
    server: ScriptedServer, airtel: Connect, expires_in: str
) -> None:
    given_so = http("200 OK", f'{{"access_token":"{TOKEN}","expires_in":{expires_in}}}')
    server.always(GET_TOKEN, given_so)
    server.expect(COLLECT, ACCEPTED, ACCEPTED)
    connector = airtel()
    PENDING.check(await connector.send(COLLECTION))
    PENDING.check(await connector.send(COLLECTION))
    assert server.lines.count(GET_TOKEN) <= 2


async def test_a_token_that_does_not_say_how_long_it_lives_serves_the_call(
    server: ScriptedServer, airtel: Connect
) -> None:
    server.always(GET_TOKEN, http("200 OK", f'{{"access_token":"{TOKEN}"}}'))
    server.expect(COLLECT, ACCEPTED)
    PENDING.check(await airtel().send(COLLECTION))


@pytest.mark.parametrize(
    "refusal",
    [
        TOKEN_ENDED,
        coded(401, "", result_code=""),
        http("401 Unauthorized", PAGE, media_type="text/html"),
        http("401 Unauthorized"),
    ],
)
@TYPES
async def test_an_ended_token_is_renewed_once_and_the_same_bytes_go_again(
    server: ScriptedServer, airtel: Connect, refusal: Reply, type_: Type
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(PAY[type_], refusal, REPLIES[type_])
    answer = await airtel().send(ORDERS[type_])
    (PENDING if type_ is Type.COLLECTION else SUCCESS).check(answer)
    first, second = server.on(PAY[type_])
    assert first.body == second.body  # the sealed PIN too
    assert_headers(first, TOKEN)
    assert_headers(second, NEXT_TOKEN)


@TYPES
async def test_a_token_refused_again_refuses_the_payment_and_calls_the_operator(
    server: ScriptedServer, airtel: Connect, type_: Type
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(PAY[type_], TOKEN_ENDED, TOKEN_ENDED)
    FAIL_CFG.check(await airtel().send(ORDERS[type_]))


@TYPES
async def test_an_enquiry_whose_token_ended_is_made_again(server: ScriptedServer, airtel: Connect, type_: Type) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(ASK[type_], TOKEN_ENDED, DONE[type_])
    SUCCESS.check(await airtel().ask(ORDERS[type_]))


@TYPES
async def test_an_enquiry_whose_token_is_refused_again_says_nothing_of_the_payment(
    server: ScriptedServer, airtel: Connect, type_: Type
) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    server.expect(ASK[type_], TOKEN_ENDED, TOKEN_ENDED)
    UNKNOWN.check(await airtel().ask(ORDERS[type_]))


async def test_a_crowd_whose_token_ended_renews_it_once(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, replace(NEXT_TOKEN_GIVEN, delay_seconds=0.05))
    server.always(
        COLLECT, lambda request: echo(request) if NEXT_TOKEN in request.header("Authorization") else TOKEN_ENDED
    )
    connector = airtel()
    answers = await asyncio.gather(*(connector.send(order(key=f"0K3ABCDEFGHJ{n:04}")) for n in range(20)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert server.lines.count(GET_TOKEN) == 2


@pytest.mark.parametrize(
    "refusal",
    [
        http("400 Bad Request", '{"error":"invalid_client","error_description":"Client authentication failed"}'),
        http("401 Unauthorized", '{"error":"unauthorized","error_description":"Bad credentials"}'),
    ],
)
@TYPES
async def test_refused_credentials_refuse_the_payment_and_call_the_operator(
    server: ScriptedServer, airtel: Connect, refusal: Reply, type_: Type
) -> None:
    server.expect(GET_TOKEN, refusal)
    FAIL_CFG.check(await airtel().send(ORDERS[type_]))


async def test_refused_credentials_say_nothing_of_a_payment_that_was_sent_before(
    server: ScriptedServer, airtel: Connect
) -> None:
    server.expect(GET_TOKEN, http("401 Unauthorized", '{"error":"unauthorized","error_description":"Bad credentials"}'))
    UNKNOWN.check(await airtel().ask(DISBURSEMENT))


@pytest.mark.parametrize(
    "reply",
    [
        http("500 Internal Server Error", '{"error":"server_error"}'),
        http("503 Service Unavailable", PAGE, media_type="text/html"),
        http("200 OK", PAGE, media_type="text/html"),
        http("200 OK", ""),
        http("200 OK", '{"token_type":"bearer","expires_in":180}'),
        http("200 OK", '{"access_token":"","expires_in":180}'),
        http("200 OK", '{"access_token":null,"expires_in":180}'),
        http("200 OK", '{"access_token":"two\\r\\nX-Lines: 1","expires_in":180}'),
        http("200 OK", '["access_token"]'),
    ],
)
async def test_without_a_token_nothing_is_sent_and_the_next_try_asks_afresh(
    server: ScriptedServer, airtel: Connect, reply: Reply
) -> None:
    server.expect(GET_TOKEN, reply, TOKEN_GIVEN)
    server.expect(DISBURSE, PAID_OUT)
    connector = airtel()
    answer = await connector.send(DISBURSEMENT)
    assert (answer.verdict, answer.is_fault) == (Verdict.UNSENT, True)
    SUCCESS.check(await connector.send(DISBURSEMENT))


async def test_a_renewal_that_fails_means_nothing_was_taken_in(server: ScriptedServer, airtel: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN, http("503 Service Unavailable", PAGE, media_type="text/html"))
    server.expect(DISBURSE, TOKEN_ENDED)
    answer = await airtel().send(DISBURSEMENT)
    assert (answer.verdict, answer.is_fault) == (Verdict.UNSENT, True)


async def test_a_caller_who_gives_up_takes_no_token_from_the_others(server: ScriptedServer, airtel: Connect) -> None:
    gate = asyncio.Event()
    server.always(GET_TOKEN, replace(TOKEN_GIVEN, held_by=gate))
    server.expect(DISBURSE, PAID_OUT)
    connector = airtel()
    impatient = asyncio.create_task(connector.send(COLLECTION))
    await server.was_called.wait()
    patient = asyncio.create_task(connector.send(DISBURSEMENT))
    await asyncio.sleep(0.02)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    gate.set()
    SUCCESS.check(await patient)
