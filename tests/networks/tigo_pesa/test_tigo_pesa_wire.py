"""Tigo Pesa, byte for byte: a push in JSON, a question and a payout in XML."""

import json
import re

import pytest

from tests.networks.scripted_server import ScriptedServer, http
from tests.networks.tigo_pesa.connector import Connect, assert_push_headers
from tests.networks.tigo_pesa.connector import tigo as tigo
from tests.networks.tigo_pesa_spec import (
    CASH_IN,
    COLLECTION,
    DISBURSEMENT,
    GET_TOKEN,
    PAID_OUT,
    POSTED,
    PUSH,
    PUSHED,
    QUERY,
    RECEIPT,
    TOKEN,
    TOKEN_GIVEN,
    cash_in_reply,
    command,
    push_reply,
    query_reply,
)
from tests.networks.verdict_words import PENDING, SUCCESS


async def test_a_token_is_asked_for_with_these_bytes(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PUSH, PUSHED)
    await tigo().send(COLLECTION)
    request = server.heard[0]
    assert (request.method, request.target) == ("POST", "/MALIPO2DM-GetToken")
    assert request.body == b"username=malipo_user&password=p%40ss%26w0rd%3D%2B%25%2F%3F&grant_type=password"
    assert request.header("Content-Type") == "application/x-www-form-urlencoded"
    assert request.header("Cache-Control") == "no-cache"
    assert "authorization" not in request.header_names


@pytest.mark.parametrize(
    "status", ["200 OK", "201 Created", "302 Found", "400 Bad Request", "500 Internal Server Error"]
)
async def test_a_token_counts_whatever_the_status(server: ScriptedServer, tigo: Connect, status: str) -> None:
    server.expect(GET_TOKEN, http(status, f'{{"access_token":"{TOKEN}","expires_in":3600}}'))
    server.expect(PUSH, PUSHED)
    PENDING.check(await tigo().send(COLLECTION))


async def test_a_push_is_these_bytes(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PUSH, PUSHED)
    answer = await tigo().send(COLLECTION)
    PENDING.check(answer)
    request = server.heard[1]
    assert (request.method, request.target) == ("POST", "/MALIPO2DM-PushBillpay")
    assert request.body == (
        b'{"CustomerMSISDN":"255652000001","BillerMSISDN":"255710000009","Amount":1500,'
        b'"Remarks":"Order 12 thanks","ReferenceID":"MLP0K3ABCDEFGHJ1234"}'
    )
    assert_push_headers(request, TOKEN)


async def test_a_biller_without_a_code_sends_the_key_as_it_is(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PUSH, push_reply("BILLER-18-0000-S", status=True, ReferenceID=COLLECTION.key))
    server.expect(QUERY, query_reply("0", "Posted", EXTERNALREFID=COLLECTION.key))
    server.expect(CASH_IN, command(TYPE="RESMFICI", REFERENCEID=DISBURSEMENT.key, TXNID=RECEIPT, TXNSTATUS="200"))
    connector = tigo(tigo_pesa_biller_code="")
    PENDING.check(await connector.send(COLLECTION))
    SUCCESS.check(await connector.ask(COLLECTION))
    SUCCESS.check(await connector.send(DISBURSEMENT))
    assert json.loads(server.heard[1].body)["ReferenceID"] == "0K3ABCDEFGHJ1234"
    assert b"<EXTERNALREFID>0K3ABCDEFGHJ1234</EXTERNALREFID>" in server.heard[2].body
    assert b"<REFERENCEID>0K3ABCDEFGHJ5678</REFERENCEID>" in server.heard[3].body


async def test_a_payout_is_these_bytes(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(CASH_IN, PAID_OUT)
    answer = await tigo().send(DISBURSEMENT)
    SUCCESS.check(answer)
    assert answer.provider_reference == RECEIPT
    (request,) = server.heard
    assert (request.method, request.target) == ("POST", "/MALIPO2DM-MFICashIn")
    assert request.body == (
        b'<?xml version="1.0"?><COMMAND><TYPE>REQMFICI</TYPE><REFERENCEID>MLP0K3ABCDEFGHJ5678</REFERENCEID>'
        b"<MSISDN>255710000008</MSISDN><PIN>80917263</PIN><MSISDN1>255712345678</MSISDN1><AMOUNT>250000</AMOUNT>"
        b"<LANGUAGE1>en</LANGUAGE1></COMMAND>"
    )
    assert re.fullmatch(r"(text|application)/xml(; ?charset=UTF-8)?", request.header("Content-Type"), re.IGNORECASE)
    assert "authorization" not in request.header_names


async def test_what_later_integrations_add_to_a_payout_is_a_setting(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(CASH_IN, PAID_OUT)
    connector = tigo(
        tigo_pesa_disbursement_type="REQMFICIK",
        tigo_pesa_language="sw",
        tigo_pesa_sender_name="Malipo Ltd.",
        tigo_pesa_brand_id="1234",
    )
    await connector.send(DISBURSEMENT)
    assert server.heard[0].body == (
        b'<?xml version="1.0"?><COMMAND><TYPE>REQMFICIK</TYPE><REFERENCEID>MLP0K3ABCDEFGHJ5678</REFERENCEID>'
        b"<MSISDN>255710000008</MSISDN><PIN>80917263</PIN><MSISDN1>255712345678</MSISDN1><AMOUNT>250000</AMOUNT>"
        b"<SENDERNAME>Malipo Ltd.</SENDERNAME><LANGUAGE1>sw</LANGUAGE1><BRAND_ID>1234</BRAND_ID></COMMAND>"
    )


async def test_no_setting_breaks_out_of_its_element(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(CASH_IN, PAID_OUT)
    evil = "</SENDERNAME><AMOUNT>9</AMOUNT>&\"'\x01\x00"
    await tigo(tigo_pesa_sender_name=evil, tigo_pesa_brand_id="1<2&3").send(DISBURSEMENT)
    body = server.heard[0].body
    assert body.count(b"<AMOUNT>") == 1
    assert b"<SENDERNAME>&lt;/SENDERNAME&gt;&lt;AMOUNT&gt;9&lt;/AMOUNT&gt;&amp;" in body
    assert b"<BRAND_ID>1&lt;2&amp;3</BRAND_ID>" in body
    assert b"\x00" not in body
    assert b"\x01" not in body


async def test_a_reference_with_the_longest_code_and_key_fits(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(CASH_IN, cash_in_reply("0", reference="ABCD0K3ABCDEFGHJ5678"))
    SUCCESS.check(await tigo(tigo_pesa_biller_code="ABCD").send(DISBURSEMENT))
    found = re.search(rb"<REFERENCEID>([A-Za-z0-9]+)</REFERENCEID>", server.heard[0].body)
    assert found is not None
    assert len(found[1]) == 20


async def test_a_query_is_these_bytes(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(QUERY, POSTED, POSTED)
    connector = tigo()
    for _ in range(2):
        await connector.ask(COLLECTION)
    own = []
    for request in server.heard:
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
