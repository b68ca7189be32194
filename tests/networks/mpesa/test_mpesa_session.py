"""M-Pesa's session: asked for once, renewed once, and without it nothing is sent."""

import asyncio
import json

import pytest

from malipo.networks.connector import Type, Verdict
from tests.networks import rsa_keys
from tests.networks.mpesa.connector import TYPES, Connect, bearer, order
from tests.networks.mpesa_spec import (
    COLLECT,
    COLLECTION,
    COMPLETED,
    DISBURSE,
    DISBURSEMENT,
    NEXT_SESSION_GIVEN,
    NEXT_SESSION_ID,
    ORDERS,
    PAID,
    PAID_OUT,
    PAID_REPLIES,
    PAY,
    QUERY,
    RECEIPT,
    SESSION,
    SESSION_ENDED,
    SESSION_GIVEN,
    SESSION_ID,
    coded,
)
from tests.networks.scripted_server import Reply, Request, ScriptedServer, http
from tests.networks.verdict_words import FAIL_CFG, SUCCESS, UNKNOWN


async def test_one_session_serves_many_calls(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(COLLECT, PAID, PAID)
    server.expect(DISBURSE, PAID_OUT)
    server.expect(QUERY, COMPLETED)
    connector = mpesa()
    await connector.send(COLLECTION)
    await connector.send(DISBURSEMENT)
    await connector.ask(DISBURSEMENT)
    await connector.send(COLLECTION)
    assert [bearer(each) for each in server.heard[1:]] == [SESSION_ID] * 4


async def test_fifty_payments_at_once_ask_for_one_session(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, Reply(SESSION_GIVEN.sent, delay_seconds=0.05))
    server.always(
        COLLECT, lambda request: coded(201, "INS-0", key=json.loads(request.body)["input_TransactionReference"])
    )
    connector = mpesa()
    answers = await asyncio.gather(*(connector.send(order(key=f"0K3ABCDEFGHJ{n:04}")) for n in range(50)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert server.lines.count(SESSION) == 1
    assert len({each.body for each in server.on(COLLECT)}) == len(server.on(COLLECT)) == 50


async def test_a_session_is_used_only_as_long_as_the_setting_says(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, SESSION_GIVEN, NEXT_SESSION_GIVEN)
    server.expect(COLLECT, PAID, PAID)
    connector = mpesa(mpesa_session_seconds=0.3)
    await connector.send(COLLECTION)
    await asyncio.sleep(0.4)
    await connector.send(COLLECTION)
    assert [bearer(each) for each in server.on(COLLECT)] == [SESSION_ID, NEXT_SESSION_ID]


@pytest.mark.parametrize(
    "refusal",
    [
        http("401 Unauthorized", '{"output_error":"Session has expired"}'),
        http("401 Unauthorized", '{"output_error":"Invalid Session ID"}'),
        http("400 Bad Request", '{"output_error":"The session key is invalid"}'),
        http("403 Forbidden", '{"output_error":"SESSION EXPIRED"}'),
    ],
)
@TYPES
async def test_an_ended_session_is_renewed_once_and_the_same_bytes_go_again(
    server: ScriptedServer, mpesa: Connect, refusal: Reply, type_: Type
) -> None:
    server.expect(SESSION, SESSION_GIVEN, NEXT_SESSION_GIVEN)
    server.expect(PAY[type_], refusal, PAID_REPLIES[type_])
    answer = await mpesa().send(ORDERS[type_])
    SUCCESS.check(answer)
    assert answer.provider_reference == RECEIPT
    first, second = server.on(PAY[type_])
    assert first.body == second.body
    assert (bearer(first), bearer(second)) == (SESSION_ID, NEXT_SESSION_ID)


@TYPES
async def test_a_session_refused_again_means_nothing_was_taken_in(
    server: ScriptedServer, mpesa: Connect, type_: Type
) -> None:
    server.expect(SESSION, SESSION_GIVEN, NEXT_SESSION_GIVEN)
    server.expect(PAY[type_], SESSION_ENDED, SESSION_ENDED)
    answer = await mpesa().send(ORDERS[type_])
    assert (answer.verdict, answer.failure_code) == (Verdict.UNSENT, None)


async def test_a_query_whose_session_ended_is_asked_again(server: ScriptedServer, mpesa: Connect) -> None:
    server.expect(SESSION, SESSION_GIVEN, NEXT_SESSION_GIVEN)
    server.expect(QUERY, SESSION_ENDED, COMPLETED)
    SUCCESS.check(await mpesa().ask(COLLECTION))


async def test_a_query_whose_session_is_refused_again_says_nothing_of_the_payment(
    server: ScriptedServer, mpesa: Connect
) -> None:
    server.expect(SESSION, SESSION_GIVEN, NEXT_SESSION_GIVEN)
    server.expect(QUERY, SESSION_ENDED, SESSION_ENDED)
    UNKNOWN.check(await mpesa().ask(DISBURSEMENT))


async def test_a_crowd_whose_session_ended_renews_it_once(server: ScriptedServer, mpesa: Connect) -> None:
    def guarded(request: Request) -> Reply:
        sealed = request.header("Authorization").removeprefix("Bearer ")
        if rsa_keys.opened(rsa_keys.AIRTEL_MONEY, sealed) != NEXT_SESSION_ID:
            return SESSION_ENDED
        return coded(201, "INS-0", key=json.loads(request.body)["input_TransactionReference"])

    server.expect(SESSION, SESSION_GIVEN, Reply(NEXT_SESSION_GIVEN.sent, delay_seconds=0.05))
    server.always(COLLECT, guarded)
    connector = mpesa(mpesa_public_key=rsa_keys.AIRTEL_MONEY_PUBLIC_KEY)  # a short one, for there are many
    answers = await asyncio.gather(*(connector.send(order(key=f"0K3ABCDEFGHJ{n:04}")) for n in range(20)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert server.lines.count(SESSION) == 2


async def test_a_transaction_that_failed_with_401_is_not_a_session_that_ended(
    server: ScriptedServer, mpesa: Connect
) -> None:
    server.expect(SESSION, SESSION_GIVEN)
    server.expect(COLLECT, coded(401, "INS-6", key=COLLECTION.key))
    answer = await mpesa().send(COLLECTION)
    assert answer.verdict is Verdict.REFUSED


@pytest.mark.parametrize(
    "refusal",
    [
        http("400 Bad Request", '{"output_ResponseCode":"INS-989","output_ResponseDesc":"Session Creation Failed"}'),
        http(
            "401 Unauthorized",
            '{"output_ResponseCode":"INS-2001","output_ResponseDesc":"Initiator authentication error."}',
        ),
        http("401 Unauthorized", '{"output_ResponseCode":"INS-2","output_ResponseDesc":"Invalid API Key"}'),
        http("401 Unauthorized", '{"output_error":"Bad API Key"}'),
        http("404 Not Found", '{"output_error":"Unknown path"}'),
    ],
)
@TYPES
async def test_a_refused_api_key_refuses_the_payment_and_calls_the_operator(
    server: ScriptedServer, mpesa: Connect, refusal: Reply, type_: Type
) -> None:
    server.expect(SESSION, refusal)
    FAIL_CFG.check(await mpesa().send(ORDERS[type_]))


@pytest.mark.parametrize(
    "refusal",
    [
        http("400 Bad Request", '{"output_ResponseCode":"INS-989","output_ResponseDesc":"Session Creation Failed"}'),
        http("401 Unauthorized", '{"output_ResponseCode":"INS-2","output_ResponseDesc":"Invalid API Key"}'),
        http("401 Unauthorized", '{"output_error":"Bad API Key"}'),
    ],
)
async def test_a_refused_api_key_says_nothing_of_a_payment_that_was_sent_before(
    server: ScriptedServer, mpesa: Connect, refusal: Reply
) -> None:
    server.expect(SESSION, refusal)
    UNKNOWN.check(await mpesa().ask(DISBURSEMENT))


@pytest.mark.parametrize(
    "reply",
    [
        http("500 Internal Server Error", '{"output_ResponseCode":"INS-1","output_ResponseDesc":"Internal Error"}'),
        http("503 Service Unavailable", '{"output_ResponseCode":"INS-16","output_ResponseDesc":"Overload"}'),
        http("502 Bad Gateway", "<html><body>502</body></html>", media_type="text/html"),
        http("500 Internal Server Error", '{"output_error":"Session service is down"}'),
        http("200 OK", "<html>Welcome</html>", media_type="text/html"),
        http("200 OK", ""),
        http("200 OK", '{"output_ResponseCode":"INS-0","output_ResponseDesc":"Request processed successfully"}'),
        http("200 OK", '{"output_ResponseCode":"INS-0","output_SessionID":""}'),
        http("200 OK", '{"output_ResponseCode":"INS-0","output_SessionID":null}'),
        http(
            "200 OK", f'{{"output_ResponseCode":"INS-0","output_SessionID":"{"x" * 600}"}}'
        ),  # more than fits under RSA
        http("400 Bad Request", '{"output_ResponseCode":"INS-1","output_ResponseDesc":"Internal Error"}'),
        http("408 Request Timeout", '{"output_ResponseCode":"INS-9","output_ResponseDesc":"Request timeout"}'),
        http("429 Too Many Requests", '{"output_error":"Too many requests"}'),
        http("403 Forbidden", "<html>Blocked</html>", media_type="text/html"),
        http("200 OK", '["output_SessionID"]'),
    ],
)
async def test_without_a_session_nothing_is_sent_and_the_next_try_asks_afresh(
    server: ScriptedServer, mpesa: Connect, reply: Reply
) -> None:
    server.expect(SESSION, reply, SESSION_GIVEN)
    server.expect(COLLECT, PAID)
    connector = mpesa()
    answer = await connector.send(COLLECTION)
    assert (answer.verdict, answer.is_fault) == (Verdict.UNSENT, True)
    SUCCESS.check(await connector.send(COLLECTION))


async def test_a_caller_who_gives_up_takes_no_session_from_the_others(server: ScriptedServer, mpesa: Connect) -> None:
    gate = asyncio.Event()
    server.always(SESSION, Reply(SESSION_GIVEN.sent, held_by=gate))
    server.expect(DISBURSE, PAID_OUT)
    connector = mpesa()
    impatient = asyncio.create_task(connector.send(COLLECTION))
    await server.was_called.wait()
    patient = asyncio.create_task(connector.send(DISBURSEMENT))
    await asyncio.sleep(0.02)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    gate.set()
    SUCCESS.check(await patient)


async def test_every_bearer_is_encrypted_with_fresh_padding(server: ScriptedServer, mpesa: Connect) -> None:
    server.always(SESSION, SESSION_GIVEN)
    server.always(COLLECT, PAID)
    await mpesa().send(COLLECTION)
    await mpesa().send(COLLECTION)
    assert len({each.header("Authorization") for each in server.on(SESSION)}) == 2
