"""Tokens and sessions, of every network that has them: asked for once, renewed once, and without one nothing is sent.

How a token is asked for, byte for byte, is in the folder of each network.
"""

import asyncio
import dataclasses
import json
import re
from typing import Any

import pytest
from msgspec.structs import replace

from malipo.networks.connector import Verdict
from malipo.networks.http.client import HttpClient
from tests.networks import airtel_money_spec, azampay_spec, clickpesa_spec, tigo_pesa_spec
from tests.networks.faults.broken_replies import check_nothing_sent
from tests.networks.payment_calls import (
    AIRTEL,
    AIRTEL_COLLECTION_QUERY,
    AZAM,
    CALLS,
    CLICK,
    CLICK_COLLECTION_QUERY,
    MPESA,
    MPESA_COLLECTION_QUERY,
    NO_ENTRY,
    PAYMENTS,
    TIGO,
    Call,
    Entry,
)
from tests.networks.scripted_server import After, Reply, Request, ScriptedServer, http
from tests.networks.verdict_words import FAIL_CFG, UNKNOWN, Outcome

PAGE = "<!DOCTYPE html><html><body>Not here</body></html>"
BARE = http("401 Unauthorized")
A_PAGE = http("401 Unauthorized", PAGE, media_type="text/html")


def said(status: str, **fields: Any) -> Reply:
    return http(status, json.dumps(fields))


# By what a call learns that its token has ended.
ENDED: dict[Entry, list[Reply]] = {
    MPESA: [
        said("401 Unauthorized", output_error="Session has expired"),
        said("401 Unauthorized", output_error="Invalid Session ID"),
        said("400 Bad Request", output_error="The session key is invalid"),
        said("403 Forbidden", output_error="SESSION EXPIRED"),
    ],
    AIRTEL: [airtel_money_spec.TOKEN_ENDED, airtel_money_spec.coded(401, "", result_code=""), A_PAGE, BARE],
    TIGO: [tigo_pesa_spec.TOKEN_ENDED, A_PAGE, BARE],
    CLICK: [clickpesa_spec.TOKEN_ENDED],
    AZAM: [azampay_spec.TOKEN_ENDED],
}

# What a payment is told whose new token is refused as well. M-Pesa's may take half a minute to become valid.
REFUSED_AGAIN: dict[Entry, Outcome] = {
    MPESA: Outcome(Verdict.UNSENT),
    AIRTEL: FAIL_CFG,
    TIGO: FAIL_CFG,
    CLICK: FAIL_CFG,
    AZAM: FAIL_CFG,
}

# Our credentials are refused: only an operator can fix that.
REFUSED_CREDENTIALS: dict[Entry, list[Reply]] = {
    MPESA: [
        said("400 Bad Request", output_ResponseCode="INS-989", output_ResponseDesc="Session Creation Failed"),
        said("401 Unauthorized", output_ResponseCode="INS-2001", output_ResponseDesc="Initiator authentication error."),
        said("401 Unauthorized", output_ResponseCode="INS-2", output_ResponseDesc="Invalid API Key"),
        said("401 Unauthorized", output_error="Bad API Key"),
        said("404 Not Found", output_error="Unknown path"),
    ],
    AIRTEL: [
        said("400 Bad Request", error="invalid_client", error_description="Client authentication failed"),
        said("401 Unauthorized", error="unauthorized", error_description="Bad credentials"),
    ],
    TIGO: [
        said("400 Bad Request", error="invalid_grant", error_description="The user name or password is incorrect"),
        said("200 OK", error="invalid_grant", error_description="The user name or password is incorrect"),
        said("400 Bad Request", error="unsupported_grant_type"),
        said("401 Unauthorized", error="invalid_client"),
        said("200 OK", access_token="", error="invalid_grant"),
        said("200 OK", access_token=None, error="invalid_grant"),
    ],
    CLICK: [
        said("401 Unauthorized", message="Invalid API key"),
        said("403 Forbidden", message="Forbidden"),
    ],
    AZAM: [azampay_spec.NOT_LET_IN, said("401 Unauthorized", message="Unauthorized")],
}

# There is no token, and nobody says that it is our fault: it passes.
NO_TOKEN: dict[Entry, list[Reply]] = {
    MPESA: [
        said("500 Internal Server Error", output_ResponseCode="INS-1", output_ResponseDesc="Internal Error"),
        said("503 Service Unavailable", output_ResponseCode="INS-16", output_ResponseDesc="Overload"),
        http("502 Bad Gateway", PAGE, media_type="text/html"),
        said("500 Internal Server Error", output_error="Session service is down"),
        http("200 OK", PAGE, media_type="text/html"),
        http("200 OK"),
        said("200 OK", output_ResponseCode="INS-0", output_ResponseDesc="Request processed successfully"),
        said("200 OK", output_ResponseCode="INS-0", output_SessionID=""),
        said("200 OK", output_ResponseCode="INS-0", output_SessionID=None),
        said("200 OK", output_ResponseCode="INS-0", output_SessionID="x" * 600),  # more than fits under RSA
        said("400 Bad Request", output_ResponseCode="INS-1", output_ResponseDesc="Internal Error"),
        said("408 Request Timeout", output_ResponseCode="INS-9", output_ResponseDesc="Request timeout"),
        said("429 Too Many Requests", output_error="Too many requests"),
        http("403 Forbidden", PAGE, media_type="text/html"),
        http("200 OK", '["output_SessionID"]'),
    ],
    AIRTEL: [
        said("500 Internal Server Error", error="server_error"),
        http("503 Service Unavailable", PAGE, media_type="text/html"),
        http("200 OK", PAGE, media_type="text/html"),
        http("200 OK"),
        said("200 OK", token_type="bearer", expires_in=180),
        said("200 OK", access_token="", expires_in=180),
        said("200 OK", access_token=None, expires_in=180),
        said("200 OK", access_token="two\r\nX-Lines: 1", expires_in=180),
        http("200 OK", '["access_token"]'),
    ],
    TIGO: [
        said("500 Internal Server Error", error="invalid_grant"),
        http("503 Service Unavailable", PAGE, media_type="text/html"),
        http("403 Forbidden", PAGE, media_type="text/html"),
        http("200 OK", "{}"),
        http("200 OK", "[]"),
        http("200 OK"),
        said("200 OK", access_token=""),
        said("200 OK", access_token=None),
        said("200 OK", access_token=True),
        said("200 OK", access_token=["a"]),
        said("200 OK", access_token="a\r\nX-Evil: 1"),
        said("200 OK", Access_Token="abc"),
        http("429 Too Many Requests", "{}"),
        Reply(after=After.RESET),
        Reply(after=After.CLOSE),
    ],
    CLICK: [
        http("200 OK", "{}"),
        said("200 OK", success=False, token=""),
        said("200 OK", success=True, token=None),
        said("200 OK", success=True, token="Bearer "),
        said("200 OK", success=True, token="Bearer a\r\nX-Evil: 1"),
        said("200 OK", success=True, token=["Bearer a"]),
        said("429 Too Many Requests", message="Slow down"),
        said("500 Internal Server Error", success=True),
        http("200 OK", PAGE, media_type="text/html"),
        Reply(after=After.RESET),
    ],
    AZAM: [
        http("200 OK", "{}"),
        said("200 OK", data=None, success=True),
        said("200 OK", data={"accessToken": ""}, success=True),
        said("200 OK", data={"accessToken": "a b"}, success=True),
        said("200 OK", data={"accessToken": "a\r\nX-Evil: 1"}, success=True),
        said("200 OK", data={"accessToken": ["a"]}, success=True),
        said("200 OK", data={"accessToken": "abc"}, success=False),
        http("423 Locked", PAGE, media_type="text/html"),
        said("429 Too Many Requests", message="Slow down"),
        said("500 Internal Server Error", data={"accessToken": "abc"}, success=True),
        Reply(after=After.RESET),
    ],
}


def lasting(entry: Entry, length: str) -> Reply:
    """A token that says, in these characters of JSON, how long it is good."""
    if entry is AZAM:
        return http("200 OK", f'{{"data":{{"accessToken":"{azampay_spec.TOKEN}","expire":{length}}},"success":true}}')
    return http("200 OK", f'{{"access_token":"{entry.tokens[0]}","expires_in":{length},"token_type":"bearer"}}')


# Lengths that are understood, and long enough for another call.
LONG: dict[Entry, list[str]] = {
    AIRTEL: ['"180"', "180", '"180.0"', "180.5"],
    TIGO: ["86399", '"86399"'],
    # The third has no zone: it is not understood, as the next are not, and used for a while. The last two are over, or
    # far away, by their clock or ours: each is good for a minute at least.
    AZAM: [
        '"2099-04-27T22:00:00Z"',
        '"2099-04-27T22:00:00+03:00"',
        '"2099-04-27T22:00:00"',
        '"not a time"',
        "null",
        '["2099"]',
        '"0001-01-01T00:00:00+14:00"',
        '"9999-12-31T23:59:59-14:00"',
    ],
}
# Too short, or nonsense: the call that it was fetched for has it, and perhaps no other.
STRANGE = [
    *("0", "-5", "30", '"0"', '"soon"', '""', "null", "true", "[]", "{}"),
    *("1e308", '"1e999"', '"nan"', '"inf"', "9" * 400),
]

CALLS_WITH_A_TOKEN = [
    *(call for call in CALLS if call.entry is not NO_ENTRY),
    *(MPESA_COLLECTION_QUERY, AIRTEL_COLLECTION_QUERY, CLICK_COLLECTION_QUERY),
]
EACH = pytest.mark.parametrize("call", CALLS_WITH_A_TOKEN, ids=str)
EACH_NETWORK = pytest.mark.parametrize("entry", PAYMENTS, ids=str)


def test_every_network_with_a_token_has_its_rows() -> None:
    networks = {call.entry for call in CALLS_WITH_A_TOKEN}
    for table in (ENDED, REFUSED_AGAIN, REFUSED_CREDENTIALS, NO_TOKEN, PAYMENTS):
        assert set(table) == networks
    assert {call.name for call in CALLS if call.entry is NO_ENTRY} == {"Tigo payout", "Tigo query", "HaloPesa push"}


async def make_many(call: Call, server: ScriptedServer, http_client: HttpClient, *, number: int) -> None:
    """So many payments at once, each with a key of its own; each has its own bytes and its own answer."""
    connector = call.connect(server.port, http_client)
    orders = [replace(call.order, key=f"0K3ABCDEFGHJ{n:04}") for n in range(number)]
    for answer in await asyncio.gather(*(call.make(connector, order) for order in orders)):
        call.outcome.check(answer)
    assert len({each.body for each in server.on(call.line)}) == number


def echo(call: Call, request: Request) -> Reply:
    """The good reply, in the name of whoever asked."""
    keys = re.findall(rb"0K3ABCDEFGHJ[0-9]{4}", request.body)
    return dataclasses.replace(call.reply, sent=call.reply.sent.replace(call.order.key.encode(), keys[0]))


def other_headers(request: Request) -> list[tuple[str, str]]:
    """All but the token, and Airtel's signature, whose key is used once."""
    new = ("authorization", "x-signature", "x-key")
    return [(name, value) for name, value in request.headers if name.lower() not in new]


# Asked for once.


@EACH_NETWORK
async def test_one_token_serves_every_call(server: ScriptedServer, http_client: HttpClient, entry: Entry) -> None:
    calls = [call for call in CALLS_WITH_A_TOKEN if call.entry is entry and call.connect is PAYMENTS[entry].connect]
    server.expect(entry.line, entry.given)
    connector = calls[0].connect(server.port, http_client)
    for call in (*calls, calls[0]):
        server.expect(call.line, call.reply)
        call.outcome.check(await call.make(connector))
    assert {entry.bearer(each) for each in server.requests[1:]} == {entry.tokens[0]}


@EACH_NETWORK
async def test_thirty_payments_at_once_ask_for_one_token(
    server: ScriptedServer, http_client: HttpClient, entry: Entry
) -> None:
    call = PAYMENTS[entry]
    server.expect(entry.line, dataclasses.replace(entry.given, delay_seconds=0.05))
    server.always(call.line, lambda request: echo(call, request))
    await make_many(call, server, http_client, number=30)


@EACH_NETWORK
async def test_a_caller_who_gives_up_takes_no_token_from_the_others(
    server: ScriptedServer, http_client: HttpClient, entry: Entry
) -> None:
    call, gate = PAYMENTS[entry], asyncio.Event()
    server.expect(entry.line, dataclasses.replace(entry.given, held_by=gate))
    server.expect(call.line, call.reply)
    connector = call.connect(server.port, http_client)
    impatient = asyncio.create_task(call.make(connector))
    await server.was_called.wait()
    patient = asyncio.create_task(call.make(connector))
    await asyncio.sleep(0)
    impatient.cancel()
    await asyncio.gather(impatient, return_exceptions=True)
    gate.set()
    call.outcome.check(await patient)


# How long it is used.


@pytest.mark.parametrize(("entry", "length"), [(entry, each) for entry, lengths in LONG.items() for each in lengths])
async def test_a_token_that_is_good_for_long_serves_the_next_call_too(
    server: ScriptedServer, http_client: HttpClient, entry: Entry, length: str
) -> None:
    call = PAYMENTS[entry]
    server.expect(entry.line, lasting(entry, length))
    server.expect(call.line, call.reply, call.reply)
    connector = call.connect(server.port, http_client)
    for _ in range(2):
        call.outcome.check(await call.make(connector))


@pytest.mark.parametrize("length", STRANGE, ids=lambda length: length[:9])
async def test_a_token_of_strange_length_still_serves_the_call_it_was_fetched_for(
    server: ScriptedServer, http_client: HttpClient, length: str
) -> None:
    for entry in (AIRTEL, TIGO):
        call = PAYMENTS[entry]
        server.always(entry.line, lasting(entry, length))
        server.expect(call.line, call.reply, call.reply)
        connector = call.connect(server.port, http_client)
        for _ in range(2):
            call.outcome.check(await call.make(connector))
        assert server.lines.count(entry.line) <= 2


async def test_a_token_that_does_not_say_how_long_it_lives_serves_the_call(
    server: ScriptedServer, http_client: HttpClient
) -> None:
    for entry in (AIRTEL, TIGO):
        call = PAYMENTS[entry]
        server.expect(entry.line, said("200 OK", access_token=entry.tokens[0]))
        server.expect(call.line, call.reply)
        call.outcome.check(await call.make(call.connect(server.port, http_client)))


async def test_a_token_is_renewed_in_time(http_client: HttpClient) -> None:
    """All at once, for each takes its time. Airtel's and Tigo's are renewed half a minute before they end."""

    async def renew(entry: Entry, first: Reply, **changes: Any) -> list[str]:
        call = PAYMENTS[entry]
        async with ScriptedServer.opened() as server:
            server.expect(entry.line, first, entry.next_given)
            server.always(call.line, call.reply)
            connector = call.connect(server.port, http_client, **changes)
            await call.make(connector)
            await asyncio.sleep(0.4)
            await call.make(connector)
            return [entry.bearer(each) for each in server.on(call.line)]

    old, new = 0, 1
    rows: list[tuple[Entry, Reply, dict[str, Any], int]] = [
        (MPESA, MPESA.given, {"mpesa_session_seconds": 0.3}, new),
        (MPESA, MPESA.given, {"mpesa_session_seconds": 60}, old),
        (AIRTEL, lasting(AIRTEL, '"30.3"'), {}, new),
        (AIRTEL, lasting(AIRTEL, "30.3"), {}, new),
        (AIRTEL, lasting(AIRTEL, "60"), {}, old),
        (AIRTEL, lasting(AIRTEL, "5"), {}, new),
        (TIGO, lasting(TIGO, '"30.3"'), {}, new),
        (TIGO, lasting(TIGO, "30.3"), {}, new),
        (TIGO, lasting(TIGO, "60"), {}, old),
        (TIGO, lasting(TIGO, "5"), {}, new),
    ]
    used = await asyncio.gather(*(renew(entry, first, **changes) for entry, first, changes, _ in rows))
    assert used == [[entry.tokens[0], entry.tokens[which]] for entry, _, _, which in rows]


# Renewed once.


@EACH
async def test_an_ended_token_is_renewed_once_and_the_same_bytes_go_again(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    for refusal in ENDED[call.entry]:
        server.requests.clear()
        server.expect(call.entry.line, call.entry.given, call.entry.next_given)
        server.expect(call.line, refusal, call.reply)
        call.outcome.check(await call.make(call.connect(server.port, http_client)))
        first, second = server.on(call.line)
        assert first.body == second.body
        assert other_headers(first) == other_headers(second)
        assert (call.entry.bearer(first), call.entry.bearer(second)) == call.entry.tokens


@EACH
async def test_a_token_refused_again_is_not_tried_a_third_time(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    """Of a payment that was sent before, it says nothing."""
    server.expect(call.entry.line, call.entry.given, call.entry.next_given)
    server.expect(call.line, call.entry.ended, call.entry.ended)
    answer = await call.make(call.connect(server.port, http_client))
    (REFUSED_AGAIN[call.entry] if call.is_payment else UNKNOWN).check(answer)


@EACH
async def test_a_renewal_that_fails_means_nothing_was_taken_in(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    server.expect(call.entry.line, call.entry.given, http("503 Service Unavailable", PAGE, media_type="text/html"))
    server.expect(call.line, call.entry.ended)
    check_nothing_sent(call, await call.make(call.connect(server.port, http_client)))


@EACH_NETWORK
async def test_a_crowd_whose_token_ended_renews_it_once(
    server: ScriptedServer, http_client: HttpClient, entry: Entry
) -> None:
    call = PAYMENTS[entry]
    server.expect(entry.line, entry.given, dataclasses.replace(entry.next_given, delay_seconds=0.05))
    server.always(
        call.line,
        lambda request: echo(call, request) if entry.bearer(request) == entry.tokens[1] else entry.ended,
    )
    await make_many(call, server, http_client, number=20)


# Without one.


@EACH
async def test_refused_credentials_refuse_the_payment_and_call_the_operator(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    """Of a payment that was sent before, they say nothing."""
    for refusal in REFUSED_CREDENTIALS[call.entry]:
        server.expect(call.entry.line, refusal)
        answer = await call.make(call.connect(server.port, http_client))
        (FAIL_CFG if call.is_payment else UNKNOWN).check(answer)
    assert server.on(call.line) == []


@EACH
async def test_without_a_token_nothing_is_sent_and_the_next_try_asks_afresh(
    server: ScriptedServer, http_client: HttpClient, call: Call
) -> None:
    for reply in NO_TOKEN[call.entry]:
        server.expect(call.entry.line, reply, call.entry.given)
        connector = call.connect(server.port, http_client)
        check_nothing_sent(call, await call.make(connector))
        server.expect(call.line, call.reply)
        call.outcome.check(await call.make(connector))
