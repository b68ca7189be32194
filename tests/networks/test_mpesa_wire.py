"""M-Pesa, byte for byte: what the connector says to it, and under which session or token."""

import asyncio
import json
import re
from collections.abc import Callable
from urllib.parse import parse_qsl, urlsplit

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from malipo.networks.contract import Order, Resubmit, Type, Verdict
from malipo.networks.mpesa import Mpesa
from tests.networks import keys
from tests.networks.mpesa_sheet import (
    ACCEPTED,
    API_KEY,
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
    told,
)
from tests.networks.outcome import FAIL_CFG, PENDING, SUCCESS, UNKNOWN
from tests.networks.teller import Reply, Request, Teller, http

Connect = Callable[..., Mpesa]

TYPES = pytest.mark.parametrize("type_", list(Type))
HARMLESS = {"accept", "accept-encoding", "connection", "host", "user-agent"}


def bearer(request: Request) -> str:
    scheme, _, sealed = request.header("Authorization").partition(" ")
    assert scheme == "Bearer"
    return keys.opened(keys.MPESA, sealed)


def order(**changes: object) -> Order:
    said = {name: getattr(COLLECTION, name) for name in COLLECTION.__struct_fields__}
    return Order(**(said | changes))


# What is sent.


async def test_a_session_is_asked_for_with_the_encrypted_api_key(teller: Teller, mpesa: Connect) -> None:
    teller.expect(SESSION, SESSION_GIVEN)
    teller.expect(COLLECT, PAID)
    await mpesa().send(COLLECTION)
    request = teller.heard[0]
    assert (request.method, request.target) == ("GET", "/sandbox/ipg/v2/vodacomTZN/getSession/")
    assert bearer(request) == API_KEY
    assert request.header("Origin") == "pay.example.co.tz"
    assert request.header("Content-Type") == "application/json"
    assert request.header("Host") == f"127.0.0.1:{teller.port}"
    assert request.body == b""
    assert set(request.header_names) - HARMLESS == {"authorization", "origin", "content-type"}
    assert len(request.header_names) == len(set(request.header_names))


async def test_a_collection_is_these_bytes(teller: Teller, mpesa: Connect) -> None:
    teller.expect(SESSION, SESSION_GIVEN)
    teller.expect(COLLECT, PAID)
    await mpesa().send(COLLECTION)
    request = teller.heard[1]
    assert (request.method, request.target) == ("POST", "/sandbox/ipg/v2/vodacomTZN/c2bPayment/singleStage/")
    assert request.body == (
        b'{"input_Amount":"1500","input_CustomerMSISDN":"255754000001","input_Country":"TZN","input_Currency":"TZS",'
        b'"input_ServiceProviderCode":"000000","input_TransactionReference":"0K3ABCDEFGHJ1234",'
        b'"input_ThirdPartyConversationID":"0K3ABCDEFGHJ1234","input_PurchasedItemsDesc":"Order 12 thanks"}'
    )
    assert bearer(request) == SESSION_ID
    assert request.header("Origin") == "pay.example.co.tz"
    assert request.header("Content-Type") == "application/json"
    assert request.header("Content-Length") == str(len(request.body))
    assert set(request.header_names) - HARMLESS == {"authorization", "origin", "content-type", "content-length"}
    assert len(request.header_names) == len(set(request.header_names))


async def test_a_disbursement_is_these_bytes(teller: Teller, mpesa: Connect) -> None:
    teller.expect(SESSION, SESSION_GIVEN)
    teller.expect(DISBURSE, PAID_OUT)
    await mpesa(mpesa_service_provider_code="541234").send(DISBURSEMENT)
    request = teller.heard[1]
    assert (request.method, request.target) == ("POST", "/sandbox/ipg/v2/vodacomTZN/b2cPayment/")
    assert request.body == (
        b'{"input_Amount":"250000","input_CustomerMSISDN":"255765432109","input_Country":"TZN","input_Currency":"TZS",'
        b'"input_ServiceProviderCode":"541234","input_TransactionReference":"0K3ABCDEFGHJ5678",'
        b'"input_ThirdPartyConversationID":"0K3ABCDEFGHJ5678","input_PaymentItemsDesc":"Wages week 7 Juma"}'
    )
    assert bearer(request) == SESSION_ID


@TYPES
async def test_a_query_goes_in_the_address_and_has_an_id_of_its_own(
    teller: Teller, mpesa: Connect, type_: Type
) -> None:
    teller.expect(SESSION, SESSION_GIVEN)
    teller.expect(QUERY, COMPLETED, COMPLETED)
    connector = mpesa()
    own_ids = set()
    for _ in range(2):
        await connector.ask(ORDERS[type_])
        request = teller.heard[-1]
        asked = parse_qsl(urlsplit(request.target).query, keep_blank_values=True, strict_parsing=True)
        own_id = dict(asked)["input_ThirdPartyConversationID"]
        assert re.fullmatch("[0-9a-f]{32}", own_id)
        own_ids.add(own_id)
        assert sorted(asked) == [
            ("input_Country", "TZN"),
            ("input_QueryReference", ORDERS[type_].key),
            ("input_ServiceProviderCode", "000000"),
            ("input_ThirdPartyConversationID", own_id),
        ]
        assert bearer(request) == SESSION_ID
        assert request.header("Origin") == "pay.example.co.tz"
        assert request.header("Content-Type") == "application/json"
        assert request.body == b""
    assert len(own_ids) == 2


async def test_what_differs_between_markets_is_a_setting(teller: Teller, mpesa: Connect) -> None:
    path = "/openapi/ipg/v3/vodacomGHA/"
    teller.expect(f"GET {path}session/", SESSION_GIVEN)
    teller.expect(f"POST {path}c2b/", PAID)
    teller.expect(f"POST {path}b2c/", PAID_OUT)
    teller.expect(f"GET {path}query/", COMPLETED)
    connector = mpesa(
        mpesa_base_url=f"http://127.0.0.1:{teller.port}/openapi/ipg/v3/vodacomGHA",
        mpesa_session_path="session/",
        mpesa_collection_path="c2b/",
        mpesa_disbursement_path="b2c/",
        mpesa_query_path="query/",
        mpesa_country="GHA",
        mpesa_currency="GHS",
        mpesa_origin="*",
    )
    await connector.send(COLLECTION)
    await connector.send(DISBURSEMENT)
    await connector.ask(COLLECTION)
    assert [each.header("Origin") for each in teller.heard] == ["*"] * 4
    sent = json.loads(teller.heard[1].body)
    assert (sent["input_Country"], sent["input_Currency"]) == ("GHA", "GHS")
    assert "input_Country=GHA" in teller.heard[3].target


@pytest.mark.parametrize(
    ("note", "description"),
    [
        ("Order 12, thanks!", "Order 12 thanks"),
        ("  two  spaces\tand a tab\r\nand lines ", "two spaces and a tab and lines"),
        ("a_b-c.d/e", "a b c d e"),
        ('","input_Amount":"1', "input Amount 1"),
        ("", "Payment"),
        ("!?…—", "Payment"),
        ("   ", "Payment"),
        ("\x00\x1f", "Payment"),
        ("x" * 256, "x" * 256),
        ("x" * 257, "x" * 256),
        ("x" * 255 + " y", "x" * 255),
        ("!" * 300 + "z", "z"),
        ("7", "7"),
    ],
)
async def test_a_note_is_cleaned_as_m_pesa_wants_it(
    teller: Teller, mpesa: Connect, note: str, description: str
) -> None:
    teller.expect(SESSION, SESSION_GIVEN)
    teller.expect(COLLECT, PAID)
    await mpesa().send(order(note=note))
    assert json.loads(teller.heard[1].body)["input_PurchasedItemsDesc"] == description


@given(note=st.text(max_size=300))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_the_note_the_description_is_legal(teller: Teller, mpesa: Connect, note: str) -> None:
    teller.always(SESSION, SESSION_GIVEN)
    teller.always(COLLECT, PAID)
    await mpesa(mpesa_public_key=keys.AIRTEL_MONEY_PUBLIC_KEY).send(order(note=note))
    sent = json.loads(teller.heard[-1].body)
    assert re.fullmatch("[A-Za-z0-9]+( [A-Za-z0-9]+)*", sent["input_PurchasedItemsDesc"])
    assert len(sent["input_PurchasedItemsDesc"]) <= 256


# The session.


async def test_one_session_serves_many_calls(teller: Teller, mpesa: Connect) -> None:
    teller.expect(SESSION, SESSION_GIVEN)
    teller.expect(COLLECT, PAID, PAID)
    teller.expect(DISBURSE, PAID_OUT)
    teller.expect(QUERY, COMPLETED)
    connector = mpesa()
    await connector.send(COLLECTION)
    await connector.send(DISBURSEMENT)
    await connector.ask(DISBURSEMENT)
    await connector.send(COLLECTION)
    assert [bearer(each) for each in teller.heard[1:]] == [SESSION_ID] * 4


async def test_fifty_payments_at_once_ask_for_one_session(teller: Teller, mpesa: Connect) -> None:
    teller.expect(SESSION, Reply(SESSION_GIVEN.sent, delay_seconds=0.05))
    teller.always(
        COLLECT, lambda request: coded(201, "INS-0", key=json.loads(request.body)["input_TransactionReference"])
    )
    connector = mpesa()
    answers = await asyncio.gather(*(connector.send(order(key=f"0K3ABCDEFGHJ{n:04}")) for n in range(50)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert teller.lines.count(SESSION) == 1
    assert len({each.body for each in teller.on(COLLECT)}) == len(teller.on(COLLECT)) == 50


async def test_a_session_is_used_only_as_long_as_the_setting_says(teller: Teller, mpesa: Connect) -> None:
    teller.expect(SESSION, SESSION_GIVEN, NEXT_SESSION_GIVEN)
    teller.expect(COLLECT, PAID, PAID)
    connector = mpesa(mpesa_session_seconds=0.3)
    await connector.send(COLLECTION)
    await asyncio.sleep(0.4)
    await connector.send(COLLECTION)
    assert [bearer(each) for each in teller.on(COLLECT)] == [SESSION_ID, NEXT_SESSION_ID]


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
    teller: Teller, mpesa: Connect, refusal: Reply, type_: Type
) -> None:
    teller.expect(SESSION, SESSION_GIVEN, NEXT_SESSION_GIVEN)
    teller.expect(PAY[type_], refusal, PAID_REPLIES[type_])
    answer = await mpesa().send(ORDERS[type_])
    SUCCESS.check(answer)
    assert answer.provider_reference == RECEIPT
    first, second = teller.on(PAY[type_])
    assert first.body == second.body
    assert (bearer(first), bearer(second)) == (SESSION_ID, NEXT_SESSION_ID)


@TYPES
async def test_a_session_refused_again_means_nothing_was_taken_in(teller: Teller, mpesa: Connect, type_: Type) -> None:
    teller.expect(SESSION, SESSION_GIVEN, NEXT_SESSION_GIVEN)
    teller.expect(PAY[type_], SESSION_ENDED, SESSION_ENDED)
    answer = await mpesa().send(ORDERS[type_])
    assert (answer.verdict, answer.failure_code) == (Verdict.UNSENT, None)


async def test_a_query_whose_session_ended_is_asked_again(teller: Teller, mpesa: Connect) -> None:
    teller.expect(SESSION, SESSION_GIVEN, NEXT_SESSION_GIVEN)
    teller.expect(QUERY, SESSION_ENDED, COMPLETED)
    SUCCESS.check(await mpesa().ask(COLLECTION))


async def test_a_query_whose_session_is_refused_again_says_nothing_of_the_payment(
    teller: Teller, mpesa: Connect
) -> None:
    teller.expect(SESSION, SESSION_GIVEN, NEXT_SESSION_GIVEN)
    teller.expect(QUERY, SESSION_ENDED, SESSION_ENDED)
    UNKNOWN.check(await mpesa().ask(DISBURSEMENT))


async def test_a_crowd_whose_session_ended_renews_it_once(teller: Teller, mpesa: Connect) -> None:
    def guarded(request: Request) -> Reply:
        sealed = request.header("Authorization").removeprefix("Bearer ")
        if keys.opened(keys.AIRTEL_MONEY, sealed) != NEXT_SESSION_ID:
            return SESSION_ENDED
        return coded(201, "INS-0", key=json.loads(request.body)["input_TransactionReference"])

    teller.expect(SESSION, SESSION_GIVEN, Reply(NEXT_SESSION_GIVEN.sent, delay_seconds=0.05))
    teller.always(COLLECT, guarded)
    connector = mpesa(mpesa_public_key=keys.AIRTEL_MONEY_PUBLIC_KEY)  # a short one, for there are many
    answers = await asyncio.gather(*(connector.send(order(key=f"0K3ABCDEFGHJ{n:04}")) for n in range(20)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert teller.lines.count(SESSION) == 2


async def test_a_transaction_that_failed_with_401_is_not_a_session_that_ended(teller: Teller, mpesa: Connect) -> None:
    teller.expect(SESSION, SESSION_GIVEN)
    teller.expect(COLLECT, coded(401, "INS-6", key=COLLECTION.key))
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
    teller: Teller, mpesa: Connect, refusal: Reply, type_: Type
) -> None:
    teller.expect(SESSION, refusal)
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
    teller: Teller, mpesa: Connect, refusal: Reply
) -> None:
    teller.expect(SESSION, refusal)
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
    teller: Teller, mpesa: Connect, reply: Reply
) -> None:
    teller.expect(SESSION, reply, SESSION_GIVEN)
    teller.expect(COLLECT, PAID)
    connector = mpesa()
    answer = await connector.send(COLLECTION)
    assert (answer.verdict, answer.is_fault) == (Verdict.UNSENT, True)
    SUCCESS.check(await connector.send(COLLECTION))


async def test_a_caller_who_gives_up_takes_no_session_from_the_others(teller: Teller, mpesa: Connect) -> None:
    gate = asyncio.Event()
    teller.always(SESSION, Reply(SESSION_GIVEN.sent, held_by=gate))
    teller.expect(DISBURSE, PAID_OUT)
    connector = mpesa()
    impatient = asyncio.create_task(connector.send(COLLECTION))
    await teller.was_called.wait()
    patient = asyncio.create_task(connector.send(DISBURSEMENT))
    await asyncio.sleep(0.02)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    gate.set()
    SUCCESS.check(await patient)


async def test_every_bearer_is_encrypted_with_fresh_padding(teller: Teller, mpesa: Connect) -> None:
    teller.always(SESSION, SESSION_GIVEN)
    teller.always(COLLECT, PAID)
    await mpesa().send(COLLECTION)
    await mpesa().send(COLLECTION)
    assert len({each.header("Authorization") for each in teller.on(SESSION)}) == 2


# The rest of what a connector is.


async def test_a_knock_sends_no_payment(teller: Teller, mpesa: Connect) -> None:
    teller.always(SESSION, SESSION_GIVEN)
    teller.always(QUERY, http("400 Bad Request", '{"output_ResponseCode":"INS-23","output_ResponseDesc":"Not found"}'))
    answer = await mpesa().probe()
    assert not answer.is_fault
    assert teller.heard
    assert all(each.method == "GET" for each in teller.heard)


async def test_what_the_worker_must_know_of_it(mpesa: Connect) -> None:
    connector = mpesa(mpesa_concurrency=7)
    assert (connector.name, connector.concurrency) == ("mpesa", 7)
    assert connector.resubmit(Type.DISBURSEMENT) is Resubmit.DUPLICATES_REFUSED


async def test_an_asynchronous_application_is_told_by_query(teller: Teller, mpesa: Connect) -> None:
    teller.expect(SESSION, SESSION_GIVEN)
    teller.expect(COLLECT, ACCEPTED)
    teller.expect(QUERY, told("Pending"), COMPLETED)
    connector = mpesa()
    PENDING.check(await connector.send(COLLECTION))
    assert not (await connector.ask(COLLECTION)).verdict.is_definite
    SUCCESS.check(await connector.ask(COLLECTION))
