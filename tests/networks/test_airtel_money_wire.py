"""Airtel Money, byte for byte: what the connector says to it, and under which session or token."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from malipo.networks.airtel_money import AirtelMoney
from malipo.networks.contract import Order, Resubmit, Type, Verdict
from malipo.networks.wire import Wire
from tests.networks import keys
from tests.networks.airtel_money_sheet import (
    ACCEPTED,
    ASK,
    CLIENT_ID,
    CLIENT_SECRET,
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
    PIN,
    REPLIES,
    TOKEN,
    TOKEN_ENDED,
    TOKEN_GIVEN,
    coded,
)
from tests.networks.calls import connect_airtel
from tests.networks.outcome import FAIL_CFG, PENDING, SUCCESS, UNKNOWN
from tests.networks.teller import Reply, Request, Teller, http

Connect = Callable[..., AirtelMoney]

TYPES = pytest.mark.parametrize("type_", list(Type))
HARMLESS = {"accept-encoding", "connection", "host", "user-agent"}
PAGE = "<!DOCTYPE html><html><body>Not here</body></html>"


def order(**changes: object) -> Order:
    said = {name: getattr(COLLECTION, name) for name in COLLECTION.__struct_fields__}
    return Order(**(said | changes))


def echo(request: Request) -> Reply:
    """Accepted, in the name of whoever asked."""
    key = json.loads(request.body)["transaction"]["id"]
    return replace(ACCEPTED, sent=ACCEPTED.sent.replace(b"0K3ABCDEFGHJ1234", key.encode()))


def assert_headers(request: Request, token: str) -> None:
    assert request.header("Authorization") == f"Bearer {token}"
    assert request.header("Content-Type") == "application/json"
    assert request.header("Accept") == "*/*"
    assert request.header("X-Country") == "TZ"
    assert request.header("X-Currency") == "TZS"
    assert len(request.header_names) == len(set(request.header_names))
    own = {"authorization", "content-type", "accept", "x-country", "x-currency"}
    assert set(request.header_names) - HARMLESS - {"content-length"} == own


# What is sent.


async def test_a_token_is_asked_for_with_these_bytes(teller: Teller, airtel: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(COLLECT, ACCEPTED)
    await airtel().send(COLLECTION)
    request = teller.heard[0]
    assert (request.method, request.target) == ("POST", "/auth/oauth2/token")
    assert request.body == (
        f'{{"client_id":"{CLIENT_ID}","client_secret":"{CLIENT_SECRET}","grant_type":"client_credentials"}}'.encode()
    )
    assert request.header("Content-Type") == "application/json"
    assert request.header("Accept") == "*/*"
    assert "authorization" not in request.header_names
    assert CLIENT_SECRET not in request.target


async def test_a_collection_is_these_bytes(teller: Teller, airtel: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(COLLECT, ACCEPTED)
    await airtel().send(COLLECTION)
    request = teller.heard[1]
    assert (request.method, request.target) == ("POST", "/merchant/v1/payments/")
    assert request.body == (
        b'{"reference":"Order 12 thanks","subscriber":{"country":"TZ","currency":"TZS","msisdn":"684000001"},'
        b'"transaction":{"amount":1500,"country":"TZ","currency":"TZS","id":"0K3ABCDEFGHJ1234"}}'
    )
    assert_headers(request, TOKEN)
    assert request.header("Content-Length") == str(len(request.body))


async def test_a_disbursement_is_these_bytes(teller: Teller, airtel: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(DISBURSE, PAID_OUT)
    await airtel().send(DISBURSEMENT)
    request = teller.heard[1]
    assert (request.method, request.target) == ("POST", "/standard/v1/disbursements/")
    sealed = json.loads(request.body)["pin"]
    assert keys.opened(keys.AIRTEL_MONEY, sealed) == PIN
    assert request.body.replace(sealed.encode(), b"PIN") == (
        b'{"payee":{"msisdn":"692345678"},"reference":"0K3ABCDEFGHJ5678","pin":"PIN",'
        b'"transaction":{"amount":250000,"id":"0K3ABCDEFGHJ5678"}}'
    )
    assert_headers(request, TOKEN)


async def test_the_pin_is_padded_at_random_by_pkcs1(teller: Teller, airtel: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, TOKEN_GIVEN)
    teller.expect(DISBURSE, PAID_OUT, PAID_OUT)
    for _ in range(2):
        await airtel().send(DISBURSEMENT)
    numbers = keys.AIRTEL_MONEY.private_numbers()
    paddings = set()
    for request in teller.on(DISBURSE):
        sealed = int.from_bytes(keys.unpacked(keys.AIRTEL_MONEY, json.loads(request.body)["pin"]), "big")
        block = pow(sealed, numbers.d, numbers.public_numbers.n).to_bytes(128, "big")
        match = re.fullmatch(rb"\x00\x02([^\x00]{8,})\x004731", block, re.DOTALL)
        assert match is not None
        paddings.add(match[1])
    assert len(paddings) == 2


async def test_the_pin_can_be_sealed_with_oaep(teller: Teller, airtel: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(DISBURSE, PAID_OUT)
    connector = airtel(airtel_money_pin_padding="oaep", airtel_money_public_key=keys.AIRTEL_MONEY_LONG_PUBLIC_KEY)
    await connector.send(DISBURSEMENT)
    assert keys.opened_oaep(keys.AIRTEL_MONEY_LONG, json.loads(teller.heard[1].body)["pin"]) == PIN


@TYPES
async def test_an_enquiry_names_our_id_in_its_path(teller: Teller, airtel: Connect, type_: Type) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(ASK[type_], DONE[type_])
    await airtel().ask(ORDERS[type_])
    request = teller.heard[1]
    assert (f"GET {request.target}", request.body) == (ASK[type_], b"")
    assert_headers(request, TOKEN)


async def test_what_differs_between_countries_is_a_setting(teller: Teller, airtel: Connect) -> None:
    teller.expect("POST /gateway/token", TOKEN_GIVEN)
    teller.expect("POST /gateway/merchant/v2/payments/", ACCEPTED)
    teller.expect("POST /gateway/pay/", PAID_OUT)
    teller.expect("GET /gateway/collected/0K3ABCDEFGHJ1234", COLLECTED)
    teller.expect("GET /gateway/paid/0K3ABCDEFGHJ5678", DONE[Type.DISBURSEMENT])
    connector = airtel(
        airtel_money_base_url=f"http://127.0.0.1:{teller.port}/gateway",
        airtel_money_token_path="token",
        airtel_money_collection_path="merchant/v2/payments/",
        airtel_money_collection_query_path="collected/",
        airtel_money_disbursement_path="pay/",
        airtel_money_disbursement_query_path="paid/",
        airtel_money_country="ZM",
        airtel_money_currency="ZMW",
    )
    await connector.send(COLLECTION)
    await connector.send(DISBURSEMENT)
    await connector.ask(COLLECTION)
    await connector.ask(DISBURSEMENT)
    assert {each.header("X-Country") for each in teller.heard[1:]} == {"ZM"}
    assert {each.header("X-Currency") for each in teller.heard[1:]} == {"ZMW"}
    sent = json.loads(teller.heard[1].body)
    assert sent["subscriber"] == {"country": "ZM", "currency": "ZMW", "msisdn": "684000001"}
    assert sent["transaction"] == {"amount": 1500, "country": "ZM", "currency": "ZMW", "id": "0K3ABCDEFGHJ1234"}


@pytest.mark.parametrize(
    ("note", "reference"),
    [
        ("Order 12, thanks!", "Order 12 thanks"),
        ("  two  spaces\tand a tab\r\nand lines ", "two spaces and a tab and lines"),
        ("a_b-c.d/e", "a b c d e"),
        ('","id":"1', "id 1"),
        ("", "Payment"),
        ("!?…—", "Payment"),
        ("abc", "Payment"),
        ("ab!", "Payment"),
        ("abcd", "abcd"),
        ("x" * 64, "x" * 64),
        ("x" * 65, "x" * 64),
        ("x" * 63 + " y", "x" * 63),
    ],
)
async def test_a_note_is_cleaned_as_airtel_wants_it(teller: Teller, airtel: Connect, note: str, reference: str) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(COLLECT, ACCEPTED)
    await airtel().send(order(note=note))
    assert json.loads(teller.heard[1].body)["reference"] == reference


@given(note=st.text(max_size=100))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_the_note_the_reference_is_legal(teller: Teller, airtel: Connect, note: str) -> None:
    teller.always(GET_TOKEN, TOKEN_GIVEN)
    teller.always(COLLECT, ACCEPTED)
    await airtel().send(order(note=note))
    reference = json.loads(teller.heard[-1].body)["reference"]
    assert re.fullmatch("[A-Za-z0-9]+( [A-Za-z0-9]+)*", reference)
    assert 4 <= len(reference) <= 64


# The token.


@pytest.mark.parametrize("expires_in", ['"180"', "180", '"180.0"', "180.5"])
async def test_one_token_serves_many_calls(teller: Teller, airtel: Connect, expires_in: str) -> None:
    teller.expect(
        GET_TOKEN, http("200 OK", f'{{"access_token":"{TOKEN}","expires_in":{expires_in},"token_type":"bearer"}}')
    )
    teller.expect(COLLECT, ACCEPTED, ACCEPTED)
    teller.expect(DISBURSE, PAID_OUT)
    teller.expect(ASK[Type.COLLECTION], COLLECTED)
    connector = airtel()
    await connector.send(COLLECTION)
    await connector.send(DISBURSEMENT)
    await connector.ask(COLLECTION)
    await connector.send(COLLECTION)
    for request in teller.heard[1:]:
        assert_headers(request, TOKEN)


async def test_fifty_payments_at_once_ask_for_one_token(teller: Teller, airtel: Connect) -> None:
    teller.expect(GET_TOKEN, replace(TOKEN_GIVEN, delay_seconds=0.05))
    teller.always(COLLECT, echo)
    connector = airtel()
    answers = await asyncio.gather(*(connector.send(order(key=f"0K3ABCDEFGHJ{n:04}")) for n in range(50)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert teller.lines.count(GET_TOKEN) == 1
    assert len({each.body for each in teller.on(COLLECT)}) == len(teller.on(COLLECT)) == 50


async def test_a_token_is_renewed_half_a_minute_before_it_ends(wire: Wire) -> None:
    async def renew(expires_in: str) -> list[str]:
        async with Teller.opened() as teller:
            first = http("200 OK", f'{{"access_token":"{TOKEN}","expires_in":{expires_in}}}')
            teller.expect(GET_TOKEN, first, NEXT_TOKEN_GIVEN)
            teller.expect(COLLECT, ACCEPTED, ACCEPTED)
            connector = connect_airtel(teller.port, wire)
            await connector.send(COLLECTION)
            await asyncio.sleep(0.4)
            await connector.send(COLLECTION)
            return [each.header("Authorization") for each in teller.on(COLLECT)]

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
    teller: Teller, airtel: Connect, expires_in: str
) -> None:
    given_so = http("200 OK", f'{{"access_token":"{TOKEN}","expires_in":{expires_in}}}')
    teller.always(GET_TOKEN, given_so)
    teller.expect(COLLECT, ACCEPTED, ACCEPTED)
    connector = airtel()
    PENDING.check(await connector.send(COLLECTION))
    PENDING.check(await connector.send(COLLECTION))
    assert teller.lines.count(GET_TOKEN) <= 2


async def test_a_token_that_does_not_say_how_long_it_lives_serves_the_call(teller: Teller, airtel: Connect) -> None:
    teller.always(GET_TOKEN, http("200 OK", f'{{"access_token":"{TOKEN}"}}'))
    teller.expect(COLLECT, ACCEPTED)
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
    teller: Teller, airtel: Connect, refusal: Reply, type_: Type
) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    teller.expect(PAY[type_], refusal, REPLIES[type_])
    answer = await airtel().send(ORDERS[type_])
    (PENDING if type_ is Type.COLLECTION else SUCCESS).check(answer)
    first, second = teller.on(PAY[type_])
    assert first.body == second.body  # the sealed PIN too
    assert_headers(first, TOKEN)
    assert_headers(second, NEXT_TOKEN)


@TYPES
async def test_a_token_refused_again_refuses_the_payment_and_calls_the_operator(
    teller: Teller, airtel: Connect, type_: Type
) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    teller.expect(PAY[type_], TOKEN_ENDED, TOKEN_ENDED)
    FAIL_CFG.check(await airtel().send(ORDERS[type_]))


@TYPES
async def test_an_enquiry_whose_token_ended_is_made_again(teller: Teller, airtel: Connect, type_: Type) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    teller.expect(ASK[type_], TOKEN_ENDED, DONE[type_])
    SUCCESS.check(await airtel().ask(ORDERS[type_]))


@TYPES
async def test_an_enquiry_whose_token_is_refused_again_says_nothing_of_the_payment(
    teller: Teller, airtel: Connect, type_: Type
) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    teller.expect(ASK[type_], TOKEN_ENDED, TOKEN_ENDED)
    UNKNOWN.check(await airtel().ask(ORDERS[type_]))


async def test_a_crowd_whose_token_ended_renews_it_once(teller: Teller, airtel: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, replace(NEXT_TOKEN_GIVEN, delay_seconds=0.05))
    teller.always(
        COLLECT, lambda request: echo(request) if NEXT_TOKEN in request.header("Authorization") else TOKEN_ENDED
    )
    connector = airtel()
    answers = await asyncio.gather(*(connector.send(order(key=f"0K3ABCDEFGHJ{n:04}")) for n in range(20)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert teller.lines.count(GET_TOKEN) == 2


@pytest.mark.parametrize(
    "refusal",
    [
        http("400 Bad Request", '{"error":"invalid_client","error_description":"Client authentication failed"}'),
        http("401 Unauthorized", '{"error":"unauthorized","error_description":"Bad credentials"}'),
    ],
)
@TYPES
async def test_refused_credentials_refuse_the_payment_and_call_the_operator(
    teller: Teller, airtel: Connect, refusal: Reply, type_: Type
) -> None:
    teller.expect(GET_TOKEN, refusal)
    FAIL_CFG.check(await airtel().send(ORDERS[type_]))


async def test_refused_credentials_say_nothing_of_a_payment_that_was_sent_before(
    teller: Teller, airtel: Connect
) -> None:
    teller.expect(GET_TOKEN, http("401 Unauthorized", '{"error":"unauthorized","error_description":"Bad credentials"}'))
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
    teller: Teller, airtel: Connect, reply: Reply
) -> None:
    teller.expect(GET_TOKEN, reply, TOKEN_GIVEN)
    teller.expect(DISBURSE, PAID_OUT)
    connector = airtel()
    answer = await connector.send(DISBURSEMENT)
    assert (answer.verdict, answer.is_fault) == (Verdict.UNSENT, True)
    SUCCESS.check(await connector.send(DISBURSEMENT))


async def test_a_renewal_that_fails_means_nothing_was_taken_in(teller: Teller, airtel: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, http("503 Service Unavailable", PAGE, media_type="text/html"))
    teller.expect(DISBURSE, TOKEN_ENDED)
    answer = await airtel().send(DISBURSEMENT)
    assert (answer.verdict, answer.is_fault) == (Verdict.UNSENT, True)


async def test_a_caller_who_gives_up_takes_no_token_from_the_others(teller: Teller, airtel: Connect) -> None:
    gate = asyncio.Event()
    teller.always(GET_TOKEN, replace(TOKEN_GIVEN, held_by=gate))
    teller.expect(DISBURSE, PAID_OUT)
    connector = airtel()
    impatient = asyncio.create_task(connector.send(COLLECTION))
    await teller.was_called.wait()
    patient = asyncio.create_task(connector.send(DISBURSEMENT))
    await asyncio.sleep(0.02)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    gate.set()
    SUCCESS.check(await patient)


# The rest of what a connector is.


async def test_a_knock_sends_no_payment(teller: Teller, airtel: Connect) -> None:
    teller.always(GET_TOKEN, TOKEN_GIVEN)
    answer = await airtel().probe()
    assert not answer.is_fault
    assert set(teller.lines) == {GET_TOKEN}


async def test_what_the_worker_must_know_of_it(airtel: Connect) -> None:
    connector = airtel(airtel_money_concurrency=7)
    assert (connector.name, connector.concurrency) == ("airtel_money", 7)
    assert connector.resubmit(Type.DISBURSEMENT) is Resubmit.DUPLICATES_REFUSED
