"""Tigo Pesa, byte for byte: a push in JSON, a question and a payout in XML, and a callback that nobody signed."""

import asyncio
import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from malipo.networks.contract import Answer, FailureCode, News, Order, Resubmit, Type, Verdict
from malipo.networks.contract import Callback as Heard
from malipo.networks.tigo_pesa import TigoPesa
from malipo.networks.wire import Wire
from malipo.settings import BadSettings, Settings, read
from tests.networks.hostile import UNREADABLE, WRONG_SHAPES
from tests.networks.outcome import (
    DECLINED,
    EXPIRED,
    FAIL_CFG,
    INSUFFICIENT,
    MISSING,
    PENDING,
    REJECTED,
    SUCCESS,
    UNKNOWN,
    Outcome,
    assert_fit_to_keep,
)
from tests.networks.teller import After, Reply, Request, Teller, http
from tests.networks.tigo_pesa_sheet import (
    CASH_IN,
    CASH_IN_CODES,
    COLLECTION,
    DISBURSEMENT,
    GET_TOKEN,
    NEXT_TOKEN,
    NEXT_TOKEN_GIVEN,
    PAID_OUT,
    PASSWORD,
    POSTED,
    PUSH,
    PUSH_CODES,
    PUSHED,
    QUERY,
    RECEIPT,
    TOKEN,
    TOKEN_ENDED,
    TOKEN_GIVEN,
    USERNAME,
    cash_in_reply,
    command,
    push_reply,
    query_reply,
    settings,
)

Connect = Callable[..., TigoPesa]


@pytest.fixture
def tigo(teller: Teller, wire: Wire) -> Connect:
    def connect(**changes: Any) -> TigoPesa:
        return TigoPesa(Settings(**settings(teller.port) | changes), wire)

    return connect


@pytest.fixture
def offline() -> Connect:
    """One that only reads: nobody is at the other end."""

    def connect(**changes: Any) -> TigoPesa:
        return TigoPesa(Settings(**settings(9) | changes), Wire())

    return connect


def order(base: Order, **changes: object) -> Order:
    said = {name: getattr(base, name) for name in base.__struct_fields__}
    return Order(**(said | changes))


def echo(request: Request) -> Reply:
    """Accepted, in the name of whoever asked."""
    return push_reply("BILLER-18-0000-S", status=True, ReferenceID=json.loads(request.body)["ReferenceID"])


# What is sent.


async def test_a_token_is_asked_for_with_these_bytes(teller: Teller, tigo: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(PUSH, PUSHED)
    await tigo().send(COLLECTION)
    request = teller.heard[0]
    assert (request.method, request.target) == ("POST", "/MALIPO2DM-GetToken")
    assert request.body == b"username=malipo_user&password=p%40ss%26w0rd%3D%2B%25%2F%3F&grant_type=password"
    assert request.header("Content-Type") == "application/x-www-form-urlencoded"
    assert request.header("Cache-Control") == "no-cache"
    assert "authorization" not in request.header_names


async def test_a_push_is_these_bytes(teller: Teller, tigo: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(PUSH, PUSHED)
    answer = await tigo().send(COLLECTION)
    PENDING.check(answer)
    request = teller.heard[1]
    assert (request.method, request.target) == ("POST", "/MALIPO2DM-PushBillpay")
    assert request.body == (
        b'{"CustomerMSISDN":"255652000001","BillerMSISDN":"255710000009","Amount":1500,'
        b'"Remarks":"Order 12 thanks","ReferenceID":"MLP0K3ABCDEFGHJ1234"}'
    )
    assert_push_headers(request, TOKEN)


def assert_push_headers(request: Request, token: str) -> None:
    assert request.header("Authorization") == f"bearer {token}"
    assert request.header("Username") == USERNAME
    assert request.header("Password") == PASSWORD
    assert request.header("Content-Type") == "application/json"
    assert request.header("Cache-Control") == "no-cache"
    assert len(request.header_names) == len(set(request.header_names))


async def test_a_biller_without_a_code_sends_the_key_as_it_is(teller: Teller, tigo: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(PUSH, push_reply("BILLER-18-0000-S", status=True, ReferenceID=COLLECTION.key))
    teller.expect(QUERY, query_reply("0", "Posted", EXTERNALREFID=COLLECTION.key))
    teller.expect(CASH_IN, command(TYPE="RESMFICI", REFERENCEID=DISBURSEMENT.key, TXNID=RECEIPT, TXNSTATUS="200"))
    connector = tigo(tigo_pesa_biller_code="")
    PENDING.check(await connector.send(COLLECTION))
    SUCCESS.check(await connector.ask(COLLECTION))
    SUCCESS.check(await connector.send(DISBURSEMENT))
    assert json.loads(teller.heard[1].body)["ReferenceID"] == "0K3ABCDEFGHJ1234"
    assert b"<EXTERNALREFID>0K3ABCDEFGHJ1234</EXTERNALREFID>" in teller.heard[2].body
    assert b"<REFERENCEID>0K3ABCDEFGHJ5678</REFERENCEID>" in teller.heard[3].body


@pytest.mark.parametrize(
    ("note", "remarks"),
    [
        ("Order 12, thanks!", "Order 12 thanks"),
        ("  two  spaces\tand a tab\r\nand lines ", "two spaces and a tab and lines"),
        ('","Amount":1,"x":"', "Amount 1 x"),
        ("a", "a"),
        ("", "Payment"),
        ("!?…—", "Payment"),
    ],
)
async def test_a_note_is_cleaned(teller: Teller, tigo: Connect, note: str, remarks: str) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(PUSH, PUSHED)
    await tigo().send(order(COLLECTION, note=note))
    assert json.loads(teller.heard[1].body)["Remarks"] == remarks


async def test_a_payout_is_these_bytes(teller: Teller, tigo: Connect) -> None:
    teller.expect(CASH_IN, PAID_OUT)
    answer = await tigo().send(DISBURSEMENT)
    SUCCESS.check(answer)
    assert answer.provider_reference == RECEIPT
    (request,) = teller.heard
    assert (request.method, request.target) == ("POST", "/MALIPO2DM-MFICashIn")
    assert request.body == (
        b'<?xml version="1.0"?><COMMAND><TYPE>REQMFICI</TYPE><REFERENCEID>MLP0K3ABCDEFGHJ5678</REFERENCEID>'
        b"<MSISDN>255710000008</MSISDN><PIN>80917263</PIN><MSISDN1>255712345678</MSISDN1><AMOUNT>250000</AMOUNT>"
        b"<LANGUAGE1>en</LANGUAGE1></COMMAND>"
    )
    assert re.fullmatch(r"(text|application)/xml(; ?charset=UTF-8)?", request.header("Content-Type"), re.IGNORECASE)
    assert "authorization" not in request.header_names


async def test_what_later_integrations_add_to_a_payout_is_a_setting(teller: Teller, tigo: Connect) -> None:
    teller.expect(CASH_IN, PAID_OUT)
    connector = tigo(
        tigo_pesa_disbursement_type="REQMFICIK",
        tigo_pesa_language="sw",
        tigo_pesa_sender_name="Malipo Ltd.",
        tigo_pesa_brand_id="1234",
    )
    await connector.send(DISBURSEMENT)
    assert teller.heard[0].body == (
        b'<?xml version="1.0"?><COMMAND><TYPE>REQMFICIK</TYPE><REFERENCEID>MLP0K3ABCDEFGHJ5678</REFERENCEID>'
        b"<MSISDN>255710000008</MSISDN><PIN>80917263</PIN><MSISDN1>255712345678</MSISDN1><AMOUNT>250000</AMOUNT>"
        b"<SENDERNAME>Malipo Ltd.</SENDERNAME><LANGUAGE1>sw</LANGUAGE1><BRAND_ID>1234</BRAND_ID></COMMAND>"
    )


async def test_no_setting_breaks_out_of_its_element(teller: Teller, tigo: Connect) -> None:
    teller.expect(CASH_IN, PAID_OUT)
    evil = "</SENDERNAME><AMOUNT>9</AMOUNT>&\"'\x01\x00"
    await tigo(tigo_pesa_sender_name=evil, tigo_pesa_brand_id="1<2&3").send(DISBURSEMENT)
    body = teller.heard[0].body
    assert body.count(b"<AMOUNT>") == 1
    assert b"<SENDERNAME>&lt;/SENDERNAME&gt;&lt;AMOUNT&gt;9&lt;/AMOUNT&gt;&amp;" in body
    assert b"<BRAND_ID>1&lt;2&amp;3</BRAND_ID>" in body
    assert b"\x00" not in body
    assert b"\x01" not in body


async def test_a_reference_with_the_longest_code_and_key_fits(teller: Teller, tigo: Connect) -> None:
    teller.expect(CASH_IN, cash_in_reply("0", reference="ABCD0K3ABCDEFGHJ5678"))
    SUCCESS.check(await tigo(tigo_pesa_biller_code="ABCD").send(DISBURSEMENT))
    found = re.search(rb"<REFERENCEID>([A-Za-z0-9]+)</REFERENCEID>", teller.heard[0].body)
    assert found is not None
    assert len(found[1]) == 20


async def test_a_query_is_these_bytes(teller: Teller, tigo: Connect) -> None:
    teller.expect(QUERY, POSTED, POSTED)
    connector = tigo()
    for _ in range(2):
        await connector.ask(COLLECTION)
    own = []
    for request in teller.heard:
        assert (request.method, request.target) == ("POST", "/MALIPO2DM-TQS")
        match = re.fullmatch(
            rb'<\?xml version="1\.0"\?><COMMAND><TYPE>MTPGGetSODetails</TYPE><REFERENCEID>([A-Za-z0-9]{1,20})</REFERENCEID>'
            rb"<MSISDN>255710000009</MSISDN><PIN>80917263</PIN>"
            rb"<EXTERNALREFID>MLP0K3ABCDEFGHJ1234</EXTERNALREFID></COMMAND>",
            request.body,
        )
        assert match is not None, request.body
        own.append(match[1])
        assert re.fullmatch(r"text/xml(; ?charset=UTF-8)?", request.header("Content-Type"), re.IGNORECASE)
    assert own[0] != own[1]  # it is the query's own: asked twice under one, the second may be refused as a duplicate


# The token.


async def test_one_token_serves_many_pushes_and_neither_question_nor_payout_needs_one(
    teller: Teller, tigo: Connect
) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(PUSH, PUSHED, PUSHED)
    teller.expect(QUERY, POSTED)
    teller.expect(CASH_IN, PAID_OUT)
    connector = tigo()
    await connector.ask(COLLECTION)
    await connector.send(DISBURSEMENT)
    assert teller.lines == [QUERY, CASH_IN]
    await connector.send(COLLECTION)
    await connector.send(COLLECTION)
    for request in teller.on(PUSH):
        assert_push_headers(request, TOKEN)


async def test_thirty_pushes_at_once_ask_for_one_token(teller: Teller, tigo: Connect) -> None:
    teller.expect(GET_TOKEN, replace(TOKEN_GIVEN, delay_seconds=0.05))
    teller.always(PUSH, echo)
    connector = tigo()
    answers = await asyncio.gather(*(connector.send(order(COLLECTION, key=f"0K3ABCDEFGHJ{n:04}")) for n in range(30)))
    assert {each.verdict for each in answers} == {Verdict.WAITING}
    assert len({each.body for each in teller.on(PUSH)}) == len(teller.on(PUSH)) == 30


@pytest.mark.parametrize(
    "status", ["200 OK", "201 Created", "302 Found", "400 Bad Request", "500 Internal Server Error"]
)
async def test_a_token_counts_whatever_the_status(teller: Teller, tigo: Connect, status: str) -> None:
    teller.expect(GET_TOKEN, http(status, f'{{"access_token":"{TOKEN}","expires_in":3600}}'))
    teller.expect(PUSH, PUSHED)
    PENDING.check(await tigo().send(COLLECTION))


async def test_a_token_is_renewed_half_a_minute_before_it_ends(wire: Wire) -> None:
    async def renew(expires_in: str) -> list[str]:
        async with Teller.opened() as teller:
            teller.expect(
                GET_TOKEN, http("200 OK", f'{{"access_token":"{TOKEN}","expires_in":{expires_in}}}'), NEXT_TOKEN_GIVEN
            )
            teller.always(PUSH, PUSHED)
            connector = TigoPesa(Settings(**settings(teller.port)), wire)
            await connector.send(COLLECTION)
            await asyncio.sleep(0.4)
            await connector.send(COLLECTION)
            return [each.header("Authorization") for each in teller.on(PUSH)]

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
    teller: Teller, tigo: Connect, refusal: Reply
) -> None:
    teller.expect(GET_TOKEN, refusal)
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
    teller: Teller, tigo: Connect, reply: Reply
) -> None:
    teller.expect(GET_TOKEN, reply)
    answer = await tigo().send(COLLECTION)
    assert (answer.verdict, answer.is_fault, answer.failure_code) == (Verdict.UNSENT, True, None), answer
    assert_fit_to_keep(answer)


@pytest.mark.parametrize(
    "refusal",
    [TOKEN_ENDED, http("401 Unauthorized"), http("401 Unauthorized", "<html></html>", media_type="text/html")],
)
async def test_an_ended_token_is_renewed_once_and_the_same_bytes_go_again(
    teller: Teller, tigo: Connect, refusal: Reply
) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    teller.expect(PUSH, refusal, PUSHED)
    PENDING.check(await tigo().send(COLLECTION))
    first, second = teller.on(PUSH)
    assert first.body == second.body
    assert_push_headers(first, TOKEN)
    assert_push_headers(second, NEXT_TOKEN)


async def test_a_token_refused_again_refuses_the_payment_and_calls_the_operator(teller: Teller, tigo: Connect) -> None:
    teller.expect(GET_TOKEN, TOKEN_GIVEN, NEXT_TOKEN_GIVEN)
    teller.expect(PUSH, TOKEN_ENDED, TOKEN_ENDED)
    FAIL_CFG.check(await tigo().send(COLLECTION))


# What a push's reply means.


async def pushed(teller: Teller, tigo: Connect, reply: Reply) -> Answer:
    teller.always(GET_TOKEN, TOKEN_GIVEN)
    teller.expect(PUSH, reply)
    return await tigo().send(COLLECTION)


@pytest.mark.parametrize("http_status", [200, 400])
@pytest.mark.parametrize(("code", "outcome"), PUSH_CODES)
async def test_a_refused_push_is_read_by_its_code(
    teller: Teller, tigo: Connect, code: str, outcome: Outcome, http_status: int
) -> None:
    outcome.check(await pushed(teller, tigo, push_reply(code, http_status=http_status)))


@pytest.mark.parametrize(("code", "outcome"), [*PUSH_CODES, ("BILLER-18-0000-S", PENDING)])
async def test_a_gateway_in_trouble_says_nothing_whatever_the_code(
    teller: Teller, tigo: Connect, code: str, outcome: Outcome
) -> None:
    for http_status in (500, 503):
        answer = await pushed(teller, tigo, push_reply(code, status=outcome is PENDING, http_status=http_status))
        UNKNOWN.check(answer)
        assert answer.is_fault


@pytest.mark.parametrize("reference", ["MLP0K3ABCDEFGHJ9999", "0K3ABCDEFGHJ9999", "MLP0K3ABCDEFGHJ12345"])
async def test_a_push_reply_that_names_another_payment_is_not_believed(
    teller: Teller, tigo: Connect, reference: str
) -> None:
    UNKNOWN.check(await pushed(teller, tigo, push_reply("BILLER-18-0000-S", status=True, ReferenceID=reference)))
    UNKNOWN.check(await pushed(teller, tigo, push_reply("BILLER-18-3019-E", ReferenceID=reference)))


async def test_a_push_reply_that_names_no_payment_is_about_ours(teller: Teller, tigo: Connect) -> None:
    for nothing in ("", None):
        PENDING.check(await pushed(teller, tigo, push_reply("BILLER-18-0000-S", status=True, ReferenceID=nothing)))


@pytest.mark.parametrize("status", [False, "false", None, "", 0])
async def test_an_accepting_code_that_says_it_was_refused_decides_nothing(
    teller: Teller, tigo: Connect, status: object
) -> None:
    UNKNOWN.check(await pushed(teller, tigo, push_reply("BILLER-18-0000-S", status=status)))


@pytest.mark.parametrize("code", ["BILLER-18-3019-E", "DebitMandate-10-2005-E", "DebitMandate-10-3000-E"])
async def test_a_refusing_code_that_says_it_was_accepted_decides_nothing(
    teller: Teller, tigo: Connect, code: str
) -> None:
    answer = await pushed(teller, tigo, push_reply(code, status=True))
    UNKNOWN.check(answer)
    assert not answer.refuses_us


@pytest.mark.parametrize("code", [None, 0, True, [], {}, "BILLER-18-0000-X", "biller", "0000"])
async def test_a_push_with_a_strange_code_is_never_definite(teller: Teller, tigo: Connect, code: object) -> None:
    for status in (True, False):
        assert not (await pushed(teller, tigo, push_reply(code, status=status))).verdict.is_definite


@pytest.mark.parametrize(
    "more",
    [
        {"ResponseDescription": "Duplicate ReferenceID"},
        {"ResponseDescription": "duplicate reference id MLP0K3ABCDEFGHJ1234"},
        {"ResponseDescription": "", "Message": "DuplicateRefID"},
    ],
)
@pytest.mark.parametrize("code", ["", "DebitMandate-10-2020-V", "BILLER-18-9999-E"])
async def test_a_duplicate_is_asked_about_and_never_refused(
    teller: Teller, tigo: Connect, code: str, more: dict[str, Any]
) -> None:
    """The first of the two may have been paid."""
    UNKNOWN.check(await pushed(teller, tigo, push_reply(code, **more)))


@pytest.mark.parametrize("status", ["403 Forbidden", "404 Not Found", "409 Conflict", "408 Request Timeout"])
async def test_an_error_without_a_code_says_nothing(teller: Teller, tigo: Connect, status: str) -> None:
    for body in ("<html></html>", "{}", '{"Message":"No"}', ""):
        UNKNOWN.check(await pushed(teller, tigo, http(status, body)))


# What a payout's reply means.


@pytest.mark.parametrize(("code", "outcome"), CASH_IN_CODES)
async def test_a_payout_is_read_by_its_status(teller: Teller, tigo: Connect, code: str, outcome: Outcome) -> None:
    teller.expect(CASH_IN, cash_in_reply(code))
    outcome.check(await tigo().send(DISBURSEMENT))


async def test_a_payout_without_a_status_is_unknown(teller: Teller, tigo: Connect) -> None:
    for reply in (
        command(TYPE="RESMFICI", REFERENCEID="MLP0K3ABCDEFGHJ5678", TXNID=RECEIPT, MESSAGE="OK"),
        command(TYPE="RESMFICI"),
        command(),
        command(STATUS="0", RESULTCODE="0"),
    ):
        teller.expect(CASH_IN, reply)
        UNKNOWN.check(await tigo().send(DISBURSEMENT))


@pytest.mark.parametrize("code", ["0", "200", "60019", "317", "100"])
async def test_a_payout_through_a_gateway_in_trouble_is_unknown(teller: Teller, tigo: Connect, code: str) -> None:
    for status in ("500 Internal Server Error", "502 Bad Gateway", "504 Gateway Time-out", "408 Request Timeout"):
        teller.expect(CASH_IN, cash_in_reply(code, status=status))
        answer = await tigo().send(DISBURSEMENT)
        UNKNOWN.check(answer)
        assert answer.is_fault


@pytest.mark.parametrize("reference", ["MLP0K3ABCDEFGHJ9999", "0K3ABCDEFGHJ9999", "XYZ0K3ABCDEFGHJ5678"])
@pytest.mark.parametrize("code", ["0", "60019", "317"])
async def test_a_payout_reply_that_names_another_payment_is_not_believed(
    teller: Teller, tigo: Connect, code: str, reference: str
) -> None:
    teller.expect(CASH_IN, cash_in_reply(code, reference=reference))
    UNKNOWN.check(await tigo().send(DISBURSEMENT))


@pytest.mark.parametrize(
    "body",
    [
        "<COMMAND><TXNSTATUS>0</TXNSTATUS><TXNSTATUS>60019</TXNSTATUS></COMMAND>",
        "<COMMAND><TXNSTATUS>60019</TXNSTATUS><txnstatus>0</txnstatus></COMMAND>",
        '<!DOCTYPE COMMAND [<!ENTITY a "0">]><COMMAND><TXNSTATUS>&a;</TXNSTATUS></COMMAND>',
        "<COMMAND><TXNSTATUS>0</TXNSTATUS>",
        "<COMMAND><TXNSTATUS>0</TXNSTATUS></COMMAND><COMMAND/>",
        "TXNSTATUS=0",
        '{"TXNSTATUS":"0","TXNID":"7501236540"}',
    ],
)
async def test_a_payout_reply_that_is_not_plain_xml_is_unknown(teller: Teller, tigo: Connect, body: str) -> None:
    teller.expect(CASH_IN, http("200 OK", body, media_type="text/xml"))
    answer = await tigo().send(DISBURSEMENT)
    UNKNOWN.check(answer)
    assert answer.is_fault


async def test_a_payout_reply_that_names_no_payment_is_about_ours(teller: Teller, tigo: Connect) -> None:
    for reply in (cash_in_reply("0", reference=""), command(TYPE="RESMFICI", TXNID=RECEIPT, TXNSTATUS="0")):
        teller.expect(CASH_IN, reply)
        SUCCESS.check(await tigo().send(DISBURSEMENT))
    teller.expect(CASH_IN, cash_in_reply("317", reference=""))
    assert (await tigo().send(DISBURSEMENT)).verdict is Verdict.REFUSED


async def test_an_unauthorised_payout_is_not_sent_again(teller: Teller, tigo: Connect) -> None:
    """It has no token to renew."""
    for status in ("401 Unauthorized", "403 Forbidden", "404 Not Found", "429 Too Many Requests"):
        teller.expect(CASH_IN, http(status, "<html></html>", media_type="text/html"))
        assert (await tigo().send(DISBURSEMENT)).verdict in (Verdict.UNKNOWN, Verdict.UNSENT)
    assert len(teller.heard) == 4


async def test_there_is_no_question_about_a_payout(teller: Teller, tigo: Connect) -> None:
    connector = tigo()
    assert not connector.may_ask(Type.DISBURSEMENT)
    answer = await connector.ask(DISBURSEMENT)
    UNKNOWN.check(answer)
    assert "no query" in answer.code + answer.detail
    assert connector.resubmit(Type.DISBURSEMENT) is Resubmit.UNSAFE
    assert teller.heard == []


async def test_without_an_address_there_is_no_question_about_a_collection(teller: Teller, tigo: Connect) -> None:
    connector = tigo(tigo_pesa_query_url=None)
    assert not connector.may_ask(Type.COLLECTION)
    assert tigo().may_ask(Type.COLLECTION)
    UNKNOWN.check(await connector.ask(COLLECTION))
    assert teller.heard == []


# What a query's reply means.


async def asked(teller: Teller, tigo: Connect, reply: Reply) -> Answer:
    teller.expect(QUERY, reply)
    return await tigo().ask(COLLECTION)


async def test_a_posted_collection_is_confirmed(teller: Teller, tigo: Connect) -> None:
    answer = await asked(teller, tigo, POSTED)
    SUCCESS.check(answer)
    assert (answer.provider_reference, answer.amount, answer.alert) == (RECEIPT, 1500, None)
    assert answer.phone is None  # whose MSISDN it is, is not said


@pytest.mark.parametrize(
    ("word", "verdict", "failure_code", "has_alert"),
    [
        ("Posted", Verdict.CONFIRMED, None, False),
        ("Refund Declined", Verdict.CONFIRMED, None, True),
        ("Declined", Verdict.REFUSED, FailureCode.REJECTED, False),
        ("Refund", Verdict.REFUSED, FailureCode.REJECTED, True),
        ("", Verdict.UNKNOWN, None, None),
        ("Pending", Verdict.UNKNOWN, None, None),
        ("Not Posted", Verdict.UNKNOWN, None, None),
        ("Unposted", Verdict.UNKNOWN, None, None),
        ("0", Verdict.UNKNOWN, None, None),
        ("Refunded Posted Declined", Verdict.UNKNOWN, None, None),
    ],
)
async def test_a_query_is_read_by_its_status(
    teller: Teller,
    tigo: Connect,
    word: str,
    verdict: Verdict,
    failure_code: FailureCode | None,
    has_alert: bool | None,
) -> None:
    answer = await asked(teller, tigo, query_reply("0", word))
    assert (answer.verdict, answer.failure_code) == (verdict, failure_code), answer
    assert has_alert is None or (answer.alert is not None) == has_alert, answer
    assert not (answer.verdict.is_definite and answer.is_fault)


@pytest.mark.parametrize("code", ["GetSOError001", "GetSOError010", "GetSOError011", "GetSOError999", "1", "-1"])
async def test_a_query_with_an_error_says_nothing_of_the_payment(teller: Teller, tigo: Connect, code: str) -> None:
    """It may be our PIN, or that the payment is in progress. No code that says "no such reference" was published."""
    for word in ("", "Posted", "Declined", "N/A"):
        answer = await asked(teller, tigo, query_reply(code, word))
        UNKNOWN.check(answer)
        assert not answer.is_fault
        assert not answer.refuses_us


async def test_only_codes_on_the_operators_list_say_that_there_is_no_such_payment(
    teller: Teller, tigo: Connect
) -> None:
    listed = read({"MALIPO_TIGO_PESA_NOT_FOUND_CODES": "GetSOError010, 0404"}).tigo_pesa_not_found_codes
    connector = tigo(tigo_pesa_not_found_codes=listed)
    for code, word, outcome in (
        ("GetSOError010", "", MISSING),
        ("GetSOError010", "N/A", MISSING),
        ("GetSOError010", "Posted", UNKNOWN),  # it contradicts itself
        ("0404", "", MISSING),
        ("404", "", MISSING),
        ("GetSOError01", "", UNKNOWN),
        ("GetSOError0100", "", UNKNOWN),
        ("getsoerror010", "", UNKNOWN),
        ("GetSOError001", "", UNKNOWN),
    ):
        teller.expect(QUERY, query_reply(code, word))
        outcome.check(await connector.ask(COLLECTION))
    teller.expect(QUERY, query_reply("0", "Posted", AMOUNT="1500"))
    SUCCESS.check(await connector.ask(COLLECTION))


@pytest.mark.parametrize("value", ["0", "00", "GetSOError010,0", "a b", "x" * 41, "é"])
def test_a_list_of_codes_that_cannot_say_so_is_refused(value: str) -> None:
    with pytest.raises(BadSettings, match="MALIPO_TIGO_PESA_NOT_FOUND_CODES must be codes other than 0"):
        read({"MALIPO_TIGO_PESA_NOT_FOUND_CODES": value})


@pytest.mark.parametrize("code", ["00", "000"])
async def test_a_result_of_many_noughts_is_not_an_error(teller: Teller, tigo: Connect, code: str) -> None:
    """A collection that is missing three times has failed."""
    answer = await asked(teller, tigo, query_reply(code, "Posted"))
    assert answer.verdict in (Verdict.CONFIRMED, Verdict.UNKNOWN), answer


async def test_a_query_without_a_result_says_nothing(teller: Teller, tigo: Connect) -> None:
    for reply in (
        command(TYPE="MTPGGetSODetailsResp", TXNSTATUS="Posted", EXTERNALREFID="MLP0K3ABCDEFGHJ1234"),
        query_reply("", "Posted"),
        command(),
        command(TYPE="MTPGGetSODetailsResp"),
        http("200 OK", "<html><body>Posted</body></html>", media_type="text/html"),
        http("404 Not Found", "<html></html>", media_type="text/html"),
        http("200 OK", '{"RESULTCODE":"0","TXNSTATUS":"Posted"}'),
    ):
        UNKNOWN.check(await asked(teller, tigo, reply))


@pytest.mark.parametrize(("code", "word"), [("0", "Posted"), ("0", "Declined"), ("GetSOError001", "")])
async def test_a_query_reply_that_names_another_payment_is_not_believed(
    teller: Teller, tigo: Connect, code: str, word: str
) -> None:
    for reference in ("MLP0K3ABCDEFGHJ9999", "0K3ABCDEFGHJ9999"):
        UNKNOWN.check(await asked(teller, tigo, query_reply(code, word, EXTERNALREFID=reference)))


async def test_a_query_reply_that_names_no_payment_is_about_ours(teller: Teller, tigo: Connect) -> None:
    SUCCESS.check(await asked(teller, tigo, query_reply("0", "Posted", EXTERNALREFID="")))
    teller.expect(QUERY, query_reply("GetSOError010", "", EXTERNALREFID=""))
    MISSING.check(await tigo(tigo_pesa_not_found_codes=("GetSOError010",)).ask(COLLECTION))


@pytest.mark.parametrize(("code", "word"), [("0", "Posted"), ("0", "Declined"), ("GetSOError001", "")])
async def test_a_query_through_a_gateway_in_trouble_says_nothing(
    teller: Teller, tigo: Connect, code: str, word: str
) -> None:
    answer = await asked(teller, tigo, query_reply(code, word, http_status="502 Bad Gateway"))
    UNKNOWN.check(answer)
    assert answer.is_fault


@pytest.mark.parametrize(
    ("text", "amount"), [("1500", 1500), ("1500.00", 1500), ("9", 9), ("1500.50", None), ("1e3", None), ("abc", None)]
)
async def test_a_query_tells_the_amount(teller: Teller, tigo: Connect, text: str, amount: int | None) -> None:
    answer = await asked(teller, tigo, query_reply("0", "Posted", AMOUNT=text))
    assert answer.amount == amount if amount is not None else is_nobodys(answer.amount)


async def test_a_success_by_query_that_does_not_tell_the_amount_lacks_it(teller: Teller, tigo: Connect) -> None:
    for word, is_lacking in (("Posted", True), ("Refund Declined", True), ("Declined", False), ("Pending", False)):
        assert (await asked(teller, tigo, query_reply("0", word))).lacks_amount == is_lacking
    assert not (await asked(teller, tigo, POSTED)).lacks_amount


def is_nobodys(amount: int | None) -> bool:
    """An amount that no payment is of: whatever was said, it was not what was asked for."""
    return amount is not None and amount < 1


# Callbacks.


def heard(said: object) -> Heard:
    return Heard({"content-type": "application/json"}, json.dumps(said).encode())


PAID = {
    "Status": True,
    "Description": "Transaction successful",
    "MFSTransactionID": RECEIPT,
    "ReferenceID": "MLP0K3ABCDEFGHJ1234",
    "Amount": "1500",
}


def told(tigo: Connect, **changes: object) -> News:
    news = tigo().read(heard(PAID | changes))
    assert news is not None
    assert not news.is_signed
    assert_fit_to_keep(news.answer)
    return news


@pytest.mark.parametrize("status", [True, "true", "True", "TRUE"])
def test_a_success_is_heard(offline: Connect, status: object) -> None:
    news = told(offline, Status=status)
    SUCCESS.check(news.answer)
    assert (news.key, news.answer.provider_reference, news.answer.amount) == ("0K3ABCDEFGHJ1234", RECEIPT, 1500)


@pytest.mark.parametrize("status", [False, "false", "False", "FALSE"])
@pytest.mark.parametrize(
    ("description", "outcome"),
    [
        ("Insufficient balance", INSUFFICIENT),
        ("Customer has insufficient funds", INSUFFICIENT),
        ("Request expired", EXPIRED),
        ("Transaction timeout", EXPIRED),
        ("Customer declined the request", DECLINED),
        ("Cancelled by user", DECLINED),
        ("Something else", REJECTED),
        ("", REJECTED),
        (None, REJECTED),
        (["declined"], REJECTED),
    ],
)
def test_a_failure_is_heard_with_its_reason(
    offline: Connect, status: object, description: object, outcome: Outcome
) -> None:
    news = told(offline, Status=status, Description=description, MFSTransactionID=None)
    outcome.check(news.answer)
    assert news.key == "0K3ABCDEFGHJ1234"


@pytest.mark.parametrize("status", [None, "", 1, 0, "yes", "1", "truely", "not true", [], {}, [True], "success"])
def test_a_status_that_is_neither_decides_nothing(offline: Connect, status: object) -> None:
    news = offline().read(heard(PAID | {"Status": status}))
    assert news is None or not news.answer.verdict.is_definite


def test_a_callback_without_a_status_decides_nothing(offline: Connect) -> None:
    news = offline().read(heard({name: value for name, value in PAID.items() if name != "Status"}))
    assert news is None or not news.answer.verdict.is_definite


@pytest.mark.parametrize(
    ("said", "amount"), [("1500", 1500), (1500, 1500), ("1500.00", 1500), (1500.0, 1500), ("7", 7)]
)
def test_a_callback_tells_the_amount(offline: Connect, said: object, amount: int) -> None:
    assert told(offline, Amount=said).answer.amount == amount


@pytest.mark.parametrize("said", ["abc", "1500.50", "-1500", "1e9", "1 500", "0x5dc", "1500TZS", 0.5, "9" * 400])
def test_an_amount_that_is_none_is_nobodys(offline: Connect, said: object) -> None:
    assert is_nobodys(told(offline, Amount=said).answer.amount)


@pytest.mark.parametrize("said", ["", "  ", None, True, [], {}, ["1500"], {"a": 1500}])
def test_a_success_that_does_not_tell_the_amount_matches_none(offline: Connect, said: object) -> None:
    """Nothing else vouches for it where there is no question to put."""
    for status in (True, False):
        answer = told(offline, Amount=said, Status=status).answer
        assert (answer.amount, answer.lacks_amount) == (None, True)
    assert not told(offline).answer.lacks_amount


@pytest.mark.parametrize(
    "reference",
    [
        "0K3ABCDEFGHJ1234",
        "XYZ0K3ABCDEFGHJ1234",
        "MLP",
        "",
        None,
        7,
        True,
        [],
        {},
        ["MLP0K3ABCDEFGHJ1234"],
        "MLP0K3ABCDEFGHJ1234'--",
        "MLP../../x",
        "MLP" + "A" * 10_000,
        "MLP\x00",
        "MLP\u0660\u0661",
    ],
)
def test_a_reference_that_is_not_ours_is_nobodys(offline: Connect, reference: object) -> None:
    connector = offline()
    callback = heard(PAID | {"ReferenceID": reference})
    assert connector.read(callback) is None
    assert connector.acknowledge(callback, None).status == 400


def test_without_a_biller_code_the_reference_is_the_key(offline: Connect) -> None:
    news = offline(tigo_pesa_biller_code="").read(heard(PAID | {"ReferenceID": "0K3ABCDEFGHJ1234"}))
    assert news is not None
    assert news.key == "0K3ABCDEFGHJ1234"


@pytest.mark.parametrize("receipt", ["", None, [], {}, 0])
def test_a_receipt_is_text_or_there_is_none(offline: Connect, receipt: object) -> None:
    assert told(offline, MFSTransactionID=receipt).answer.provider_reference is None


def test_a_strange_receipt_harms_nobody(offline: Connect) -> None:
    for receipt in ("a\x00b", "x" * 100_000, "\u202e\u200b"):
        told(offline, MFSTransactionID=receipt, Description=receipt)


@pytest.mark.parametrize("code", ["BILLER-30-0000-S", "BILLER-18-0000-S"])
def test_a_callback_is_acknowledged(offline: Connect, code: str) -> None:
    connector = offline(tigo_pesa_acknowledgement=code)
    for status in (True, False):
        callback = heard(PAID | {"Status": status})
        acknowledgement = connector.acknowledge(callback, connector.read(callback))
        assert (acknowledgement.status, acknowledgement.media_type) == (200, "application/json")
        assert json.loads(acknowledgement.body) == {
            "ResponseCode": code,
            "ResponseStatus": True,
            "ResponseDescription": "Callback successful",
            "ReferenceID": "MLP0K3ABCDEFGHJ1234",
        }


@pytest.mark.parametrize("name", UNREADABLE | WRONG_SHAPES)
def test_a_callback_that_cannot_be_understood_is_refused(offline: Connect, name: str) -> None:
    connector = offline()
    callback = Heard({}, (UNREADABLE | WRONG_SHAPES)[name])
    assert connector.read(callback) is None
    acknowledgement = connector.acknowledge(callback, None)
    assert acknowledgement.status == 400
    said = json.loads(acknowledgement.body)
    assert (said["ResponseCode"], said["ResponseStatus"]) == ("BILLER-30-3030-E", False)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=30)
    | st.sampled_from(["true", "MLP0K3"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@hypothesis_settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    said=st.fixed_dictionaries({}, optional=dict.fromkeys(PAID, values)),
    raw=st.binary(max_size=99),
    is_ours=st.booleans(),
)
def test_no_callback_brings_it_down(offline: Connect, said: dict[str, object], raw: bytes, is_ours: bool) -> None:
    connector = offline()
    for body in (json.dumps(said | ({"ReferenceID": "MLP0K3ABCDEFGHJ1234"} if is_ours else {})).encode(), raw):
        callback = Heard({}, body)
        news = connector.read(callback)
        acknowledgement = connector.acknowledge(callback, news)
        json.loads(acknowledgement.body)
        assert acknowledgement.status == (400 if news is None else 200)
        if news is not None:
            assert_fit_to_keep(news.answer)
            assert not news.is_signed
            is_true = said.get("Status") is True or str(said.get("Status")).strip().lower() == "true"
            assert news.answer.verdict is not Verdict.CONFIRMED or is_true


# The rest of the contract.


def test_it_says_what_it_is(offline: Connect) -> None:
    connector = offline(tigo_pesa_concurrency=7, tigo_pesa_timeout_seconds=33)
    assert (connector.name, connector.concurrency) == ("tigo_pesa", 7)
    assert connector.timeout_seconds >= 33


async def test_a_knock_moves_no_money(teller: Teller, tigo: Connect) -> None:
    teller.always(GET_TOKEN, TOKEN_GIVEN)
    teller.always(QUERY, query_reply("GetSOError001", ""))
    assert not (await tigo().probe()).is_fault
    assert teller.on(PUSH) == teller.on(CASH_IN) == []
    assert COLLECTION.key.encode() not in b"".join(each.body for each in teller.heard)


async def test_a_knock_that_hears_of_trouble_is_a_fault(teller: Teller, tigo: Connect) -> None:
    for reply in (http("500 Internal Server Error"), Reply(after=After.RESET)):
        for line in (GET_TOKEN, QUERY):
            teller.always(line, reply)
        assert (await tigo().probe()).is_fault
