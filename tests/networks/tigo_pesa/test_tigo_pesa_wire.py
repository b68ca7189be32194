"""What only Tigo Pesa's requests have: a biller's code, XML, and settings. The requests are in `test_wire.py`."""

import json
import re

import pytest

from tests.networks.scripted_server import ScriptedServer, http
from tests.networks.tigo_pesa.connector import Connect
from tests.networks.tigo_pesa.connector import tigo as tigo
from tests.networks.tigo_pesa_spec import (
    CASH_IN,
    COLLECTION,
    DISBURSEMENT,
    GET_TOKEN,
    PAID_OUT,
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


@pytest.mark.parametrize(
    "status", ["200 OK", "201 Created", "302 Found", "400 Bad Request", "500 Internal Server Error"]
)
async def test_a_token_counts_whatever_the_status(server: ScriptedServer, tigo: Connect, status: str) -> None:
    server.expect(GET_TOKEN, http(status, f'{{"access_token":"{TOKEN}","expires_in":3600}}'))
    server.expect(PUSH, PUSHED)
    PENDING.check(await tigo().send(COLLECTION))


async def test_a_biller_without_a_code_sends_the_key_as_it_is(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(GET_TOKEN, TOKEN_GIVEN)
    server.expect(PUSH, push_reply("BILLER-18-0000-S", status=True, ReferenceID=COLLECTION.key))
    server.expect(QUERY, query_reply("0", "Posted", EXTERNALREFID=COLLECTION.key))
    server.expect(CASH_IN, command(TYPE="RESMFICI", REFERENCEID=DISBURSEMENT.key, TXNID=RECEIPT, TXNSTATUS="200"))
    connector = tigo(tigo_pesa_biller_code="")
    PENDING.check(await connector.send(COLLECTION))
    SUCCESS.check(await connector.query(COLLECTION))
    SUCCESS.check(await connector.send(DISBURSEMENT))
    assert json.loads(server.requests[1].body)["ReferenceID"] == "0K3ABCDEFGHJ1234"
    assert b"<EXTERNALREFID>0K3ABCDEFGHJ1234</EXTERNALREFID>" in server.requests[2].body
    assert b"<REFERENCEID>0K3ABCDEFGHJ5678</REFERENCEID>" in server.requests[3].body


async def test_what_later_integrations_add_to_a_payout_is_a_setting(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(CASH_IN, PAID_OUT)
    connector = tigo(
        tigo_pesa_disbursement_type="REQMFICIK",
        tigo_pesa_language="sw",
        tigo_pesa_sender_name="Malipo Ltd.",
        tigo_pesa_brand_id="1234",
    )
    await connector.send(DISBURSEMENT)
    assert server.requests[0].body == (
        b'<?xml version="1.0"?><COMMAND><TYPE>REQMFICIK</TYPE><REFERENCEID>MLP0K3ABCDEFGHJ5678</REFERENCEID>'
        b"<MSISDN>255710000008</MSISDN><PIN>80917263</PIN><MSISDN1>255712345678</MSISDN1><AMOUNT>250000</AMOUNT>"
        b"<SENDERNAME>Malipo Ltd.</SENDERNAME><LANGUAGE1>sw</LANGUAGE1><BRAND_ID>1234</BRAND_ID></COMMAND>"
    )


async def test_no_setting_breaks_out_of_its_element(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(CASH_IN, PAID_OUT)
    evil = "</SENDERNAME><AMOUNT>9</AMOUNT>&\"'\x01\x00"
    await tigo(tigo_pesa_sender_name=evil, tigo_pesa_brand_id="1<2&3").send(DISBURSEMENT)
    body = server.requests[0].body
    assert body.count(b"<AMOUNT>") == 1
    assert b"<SENDERNAME>&lt;/SENDERNAME&gt;&lt;AMOUNT&gt;9&lt;/AMOUNT&gt;&amp;" in body
    assert b"<BRAND_ID>1&lt;2&amp;3</BRAND_ID>" in body
    assert b"\x00" not in body
    assert b"\x01" not in body


async def test_a_reference_with_the_longest_code_and_key_fits(server: ScriptedServer, tigo: Connect) -> None:
    server.expect(CASH_IN, cash_in_reply("0", reference="ABCD0K3ABCDEFGHJ5678"))
    SUCCESS.check(await tigo(tigo_pesa_biller_code="ABCD").send(DISBURSEMENT))
    found = re.search(rb"<REFERENCEID>([A-Za-z0-9]+)</REFERENCEID>", server.requests[0].body)
    assert found is not None
    assert len(found[1]) == 20
